import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { MemoryStore } from "../../mod.ts";
import { arrayRoot, chunksOf, parseArray } from "../../src/arrays/mod.ts";
import { storeOf } from "../../src/stores/mod.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";

Deno.test("chunksOf splits chunks of its array, and no other value", async () => {
  const array = parseArray(arrayMetadata({
    storage_transformers: [
      concatParts({ key_suffix: ".a", size: 1 }, { key_suffix: ".b" }),
    ],
  }));
  const memory = new MemoryStore();
  const store = storeOf(chunksOf(memory, "/x", array), () => "") as MemoryStore;
  const others = [
    "/y/c/0/0", // of another array
    "/c/0/0",
    "/x/c/3/0", // outside the grid
    "/x/c/0/0/0",
    "/x/zarr.json",
  ] as const;
  for (const key of others) await store.set(key, countingBytes(3));
  await store.set("/x/c/0/0", countingBytes(3));
  const contents = await contentsOf(memory);
  assertEquals(
    Object.keys(contents),
    [...others, "/x/c/0/0.a", "/x/c/0/0.b"].sort(),
  );
  assertEquals(contents["/x/c/0/0.b"], [1, 2]);
});

Deno.test("chunksOf gives the backend itself for chunks of one object", () => {
  const memory = new MemoryStore();
  const parts = concatParts({ key_suffix: "" });
  for (const storage_transformers of [undefined, [], [parts], [parts, parts]]) {
    const array = parseArray(arrayMetadata({ storage_transformers }));
    assertStrictEquals(chunksOf(memory, "/x", array), memory);
  }
});

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
