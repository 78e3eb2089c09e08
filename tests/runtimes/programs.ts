import { assert, assertEquals } from "@std/assert";
import { chooseStandardLibrary } from "../../tools/standard_library.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { testWith, type Tool } from "../support/tools.ts";

/** Node on PATH, if its version is 20 or later. */
export const NODE: Tool = await findNode();

async function findNode(): Promise<Tool> {
  const version = await printed("node", ["--version"]).catch(() => "none");
  return parseInt(version.slice(1)) >= 20 ? { path: "node" } : {
    missing: `Node 20 or later is needed on PATH, found ${version.trim()}`,
  };
}

/** Bundles a program with all its imports, for any runtime. */
export async function bundle(program: string, path: string): Promise<void> {
  await runBundler("browser", program, path);
  assert(
    !/\bfrom\s*["']node:/.test(await Deno.readTextFile(path)),
    "the bundle imports modules of Node",
  );
}

/** Bundles a program with all its imports but those of modules of Node, for Deno and Node. */
export async function bundleForNode(
  program: string,
  path: string,
): Promise<void> {
  await runBundler("deno", program, path);
}

async function runBundler(
  platform: string,
  program: string,
  path: string,
): Promise<void> {
  const { run } = await chooseStandardLibrary();
  const { code, output } = await run(
    ["bundle", "--quiet", "--platform", platform, "-o", path, program],
    { output: "piped" },
  );
  assertEquals(code, 0, output);
}

/** Runs a program in Deno without permissions; returns its output. */
export async function printedInDeno(program: string): Promise<string> {
  const { run } = await chooseStandardLibrary();
  const { code, output } = await run(
    ["run", "--quiet", "--no-prompt", program],
    { output: "piped" },
  );
  assertEquals(code, 0, output);
  return output;
}

/** Runs a command; returns its output. */
export async function printed(
  command: string,
  args: string[],
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args })
    .output();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** Tests that a program prints the same in Node, bundled, as in Deno. */
export function testPrintsTheSame(what: string, program: string): void {
  testWith(
    NODE,
    `the ${what} prints the same in Node as in Deno`,
    async (node) => {
      await inTempDir(async (folder) => {
        const path = `${folder}/program.mjs`;
        await bundle(program, path);
        assertEquals(
          await printed(node, [path]),
          await printedInDeno(program),
        );
      });
    },
  );
}
