import { AsyncLocalStorage } from "node:async_hooks";
import { fileURLToPath, pathToFileURL } from "node:url";
import { runOptions } from "../support/deno_program.ts";

/** The module of the command line: the source, or the bundled command that `tests/npm/` names. */
const MAIN = Deno.env.get("ZARR_PARTS_COMMAND") ??
  fileURLToPath(import.meta.resolve("../../src/cli/main.ts"));

const { main }: typeof import("../../src/cli/main.ts") = await import(
  pathToFileURL(MAIN).href
);

/** The command that runs the command line in a Deno of its own. */
export function cliCommand(args: readonly string[]): string[] {
  return [Deno.execPath(), "run", "-A", ...runOptions(), MAIN, ...args];
}

/** The output of a run of the command line, and its exit status. */
export interface CliResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the command line to its end, in this process: a program of its own takes ten times as long to start. */
export async function runCli(...args: string[]): Promise<CliResult> {
  return await runCliIn({}, ...args);
}

/** Runs the command line to its end, in this process, with environment variables. */
export async function runCliIn(
  env: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<CliResult> {
  const run: Run = { env, out: "", err: "" };
  const code = await RUNS.run(run, () => main(args));
  return { code, out: run.out, err: run.err };
}

/** A run of the command line, beside which others may run. */
interface Run {
  readonly env: Readonly<Record<string, string>>;
  out: string;
  err: string;
}

const RUNS = new AsyncLocalStorage<Run>();

for (const [file, name] of [["stdout", "out"], ["stderr", "err"]] as const) {
  const writeSync = Deno[file].writeSync.bind(Deno[file]);
  const isTerminal = Deno[file].isTerminal.bind(Deno[file]);
  Deno[file].isTerminal = () => RUNS.getStore() ? false : isTerminal();
  Deno[file].writeSync = (bytes) => {
    const run = RUNS.getStore();
    if (run === undefined) return writeSync(bytes);
    run[name] += new TextDecoder().decode(bytes);
    return bytes.length;
  };
}

const get = Deno.env.get.bind(Deno.env);
Deno.env.get = (name) => RUNS.getStore()?.env[name] ?? get(name);
