/**
 * Stores an elevation model that zarr-python wrote as an array in TIFF files, reads it
 * back through zarrita, compares every element, and draws it: `deno task demo`
 */
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const USAGE = `Usage: deno task demo

Stores the elevation model tests/fixtures/dem.zarr as TIFF files in demo-output/,
reads them back through zarrita, compares every element, and draws a map. What an
earlier run left in demo-output/ is replaced. There are no options.`;

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** A path as a command of the user can take it; `deno task` changes the folder. */
const shown = (path: string) =>
  relative(Deno.env.get("INIT_CWD") || Deno.cwd(), join(ROOT, path)) || ".";

if (Deno.args.length > 0) {
  const isHelp = Deno.args.every((argument) => /^(-h|--help)$/.test(argument));
  (isHelp ? console.log : console.error)(USAGE);
  Deno.exit(isHelp ? 0 : 2);
}
console.log(
  `Storing ${shown("tests/fixtures/dem.zarr")} as TIFF files in ${
    shown("demo-output")
  } …`,
);
const started = performance.now();
try {
  // Loaded here, so that the line above comes first.
  const { runDemo } = await import("./run_demo.ts");
  const { report } = await import("./report.ts");
  const result = await runDemo(
    join(ROOT, "tests/fixtures/dem.zarr"),
    join(ROOT, "demo-output"),
  );
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
