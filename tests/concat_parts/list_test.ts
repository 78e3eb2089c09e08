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

async function listed(
  parts: Part[],
  keys: StoreKey[],
  prefix?: StoreKey,
  isChunkKey?: (key: StoreKey) => boolean,
): Promise<StoreKey[]> {
  const composed = new ConcatParts(parts).apply(storeOf(...keys), {
    isChunkKey,
  });
  return (await Array.fromAsync(composed.list(prefix))).sort();
}

Deno.test("ConcatParts.apply: list folds part keys into chunk keys, each once and in any order", async () => {
  const keys: StoreKey[] = [
    "/c/0.index",
    "/c/1",
    "/c/0",
    "/c/1.header",
    "/c/0.header",
    "/c/1.index",
  ];
  assertEquals(await listed(PARTS, keys), ["/c/0", "/c/1"]);
  assertEquals(await listed(PARTS, keys.reverse()), ["/c/0", "/c/1"]);
});

Deno.test("ConcatParts.apply: list shows a chunk that lacks parts, which get then reports", async () => {
  assertEquals(await listed(PARTS, ["/c/0.index"]), ["/c/0"]);
});

Deno.test("ConcatParts.apply: list passes on keys that are not of a chunk", async () => {
  assertEquals(
    await listed(PARTS, ["/zarr.json", "/c/0", "/a/zarr.json", "/.zattrs"]),
    ["/.zattrs", "/a/zarr.json", "/c/0", "/zarr.json"],
  );
  assertEquals(
    await listed(
      PARTS,
      ["/c/0", "/c/0.index", "/x.index"],
      "/",
      (key) => key.startsWith("/c/"),
    ),
    ["/c/0", "/x.index"],
  );
});

Deno.test("ConcatParts.apply: list leaves out a value at a chunk's key that is not a part", async () => {
  assertEquals(
    await listed([{ keySuffix: ".a" }, { keySuffix: ".b" }], [
      "/c/0", // Not a part: get finds no chunk here.
      "/c/0.a",
      "/c/1",
      "/zarr.json",
    ]),
    ["/c/0", "/zarr.json"],
  );
});

Deno.test("ConcatParts.apply: list takes the longest key suffix that fits", async () => {
  assertEquals(
    await listed([{ keySuffix: ".b" }, { keySuffix: ".a.b" }], [
      "/c/0.b",
      "/c/0.a.b",
    ]),
    ["/c/0"],
  );
});

Deno.test("ConcatParts.apply: list lists the chunk keys that start with the prefix", async () => {
  const keys: StoreKey[] = [
    "/c/0",
    "/c/0.index",
    "/c/01.index",
    "/c/1",
    "/d/0",
  ];
  assertEquals(await listed(PARTS, keys, "/c/0"), ["/c/0", "/c/01"]);
  assertEquals(await listed(PARTS, keys, "/c/"), ["/c/0", "/c/01", "/c/1"]);
  assertEquals(await listed(PARTS, keys, "/c/0."), []);
  assertEquals(await listed(PARTS, keys, "/c/0.in"), []);
});

Deno.test("ConcatParts.apply: list folds parts that lie in a folder of their chunk", async () => {
  assertEquals(
    await listed([{ keySuffix: "/data" }, {
      keySuffix: "/meta/index",
      size: 2,
    }], [
      "/c/0/data",
      "/c/0/meta/index",
      "/c/1/data",
    ]),
    ["/c/0", "/c/1"],
  );
});

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
