import { assertEquals, assertRejects } from "@std/assert";
import {
  createArrayChunks,
  MemoryStore,
  MetadataError,
  type PlainStore,
  plainView,
  type StoreKey,
} from "../../mod.ts";
import { contentsOf } from "../support/bytes.ts";
import { encodeJson, readJson, utf8 } from "../support/documents.ts";
import { arrayInParts, IN_PARTS } from "../support/in_parts.ts";
import { arrayMetadata } from "../support/metadata.ts";

const BYTES = Uint8Array.of(1, 2, 3);
const KEY = "/a/c/0/0";

/** All methods that take the key of a chunk. */
function usesOf(
  view: PlainStore<MemoryStore>,
  key: StoreKey,
): (() => Promise<unknown>)[] {
  return [
    () => view.get(key),
    () => view.getRange(key, { offset: 0, length: 1 }),
    () => view.stream(key),
    () => view.size(key),
    () => view.set(key, BYTES),
    () => view.set(key, new Blob([BYTES]).stream()),
    () => Promise.resolve(view.delete(key)),
  ];
}

/** Creates a store with a document for the array `/a`, and a view of the store. */
async function viewOf(document: Uint8Array) {
  const stored = new MemoryStore([["/a/zarr.json", document]]);
  await stored.set(KEY, BYTES);
  return { stored, view: plainView(stored) };
}

Deno.test("plainView refuses chunks of an array with metadata that is not understood", async () => {
  const cases: [Record<string, unknown>, string][] = [
    [
      { chunk_key_encoding: { name: "fancy" } },
      'Unknown chunk key encoding "fancy"; known are "default", "v2", "suffix", "template" and "fanout" (at /a/zarr.json#/chunk_key_encoding/name in MemoryStore(2))',
    ],
    [{ chunk_key_encoding: undefined }, 'Missing member "chunk_key_encoding"'],
    [
      { storage_transformers: [{ name: "indirection" }] },
      'Unknown storage transformer "indirection"; known is "concat-parts" (at /a/zarr.json#/storage_transformers/0/name in MemoryStore(2))',
    ],
    [{ ...IN_PARTS, extra: 1 }, 'Unknown member "extra"'],
  ];
  for (const [changes, message] of cases) {
    const { stored, view } = await viewOf(encodeJson(arrayMetadata(changes)));
    const before = await contentsOf(stored);
    for (const use of usesOf(view, KEY)) {
      await assertRejects(use, MetadataError, message);
    }
    assertEquals(await contentsOf(stored), before);
  }
});

Deno.test("plainView refuses to write an invalid document, and keeps the stored one", async () => {
  const { stored } = await arrayInParts("a");
  const before = await contentsOf(stored);
  const view = plainView(stored);
  for (const key of ["/a/zarr.json", "/b/zarr.json"] as const) {
    for (const text of ["", "{", "\u{feff}x"]) {
      const write = () => view.set(key, utf8(text));
      await assertRejects(
        write,
        MetadataError,
        `(at ${key} in MemoryStore(1))`,
      );
    }
    await assertRejects(
      () => view.set(key, "{}" as unknown as Uint8Array),
      TypeError,
      "Expected a value to be a Uint8Array or a ReadableStream",
    );
  }
  assertEquals(await contentsOf(stored), before);
});

Deno.test("plainView has no value outside the grid by one, or of another rank, and refuses to change it", async () => {
  const { stored } = await arrayInParts("a");
  const view = plainView(stored);
  const before = await contentsOf(stored);
  for (
    const key of [
      "/a/c/3/0",
      "/a/c/0/2",
      "/a/c",
      "/a/c/0",
      "/a/c/0/0/0",
      "/a/c/99999999999999999999/0",
    ] as const
  ) {
    const uses = usesOf(view, key);
    for (const read of uses.slice(0, 4)) {
      assertEquals(await read(), undefined, key);
    }
    for (const change of uses.slice(4)) {
      await assertRejects(
        change,
        RangeError,
        `Key "${key}" is outside the chunk grid of its array, whose shape is [3, 2]`,
      );
    }
  }
  assertEquals(await contentsOf(stored), before);
  await view.set("/a/c/2/1", BYTES);
});

Deno.test("plainView lists beside an invalid document, and replaces it", async () => {
  const stored = new MemoryStore([["/b/zarr.json", new Uint8Array()]]);
  await createArrayChunks(stored, "a", arrayMetadata(IN_PARTS));
  const view = plainView(stored);
  assertEquals((await Array.fromAsync(view.list())).sort(), [
    "/a/zarr.json",
    "/b/zarr.json",
  ]);
  await view.set("/b/zarr.json", utf8(JSON.stringify(arrayMetadata())));
  assertEquals(
    await readJson(view, "/b/zarr.json"),
    JSON.parse(JSON.stringify(arrayMetadata())),
  );
});
