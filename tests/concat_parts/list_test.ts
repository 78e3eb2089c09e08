import { assertEquals, assertRejects } from "@std/assert";
import {
  ConcatParts,
  MemoryStore,
  type Part,
  type StoreKey,
} from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";

const PARTS: Part[] = [
  { keySuffix: ".header", size: 3 },
  { keySuffix: "" },
  { keySuffix: ".index", size: 2 },
];

function storeOf(...keys: StoreKey[]): MemoryStore {
  return new MemoryStore(keys.map((key) => [key, countingBytes(2)]));
}

const isInFolder = (key: StoreKey) => key.startsWith("/c/");
const TWO = [{ keySuffix: ".a" }, { keySuffix: ".b" }];
const NESTED = [{ keySuffix: "/data" }, { keySuffix: "/meta/index", size: 2 }];

/** Stored keys, and those that are listed, with parts, a prefix, and which keys are those of chunks. */
const LISTINGS: {
  stored: StoreKey[];
  listed: StoreKey[];
  parts?: Part[];
  prefix?: StoreKey;
  isChunkKey?: (key: StoreKey) => boolean;
}[] = [
  // Each chunk once, whatever the order of its parts.
  {
    stored: ["/c/0.index", "/c/1", "/c/0", "/c/1.header", "/c/0.header"],
    listed: ["/c/0", "/c/1"],
  },
  { stored: ["/c/0.index"], listed: ["/c/0"] },
  {
    stored: ["/zarr.json", "/c/0", "/a/zarr.json", "/.zattrs"],
    listed: ["/.zattrs", "/a/zarr.json", "/c/0", "/zarr.json"],
  },
  {
    stored: ["/c/0", "/c/0.index", "/x.index"],
    listed: ["/c/0", "/x.index"],
    isChunkKey: isInFolder,
  },
  // A value at a chunk's key that is not a part: get finds no chunk there.
  {
    stored: ["/c/0", "/c/0.a", "/c/1", "/zarr.json"],
    listed: ["/c/0", "/zarr.json"],
    parts: TWO,
  },
  // The longest key suffix that fits.
  {
    stored: ["/c/0.b", "/c/0.a.b"],
    listed: ["/c/0"],
    parts: [{ keySuffix: ".b" }, { keySuffix: ".a.b" }],
  },
  {
    stored: ["/c/0/data", "/c/0/meta/index", "/c/1/data"],
    listed: ["/c/0", "/c/1"],
    parts: NESTED,
  },
  ...([
    ["/c/0", ["/c/0", "/c/01"]],
    ["/c/", ["/c/0", "/c/01", "/c/1"]],
    ["/c/0.", []],
    ["/c/0.in", []],
  ] as [StoreKey, StoreKey[]][]).map(([prefix, listed]) => ({
    stored: [
      "/c/0",
      "/c/0.index",
      "/c/01.index",
      "/c/1",
      "/d/0",
    ] as StoreKey[],
    listed,
    prefix,
  })),
];

for (const { stored, listed, prefix, ...changes } of LISTINGS) {
  const { parts = PARTS, isChunkKey } = changes;
  Deno.test(`ConcatParts.apply: list of ${prefix ?? "all"} gives ${listed} of ${stored}`, async () => {
    for (const keys of [stored, stored.toReversed()]) {
      const composed = new ConcatParts(parts).apply(storeOf(...keys), {
        isChunkKey,
      });
      const found = await Array.fromAsync(composed.list(prefix));
      assertEquals(found.sort(), listed);
    }
  });
}

Deno.test("ConcatParts.apply: all operations pass on keys that are not of a chunk", async () => {
  const memory = storeOf("/zarr.json");
  const composed = new ConcatParts(PARTS).apply(memory);
  const bytes = countingBytes(2);
  assertEquals(await composed.get("/zarr.json"), bytes);
  assertEquals(
    await composed.getRange("/zarr.json", { suffixLength: 1 }),
    bytes.slice(1),
  );
  assertEquals(await composed.size("/zarr.json"), 2);
  assertEquals(await Array.fromAsync((await composed.stream("/zarr.json"))!), [
    bytes,
  ]);
  await composed.set("/zarr.json", countingBytes(7));
  assertEquals(await memory.get("/zarr.json"), countingBytes(7));
  await composed.delete("/zarr.json");
  assertEquals(await Array.fromAsync(memory.list()), []);
});

Deno.test("ConcatParts.apply: all operations refuse invalid keys", async () => {
  const memory = new MemoryStore();
  const composed = new ConcatParts([{ keySuffix: "x" }]).apply(memory);
  for (
    const key of [
      "/",
      "/..",
      "/a/../b",
      "/a//",
      "a",
      "",
      "/a\\b",
      "/\0",
    ] as StoreKey[]
  ) {
    for (
      const start of [
        () => composed.get(key),
        () => composed.getRange(key, { offset: 0, length: 1 }),
        () => composed.stream(key),
        () => composed.size(key),
        () => composed.set(key, countingBytes(2)),
        () => composed.delete(key),
      ]
    ) {
      await assertRejects(start, RangeError, `Key ${JSON.stringify(key)} `);
    }
  }
  assertEquals(await Array.fromAsync(memory.list()), []);
});
