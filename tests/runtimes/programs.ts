import { assert, assertEquals } from "@std/assert";
import { chooseStandardLibrary } from "../../tools/standard_library.ts";

/** Bundles a program with all its imports, for any runtime. */
export async function bundle(program: string, path: string): Promise<void> {
  const { run } = await chooseStandardLibrary();
  const { code, output } = await run(
    ["bundle", "--quiet", "--platform", "browser", "-o", path, program],
    { output: "piped" },
  );
  assertEquals(code, 0, output);
  assert(
    !/\bfrom\s*["']node:/.test(await Deno.readTextFile(path)),
    "the bundle imports modules of Node",
  );
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
