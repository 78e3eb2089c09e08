/**
 * The command line: `deno run -A jsr:@zarr-parts/zarr-parts/cli`, or `zarr-parts` after
 * `deno install -g -A -n zarr-parts jsr:@zarr-parts/zarr-parts/cli`.
 *
 * @example
 * ```ts
 * import { main } from "@zarr-parts/zarr-parts/cli";
 * import { assertEquals } from "@std/assert";
 *
 * const status = await main(["inspect", "tests/fixtures/dem.zarr", "--quiet"]);
 * assertEquals(status, 0);
 * ```
 *
 * @module
 */
import { nearestName } from "../errors/mod.ts";
import { CommanderError } from "commander";
import {
  addVersion,
  createParser,
  parseCommand,
  UsageError,
} from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { jsonText, quoted } from "./format.ts";
import { type Output, runWithIo, writeText } from "./io.ts";

/** The exit status of a program that was stopped by Ctrl-C. */
const INTERRUPTED = 130;
/**
 * In milliseconds: how long after Ctrl-C another signal may be the same Ctrl-C, which a
 * terminal sends to this program and to the launcher of the package for npm, which passes
 * signals on.
 */
const SAME_INTERRUPT = 500;
/** The exit status of a program whose output nobody reads any more, as after SIGPIPE. */
const UNREAD = 141;

/**
 * Runs the command line.
 *
 * @param args The arguments, without the name of the program.
 * @returns The exit status: 0, 1 for findings or failed work, 2 for wrong usage, 130 after
 * Ctrl-C, 141 if nobody reads standard output any more.
 *
 * @example
 * ```ts
 * import { main } from "@zarr-parts/zarr-parts/cli";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(await main(["verify", "tests/fixtures/dem.zarr", "--quiet"]), 0);
 * ```
 */
export async function main(args: readonly string[]): Promise<number> {
  const controller = new AbortController();
  let interruptedAt = 0;
  const interrupt = () => {
    const now = performance.now();
    if (!controller.signal.aborted) {
      interruptedAt = now;
      controller.abort(new Error("Stopped by Ctrl-C"));
    } else if (now - interruptedAt > SAME_INTERRUPT) Deno.exit(INTERRUPTED);
  };
  const output: Output = {
    print: (line) => writeText(Deno.stdout, `${line}\n`, "standard output"),
    write: (text) => {
      try {
        writeText(Deno.stderr, text, "standard error");
      } catch (error) {
        // Nobody reads standard error: that is no reason to stop.
        if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
      }
    },
    isTerminal: Deno.stderr.isTerminal(),
    signal: controller.signal,
  };
  Deno.addSignalListener("SIGINT", interrupt);
  try {
    return await run(args, output);
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return UNREAD;
    if (controller.signal.aborted) {
      output.write("Stopped\n");
      return INTERRUPTED;
    }
    const { errorJson, messageOf } = await import("./error_output.ts");
    const isUsage = error instanceof UsageError || error instanceof RangeError;
    const status = isUsage ? 2 : 1;
    output.write(
      args.includes("--json")
        ? `${errorJson(error, status)}\n`
        : `zarr-parts: ${messageOf(error)}\n`,
    );
    return status;
  } finally {
    Deno.removeSignalListener("SIGINT", interrupt);
  }
}

async function run(args: readonly string[], output: Output): Promise<number> {
  const [name = "", ...rest] = args;
  if (name === "help") return await run([...rest, "--help"], output);
  if (!Object.hasOwn(COMMANDS, name)) return runOverview(args, output);
  const command = await COMMANDS[name]!.load();
  const parsed = parseCommand(command, rest, output.print);
  if (parsed === undefined) return 0;
  return await runWithIo(args, parsed, output, async (io) => {
    const { output, lines = [], status = 0 } = await command.run(parsed, io);
    if (!parsed.has("json")) {
      if (!parsed.has("quiet")) { for (const line of lines) io.print(line); }
    } else if (output !== undefined) io.print(jsonText(output));
    return status;
  });
}

/** Prints the list of commands or the version, and refuses all other arguments. */
function runOverview(args: readonly string[], { print }: Output): number {
  const [name = ""] = args;
  const names = Object.keys(COMMANDS);
  const known = `known are ${names.join(", ")}`;
  if (/^[^-]/.test(name)) {
    const nearest = nearestName(name, names);
    const hint = nearest === undefined ? known : `did you mean ${nearest}?`;
    throw new UsageError(`Unknown command ${quoted(name)}; ${hint}`);
  }
  const word = name.replace(/^-+/, "");
  const option = ["version", "help"].find((option) =>
    word[0] === option[0] && (name === "-v" || nearestName(word, [option]))
  );
  const message = option === undefined
    ? `Expected a command before ${name}, such as zarr-parts inspect ${name}; ${known}`
    : `Unknown option ${name}; did you mean --${option}?`;
  const parser = createParser(
    "zarr-parts",
    print,
    () => new UsageError(message),
  )
    .usage("COMMAND [arguments]")
    .helpCommand(false)
    .addHelpText(
      "after",
      "\nzarr-parts COMMAND --help prints the options of a command, with examples.",
    );
  addVersion(parser);
  for (const [name, { line }] of Object.entries(COMMANDS)) {
    parser.command(name).description(line);
  }
  try {
    if (args.length === 0) parser.outputHelp();
    else parser.parse([...args], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) return 0;
    throw error;
  }
  return 2; // Without arguments.
}

if (import.meta.main) Deno.exit(await main(Deno.args));
