import { assert } from "@std/assert";
import { fileURLToPath } from "node:url";

/** Where this names a Python, what that lacks is an error and no reason to skip. */
const VARIABLE = "ZARR_PARTS_PYTHON";

/**
 * The Python to run peers with: the one that an environment variable names, or
 * `python3`; `undefined`, after a line that says so, where that lacks packages.
 */
export async function findPython(): Promise<string | undefined> {
  const named = Deno.env.get(VARIABLE) || undefined;
  const python = named ?? "python3";
  const problem = await run(python, [pathOf("check_requirements.py")]);
  if (problem === undefined) return python;
  const reason = problem.trim().split("\n").at(-1);
  assert(named === undefined, `${VARIABLE} is ${named}: ${reason}`);
  console.log(
    `skipped: python3 with tests/interop/requirements.txt is not on this machine: ${reason}`,
  );
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

/** Runs a program; returns what went wrong, if anything did. */
async function run(
  program: string,
  args: string[],
): Promise<string | undefined> {
  try {
    const command = new Deno.Command(program, { args, stdin: "null" });
    const { success, code, stderr } = await command.output();
    if (success) return undefined;
    return new TextDecoder().decode(stderr) || `it ended with ${code}`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return `no ${program}`;
    throw error;
  }
}
