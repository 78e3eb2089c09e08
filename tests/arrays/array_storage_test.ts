import { assertEquals } from "@std/assert";
import { MemoryStore } from "../../mod.ts";
import { ArrayStorage } from "../../src/arrays/array_storage.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";
import { observed, STORE_METHODS } from "../support/observed_store.ts";

Deno.test("ArrayStorage.transform splits chunks of its array, and no other value", async () => {
  const storage = new ArrayStorage(arrayMetadata({
    storage_transformers: [
      concatParts({ key_suffix: ".a", size: 1 }, { key_suffix: ".b" }),
    ],
  }));
  const memory = new MemoryStore();
  const store = storage.transform(memory, "/x");
  const others = [
    "/y/c/0/0", // of another array
    "/c/0/0",
    "/x/c/3/0", // outside the grid
    "/x/c/0/0/0",
    "/x/zarr.json",
  ] as const;
  for (const key of others) await store.set!(key, countingBytes(3));
  await store.set!("/x/c/0/0", countingBytes(3));
  const contents = await contentsOf(memory);
  assertEquals(
    Object.keys(contents),
    [...others, "/x/c/0/0.a", "/x/c/0/0.b"].sort(),
  );
  assertEquals(contents["/x/c/0/0.b"], [1, 2]);
});

Deno.test("ArrayStorage.transform changes shards in one object by groups, and other chunks by the store itself", async () => {
  const sharded = arrayMetadata({
    codecs: [{
      name: "sharding_indexed",
      configuration: {
        chunk_shape: [1, 1],
        codecs: [{ name: "bytes" }],
        index_codecs: [{ name: "bytes", configuration: { endian: "big" } }],
      },
    }],
  });
  for (
    const [metadata, methods, isGrouped] of [
      [sharded, [...STORE_METHODS, "group"], true],
      [sharded, STORE_METHODS, false],
      [arrayMetadata({}), [...STORE_METHODS, "group"], false],
    ] as const
  ) {
    const memory = new MemoryStore();
    const below = observed(memory, () => {}, methods);
    const changed: string[] = [];
    const store = new ArrayStorage(metadata).transform({
      ...below,
      ...below.group && {
        group(key, keys) {
          changed.push(...keys);
          return below.group!(key, keys);
        },
      },
    }, "");
    await store.set!("/c/0/0", countingBytes(5));
    await store.set!("/c/0/0", ReadableStream.from([countingBytes(6)]));
    assertEquals(await store.get("/c/0/0"), countingBytes(6));
    assertEquals(await store.size!("/c/0/0"), 6);
    assertEquals(
      await store.getRange!("/c/0/0", { offset: 4, length: 9 }),
      Uint8Array.of(4, 5),
    );
    await store.delete!("/c/0/0");
    assertEquals(await store.get("/c/0/0"), undefined);
    // Reads of one object need no group.
    assertEquals(changed, isGrouped ? ["/c/0/0", "/c/0/0", "/c/0/0"] : []);
  }
});
