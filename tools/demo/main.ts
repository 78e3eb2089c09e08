/**
 * Shows the command line on an elevation model that zarr-python wrote, stores the model
 * in TIFF files, reads it back through zarrita, compares every element, and draws it:
 * `deno task demo`
 */
import { rm } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { main } from "../../src/cli/main.ts";

const USAGE = `Usage: deno task demo

Runs the commands inspect, convert and verify on the elevation model
tests/fixtures/dem.zarr, stores it as TIFF files in demo-output/, reads them back
through zarrita, compares every element, and draws a map. What an earlier run left
in demo-output/ is replaced. There are no options.`;

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** A path as a command of the user can take it. */
const shown = (path: string) => relative(Deno.cwd(), join(ROOT, path)) || ".";

if (Deno.args.length > 0) {
  const isHelp = Deno.args.every((argument) => /^(-h|--help)$/.test(argument));
  (isHelp ? console.log : console.error)(USAGE);
  Deno.exit(isHelp ? 0 : 2);
}
Deno.chdir(Deno.env.get("INIT_CWD") || "."); // `deno task` has changed the folder.
const started = performance.now();
try {
  const [model, output] = ["tests/fixtures/dem.zarr", "demo-output"];
  const [source, target] = [shown(model), shown(`${output}/parts.zarr`)];
  await rm(target, { recursive: true, force: true });
  await showCommands([
    ["inspect", source, "--chunk", "2,3"],
    ["convert", source, target, "--suffix", ".shard", "--parts", ",.index"],
    ["verify", target, "--deep"],
    ["inspect", target],
  ]);
  console.log(`Storing ${source} as TIFF files in ${shown(output)} …`);
  // Loaded here, so that the lines above come first.
  const { runDemo } = await import("./run_demo.ts");
  const { report } = await import("./report.ts");
  const result = await runDemo(join(ROOT, model), join(ROOT, output));
  console.log(report(result, (path) => shown(relative(ROOT, path))));
  console.log(`Done in ${(performance.now() - started).toFixed(0)} ms`);
} catch (error) {
  console.error(`The demo has failed. ${explain(error)}`);
  Deno.exit(1);
}

/** Joins the messages of an error and its causes. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause === undefined ? message : `${message}\n${explain(cause)}`;
}

/**
 * Runs commands of the command line, and prints each one before its output.
 *
 * @throws {Error} If a command fails, which has said why on standard error.
 */
async function showCommands(
  commands: readonly (readonly string[])[],
): Promise<void> {
  for (const args of commands) {
    console.log(commandText(args));
    const status = await main(args);
    if (status !== 0) throw new Error(`Its command ${args[0]} has failed`);
    console.log();
  }
}

/** A command as it is typed, with its options below it if it is long. */
function commandText(args: readonly string[]): string {
  const line = `$ zarr-parts ${args.join(" ")}`;
  return line.length <= 80 ? line : line.replace(" --", " \\\n    --");
}
