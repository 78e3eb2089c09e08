import { fileURLToPath } from "node:url";
import { runOptions } from "../support/deno_program.ts";

const MAIN = fileURLToPath(import.meta.resolve("../../src/cli/main.ts"));

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

/** Runs the command line to its end. */
export async function runCli(...args: string[]): Promise<CliResult> {
  return await runCliIn({}, ...args);
}

/** Runs the command line to its end, with environment variables. */
export async function runCliIn(
  env: Record<string, string>,
  ...args: string[]
): Promise<CliResult> {
  const [program, ...rest] = cliCommand(args);
  const { code, stdout, stderr } = await new Deno.Command(program!, {
    args: rest,
    env,
    stdout: "piped",
    stderr: "piped",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr) };
}
