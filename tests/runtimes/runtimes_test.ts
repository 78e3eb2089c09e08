import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { chooseStandardLibrary } from "../../tools/standard_library.ts";

const PROGRAM = fileURLToPath(import.meta.resolve("./portable.ts"));

/** Runs a program and returns what it printed. */
async function printed(command: string, args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args })
    .output();
  assert(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** The version of Node on this machine, or 0 where there is none. */
async function nodeVersion(): Promise<number> {
  try {
    return parseInt((await printed("node", ["--version"])).slice(1));
  } catch {
    return 0;
  }
}

/** What the program prints in Deno with no permission at all. */
async function printedInDeno(): Promise<string> {
  const { run } = await chooseStandardLibrary();
  const { code, output } = await run(
    ["run", "--quiet", "--no-prompt", PROGRAM],
    { output: "piped" },
  );
  assertEquals(code, 0, output);
  return output;
}

Deno.test("the library works in Deno without any permission", async () => {
  const results = JSON.parse(await printedInDeno());
  const reads = {
    get: [1, 2, 3, 4, 5, 6],
    range: [1, 2, 3],
    suffix: [4, 5, 6],
    stream: [9, 8, 7],
    size: 6,
    absent: true,
  };
  assertEquals(results.memory, reads);
  assertEquals(results.http, reads);
  assertStringIncludes(results.missing, 'lacks "/a/c/0/1.bin.tail"');
  assertStringIncludes(results.size, "PartSizeError: Chunk is 2 bytes long");
  for (const engine of ["native", "wasm", "auto"]) {
    assertEquals(results[engine].size, 100_004);
    assertEquals(results[engine], results.native);
    assertEquals(results[`${engine} joined`], true);
    assertStringIncludes(results[`${engine} damaged`], "Chunk has the CRC32C");
  }
});

Deno.test("the library does the same in Node 20 and later", async () => {
  if (await nodeVersion() < 20) {
    console.log("skipped: Node 20 or later is not on this machine");
    return;
  }
  const folder = await Deno.makeTempDir();
  try {
    const bundle = `${folder}/portable.mjs`;
    const { run } = await chooseStandardLibrary();
    const { code, output } = await run(
      ["bundle", "--quiet", "--platform", "browser", "-o", bundle, PROGRAM],
      { output: "piped" },
    );
    assertEquals(code, 0, output);
    const text = await Deno.readTextFile(bundle);
    assert(
      !/\bfrom\s*["']node:/.test(text),
      "the bundle imports modules of Node",
    );
    assertEquals(await printed("node", [bundle]), await printedInDeno());
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
