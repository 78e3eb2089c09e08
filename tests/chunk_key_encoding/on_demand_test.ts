import { assertEquals } from "@std/assert";
import { ArrayChunks, MemoryStore } from "../../mod.ts";
import { startProgram } from "../support/deno_program.ts";
import { arrayMetadata } from "../support/metadata.ts";

const TEMPLATE = {
  name: "template",
  configuration: { format: "tile_{0}_{1}.tif" },
};
const SUFFIX = {
  name: "suffix",
  configuration: { suffix: ".zip", base_encoding: "v2" },
};
const WAYS = ["openArrayChunks", "plainView", "plainView, created"];

const CASES: [encoding: unknown, key: string][] = [
  [{ name: "default" }, "/c/1/2"],
  ["v2", "/1.2"],
  [SUFFIX, "/1.2.zip"],
  [TEMPLATE, "/tile_1_2.tif"],
  ["fanout", "/c/0/001/0/002"],
];

async function run(document: string, how: string): Promise<string> {
  const url = import.meta.resolve("./on_demand_program.ts");
  const program = startProgram(url, { document, how });
  await program.stdin.close();
  const { stdout } = await program.output();
  return new TextDecoder().decode(stdout).trim();
}

function documentOf(encoding: unknown): string {
  return JSON.stringify(arrayMetadata({
    shape: [4, 4],
    chunk_grid: { name: "regular", configuration: { chunk_shape: [1, 1] } },
    chunk_key_encoding: encoding,
  }));
}

Deno.test("chunk key encodings are loaded when a document names them", async () => {
  for (const [encoding, key] of CASES) {
    const found = WAYS.map((how) => run(documentOf(encoding), how));
    assertEquals(await Promise.all(found), WAYS.map(() => key));
  }
});

Deno.test("chunk key encodings are loaded when a document may name them by escapes", async () => {
  const document = documentOf(TEMPLATE).replace("template", "\\u0074emplate");
  assertEquals(await run(document, "openArrayChunks"), "/tile_1_2.tif");
});

Deno.test("new ArrayChunks says how to load a chunk key encoding that a bundle left out", async () => {
  assertEquals(
    await run(documentOf(TEMPLATE), "new ArrayChunks"),
    'Error: Chunk key encoding "template" is not in this bundle yet; call parseChunkKeyEncoding or openArrayChunks first',
  );
});

Deno.test("new ArrayChunks knows all chunk key encodings without a bundler", () => {
  for (const [encoding, key] of CASES) {
    const metadata = JSON.parse(documentOf(encoding));
    const chunks = new ArrayChunks(new MemoryStore(), "", metadata);
    assertEquals(chunks.key([1, 2]), key);
  }
});
