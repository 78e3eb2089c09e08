import { delimiter } from "node:path";

/** A program that some tests run: its path, or how to get it where it is missing. */
export type Tool = { readonly path: string } | { readonly missing: string };

const warned = new Set<Tool>();

/**
 * Registers a test that runs another program. Where the program is missing, the
 * test counts as ignored, and a line says how to get the program; where the
 * environment variable `CI` is `"true"`, that is an error.
 */
export function testWith(
  tool: Tool,
  name: string,
  run: (path: string, t: Deno.TestContext) => Promise<void>,
): void {
  if ("path" in tool) {
    Deno.test(name, (t) => run(tool.path, t));
    return;
  }
  if (Deno.env.get("CI") === "true") throw new Error(tool.missing);
  if (!warned.has(tool)) console.warn(`Ignoring tests: ${tool.missing}`);
  warned.add(tool);
  Deno.test.ignore(name, () => {});
}

/** Returns the path of the first program with one of these names in the folders of PATH. */
export async function findOnPath(
  names: readonly string[],
): Promise<string | undefined> {
  const folders = (Deno.env.get("PATH") ?? "").split(delimiter);
  for (const name of names) {
    for (const folder of folders) {
      const path = `${folder}/${name}`;
      try {
        if ((await Deno.stat(path)).isFile) return path;
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
  }
}
