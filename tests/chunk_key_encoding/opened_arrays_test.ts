import { assertEquals } from "@std/assert";
import {
  ArrayChunks,
  MemoryStore,
  openArrayChunks,
  plainView,
  type StoreKey,
} from "../../mod.ts";
import { arrayMetadata } from "../support/metadata.ts";

const TEMPLATE = {
  name: "template",
  configuration: { format: "tile_{0}_{1}.tif" },
};
const SUFFIX = {
  name: "suffix",
  configuration: { suffix: ".zip", base_encoding: "v2" },
};

const CASES: [encoding: unknown, key: string][] = [
  [{ name: "default" }, "/c/1/2"],
  ["v2", "/1.2"],
  [SUFFIX, "/1.2.zip"],
  [TEMPLATE, "/tile_1_2.tif"],
  ["fanout", "/c/0/001/0/002"],
];

function documentOf(encoding: unknown): string {
  return JSON.stringify(arrayMetadata({
    shape: [4, 4],
    chunk_grid: { name: "regular", configuration: { chunk_shape: [1, 1] } },
    chunk_key_encoding: encoding,
  }));
}

/** Returns the key under which each way of opening an array finds a chunk. */
async function keysOf(document: string): Promise<Record<string, string>> {
  const bytes = new TextEncoder().encode(document);
  const opened = await openArrayChunks(
    new MemoryStore([["/zarr.json", bytes]]),
  );
  const metadata = JSON.parse(document);
  return {
    "openArrayChunks": opened.key([1, 2]),
    "new ArrayChunks": new ArrayChunks(new MemoryStore(), "", metadata)
      .key([1, 2]),
    "plainView": await keyWrittenBy(new MemoryStore([["/zarr.json", bytes]])),
    "plainView, created": await keyWrittenBy(new MemoryStore(), bytes),
  };
}

async function keyWrittenBy(
  store: MemoryStore,
  document?: Uint8Array,
): Promise<string> {
  if (document) await plainView(store).set!("/zarr.json", document);
  await plainView(store).set!("/c/1/2", new Uint8Array([7]));
  const keys: StoreKey[] = [];
  for await (const key of store.list("/")) keys.push(key);
  assertEquals(keys.length, 2);
  return keys.find((key) => key !== "/zarr.json")!;
}

Deno.test("arrays are opened with each chunk key encoding in all ways", async () => {
  for (const [encoding, key] of CASES) {
    for (const found of Object.values(await keysOf(documentOf(encoding)))) {
      assertEquals(found, key);
    }
  }
});

Deno.test("arrays are opened whose documents name a chunk key encoding by escapes", async () => {
  const document = documentOf(TEMPLATE).replace("template", "\\u0074emplate");
  for (const found of Object.values(await keysOf(document))) {
    assertEquals(found, "/tile_1_2.tif");
  }
});
