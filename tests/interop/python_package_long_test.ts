import { assert } from "@std/assert";
import { fileURLToPath } from "node:url";
import { cliCommand } from "../cli/run_cli.ts";
import { testWith, type Tool } from "../support/tools.ts";

/** Names the Pythons to run, with `:` between them. */
const VARIABLE = "ZARR_PARTS_PACKAGE_PYTHONS";
const PACKAGE = fileURLToPath(import.meta.resolve("../../python"));

/** Pythons with the package in `python/` and what its tests need: one with the oldest zarr-python, one with the newest. */
const PYTHONS = Deno.env.get(VARIABLE)?.split(":").filter(Boolean) ?? [];
const MISSING: Tool = {
  missing:
    `${VARIABLE} names no Python with the package in python/; tests/interop/README.md says how to install it`,
};

const tools = PYTHONS.length > 0
  ? PYTHONS.map((path) => ({ path }))
  : [MISSING];
for (const [i, tool] of tools.entries()) {
  testWith(
    tool,
    `the Python package passes its tests (${i + 1})`,
    (path) => run(path, "pytest", "-q", "-p", "no:cacheprovider"),
  );
}
testWith(
  tools.at(-1)!,
  "the type hints of the Python package are right",
  (path) => run(path, "mypy", "--cache-dir", "/dev/null"),
);

async function run(python: string, module: string, ...args: string[]) {
  const command = cliCommand([]).map((word) => `'${word}'`).join(" ");
  const { success, stdout, stderr } = await new Deno.Command(python, {
    args: ["-B", "-m", module, ...args],
    cwd: PACKAGE,
    env: { ZARR_PARTS_CLI: command },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  assert(success, decoder.decode(stdout) + decoder.decode(stderr));
}
