import { assert } from "@std/assert";
import { fileURLToPath } from "node:url";
import type { Tool } from "../support/tools.ts";

/** Names the Python to run; if that Python lacks a package, this is an error. */
const VARIABLE = "ZARR_PARTS_PYTHON";

/** A Python with the packages of `requirements.txt`. */
export const PYTHON = await findPython();

async function findPython(): Promise<Tool> {
  const named = Deno.env.get(VARIABLE) || undefined;
  const path = named ?? "python3";
  const problem = await run(path, [pathOf("check_requirements.py")]);
  if (problem === undefined) return { path };
  const reason = problem.trim().split("\n").at(-1);
  assert(named === undefined, `${VARIABLE} is ${named}: ${reason}`);
  return {
    missing:
      `python3 lacks a package (${reason}); tests/interop/README.md says how to install the packages`,
  };
}

/** Runs a script of this folder. */
export async function runScript(
  python: string,
  script: string,
  ...args: string[]
): Promise<void> {
  const problem = await run(python, ["-B", pathOf(script), ...args]);
  assert(problem === undefined, `${script} failed: ${problem}`);
}

function pathOf(script: string): string {
  return fileURLToPath(import.meta.resolve(`./${script}`));
}

/** Runs a program; returns what it wrote about its failure, or `undefined` if it succeeded. */
async function run(
  program: string,
  args: string[],
): Promise<string | undefined> {
  try {
    const command = new Deno.Command(program, { args, stdin: "null" });
    const { success, code, stderr } = await command.output();
    if (success) return undefined;
    return new TextDecoder().decode(stderr) || `exit code ${code}`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return `no ${program} found`;
    throw error;
  }
}
