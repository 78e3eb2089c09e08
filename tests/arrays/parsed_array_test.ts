import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { MemoryStore } from "../../mod.ts";
import {
  arrayRoot,
  chunksOf,
  parseArray,
  resolveParts,
} from "../../src/arrays/mod.ts";
import { storeOf } from "../../src/stores/mod.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";

Deno.test("chunksOf splits chunks of its array, and lists no other value as one", async () => {
  const array = parseArray(arrayMetadata({
    storage_transformers: [
      concatParts({ key_suffix: ".a", size: 1 }, { key_suffix: ".b" }),
    ],
  }));
  const others = [
    "/y/c/0/0.a", // of another array
    "/c/0/0.a",
    "/x/c/3/0.a", // outside the grid
    "/x/c/0/0/0.a",
    "/x/zarr.json.a",
  ] as const;
  const memory = new MemoryStore(others.map((key) => [key, countingBytes(1)]));
  const store = storeOf(chunksOf(memory, "/x", array), () => "") as MemoryStore;
  await store.set("/x/c/0/0", countingBytes(3));
  const contents = await contentsOf(memory);
  assertEquals(contents["/x/c/0/0.a"], [0]);
  assertEquals(contents["/x/c/0/0.b"], [1, 2]);
  const listed = await Array.fromAsync(store.list());
  assertEquals(listed.sort(), [...others, "/x/c/0/0"].sort());
});

Deno.test("chunksOf gives the backend itself for shards of one object", () => {
  const memory = new MemoryStore();
  const parts = concatParts({ key_suffix: "" });
  const configuration = {
    chunk_shape: [4, 4],
    codecs: ["bytes"],
    index_codecs: INDEX_CODECS,
  };
  const codecs = [{ name: "sharding_indexed", configuration }];
  for (const storage_transformers of [undefined, [], [parts], [parts, parts]]) {
    const array = parseArray(arrayMetadata({ codecs, storage_transformers }));
    assertStrictEquals(chunksOf(memory, "/x", array), memory);
  }
});

Deno.test("parseArray describes shards behind codecs that keep or order dimensions", () => {
  const sharding = (chunk_shape: number[], ...codecs: unknown[]) => ({
    name: "sharding_indexed",
    configuration: { chunk_shape, codecs, index_codecs: INDEX_CODECS },
  });
  const transpose = { name: "transpose", configuration: { order: [1, 2, 0] } };
  const delta = { name: "numcodecs.delta", configuration: { dtype: "<u2" } };
  const inner = sharding([2, 3, 1], "bytes");
  const array = parseArray(arrayMetadata({
    shape: [8, 40, 60],
    chunk_grid: { name: "regular", configuration: { chunk_shape: [4, 8, 6] } },
    data_type: "uint16",
    codecs: [delta, transpose, sharding([4, 6, 2], inner), "crc32c"],
  }));
  const [outer, middle, last] = array.levels;
  assertEquals(array.levels.length, 3);
  assertEquals(outer!.shard?.layout.chunksPerShard, [2, 1, 2]);
  assertEquals(outer!.shard?.before, [delta, transpose]);
  assertEquals(outer!.shard?.after, [{ name: "crc32c" }]);
  assertEquals(array.innerChunkShape, [2, 4, 6]);
  assertEquals(middle!.shard?.layout.chunksPerShard, [2, 2, 2]);
  assertEquals(last, array.innermost);
  assertEquals(last!.shape, [2, 3, 1]);
  assertEquals(
    last!.path,
    "/codecs/2/configuration/codecs/0/configuration/codecs",
  );
  assertEquals(array.dataType, { name: "uint16", bits: 16 });
  assertEquals(resolveParts(["", ".index", ".crc32c"], array.chunk), [
    { keySuffix: "" },
    { keySuffix: ".index", size: 68 },
    { keySuffix: ".crc32c", size: 4 },
  ]);
  for (const name of ["reshape", "numcodecs.packbits", "example.unknown"]) {
    const { codecs, ...metadata } = array.metadata;
    const { chunk } = parseArray({ ...metadata, codecs: [name, ...codecs] });
    assertEquals(chunk.shard, undefined, name);
  }
  // The first documents of Zarr v3 have letters for orders.
  const reversed = { name: "transpose", configuration: { order: "F" } };
  const { innerChunkShape } = parseArray(arrayMetadata({
    chunk_grid: { name: "regular", configuration: { chunk_shape: [4, 6] } },
    codecs: [reversed, sharding([3, 2], "bytes")],
  }));
  assertEquals(innerChunkShape, [2, 3]);
});

const INDEX_CODECS = [
  { name: "bytes", configuration: { endian: "little" } },
  "crc32c",
];

Deno.test("arrayRoot takes a path with slashes around it or without", () => {
  for (const path of ["", "/"]) assertEquals(arrayRoot(path), "");
  for (const path of ["a/b", "/a/b", "a/b/", "/a/b/"]) {
    assertEquals(arrayRoot(path), "/a/b");
  }
});

Deno.test("arrayRoot refuses paths that leave the store or name nothing", () => {
  const expected =
    `expected the array's path in the store, such as "elevation" or "" for the root`;
  const cases = {
    "//": "holds an empty segment",
    "a//b": "holds an empty segment",
    "https://example.org/a.zarr": "holds an empty segment",
    ".": 'holds the segment "."',
    "..": 'holds the segment ".."',
    "a/../b": 'holds the segment ".."',
    "a\\b": "holds a backslash",
    "a\0": "holds a control character (U+0000)",
  };
  for (const [path, problem] of Object.entries(cases)) {
    const error = assertThrows(() => arrayRoot(path), RangeError);
    assertEquals(
      error.message,
      `Path ${JSON.stringify(path)} ${problem}; ${expected}`,
    );
  }
  for (const path of [null, 5, { shape: [1] }]) {
    assertThrows(() => arrayRoot(path as never), TypeError, expected.slice(1));
  }
});
