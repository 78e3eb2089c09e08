import { assert, assertEquals } from "@std/assert";
import { toBytes } from "@std/streams/to-bytes";
import { WASM_BINARY } from "../../src/splitter/splitter_wasm.ts";
import { bundleExports, loadedFiles, startFiles } from "../../tools/bundle.ts";
import { stride } from "../support/runs.ts";

/** Bundles a program with a file for what loads later. Returns the code that loads at start, and all code that may load. */
async function bundle(
  names: string,
  module: string,
): Promise<{ atStart: string; all: string }> {
  const exports = { [names]: import.meta.resolve(`../../${module}`) };
  const files = await bundleExports(exports, { splitting: true });
  return {
    atStart: startFiles(files).join("\n"),
    all: loadedFiles(files).join("\n"),
  };
}

function definesClass(code: string, name: string): boolean {
  return code.includes(`var ${name} = class`);
}

Deno.test("a bundled program that reads arrays has no splitter in Wasm", async () => {
  const { all } = await bundle("{ openArrayChunks, HttpStore }", "mod.ts");
  assertEquals(definesClass(all, "HttpStore"), true);
  assertEquals(all.includes(WASM_BINARY), false);
});

Deno.test("a bundled program that splits streams has the splitter in Wasm", async () => {
  const { all } = await bundle("{ splitStream }", "mod.ts");
  assertEquals(all.includes(WASM_BINARY), true);
  assertEquals(definesClass(all, "ArrayChunks"), false);
  assertEquals(definesClass(all, "SuffixChunkKeyEncoding"), false);
});

Deno.test("a bundled program with zarrita loads heavy codecs when an array needs them", async () => {
  const { atStart, all } = await bundle(
    "{ withZarrParts, registerCodecs }",
    "zarrita.ts",
  );
  for (const name of ["FrameDecoder", "BlockEngine", "CodeTree"]) {
    assertEquals(definesClass(atStart, name), false, name);
    assertEquals(definesClass(all, name), true, name);
  }
  // Pools of threads bring what decodes blocks of elements.
  for (const name of ["ArrayChunks", "ElementCodecs", "ChunkCoder"]) {
    assertEquals(definesClass(all, name), false, name);
  }
});

/** The most that programs with these exports may take, minified and gzipped, in kB, without the libraries that load on first use. */
const MOST_KILOBYTES = [
  ["{ crc32c }", "mod.ts", 5],
  ["{ openArrayChunks, HttpStore }", "mod.ts", 42],
  ["{ withZarrParts, registerCodecs }", "zarrita.ts", 83],
] as const;

Deno.test("bundled programs have only what they use", async () => {
  for (let i = 0; i < MOST_KILOBYTES.length; i += stride(2)) {
    const [names, module, most] = MOST_KILOBYTES[i]!;
    const files = await bundleExports(
      { [names]: import.meta.resolve(`../../${module}`) },
      { minify: true, external: ["aws4fetch", "p-retry", "picomatch"] },
    );
    const zipped = new Blob([...files.values()]).stream()
      .pipeThrough(new CompressionStream("gzip"));
    const { length } = await toBytes(zipped);
    assert(length < most * 1000, `${names}: ${length} bytes`);
  }
});

Deno.test("a bundled program has the program of workers, in a file of its own, if it makes threads", async () => {
  const usual = "withZarrParts, registerCodecs, ";
  const names = ["", "ThreadPool", "getSharded"];
  for (let i = 0; i < names.length; i += stride(2)) {
    const name = names[i]!;
    const exports = `{ ${usual}${name} }`;
    const { atStart, all } = await bundle(exports, "zarrita.ts");
    const isMade = name !== "";
    for (const [code, has] of [[atStart, false], [all, isMade]] as const) {
      assertEquals(code.includes("WORKER_PROGRAM ="), has, exports);
    }
    assertEquals(definesClass(atStart, "ThreadPool"), isMade, exports);
  }
});
