/** Composed stores over stores that break their contract, and keys of no chunk. */
import { assertEquals, assertRejects } from "@std/assert";
import {
  ConcatParts,
  MemoryStore,
  MissingPartError,
  PartSizeError,
} from "../../mod.ts";
import { countingBytes } from "../support/bytes.ts";
import { SHARD } from "./shard_chunk.ts";

Deno.test("ConcatParts.apply: getRange refuses more bytes from the store than it asked for", async () => {
  const composed = new ConcatParts(SHARD).apply({
    get: () => Promise.resolve(undefined),
    getRange: () => Promise.resolve(new Uint8Array(11)),
  });
  await assertRejects(
    () => composed.getRange("/c/0", { offset: 64, length: 10 }),
    Error,
    'Expected at most 10 bytes of "/c/0" from the store, found 11',
  );
});

Deno.test("ConcatParts.apply: getRange refuses fewer bytes of a sized part than its size promises", async () => {
  const size = 300_000;
  const composed = new ConcatParts([{ keySuffix: "", size }]).apply({
    get: () => Promise.resolve(undefined),
    size: () => Promise.resolve(size),
    getRange: () => Promise.resolve(new Uint8Array(9)),
  });
  await assertRejects(
    () => composed.getRange("/c/0", { offset: 5, length: 10 }),
    PartSizeError,
    'Part "/c/0" is 9 bytes long, where its size is 10',
  );
});

Deno.test("ConcatParts.apply: a part that is deleted during a read is a missing part", async () => {
  const parts = [{ keySuffix: "" }, { keySuffix: ".index", size: 4 }];
  const memory = new MemoryStore([["/c/0.index", countingBytes(4)]]);
  const composed = new ConcatParts(parts).apply({
    get: (key) => memory.get(key),
    size: (key) => memory.size(key),
    getRange: () => Promise.resolve(new Uint8Array(0)),
  });
  await assertRejects(
    () => composed.getRange("/c/0", { offset: 5, length: 2 }),
    MissingPartError,
    'lacks "/c/0" but has "/c/0.index"',
  );
});

const PARTS = [
  { keySuffix: ".header", size: 3 },
  { keySuffix: "" },
  { keySuffix: ".index", size: 2 },
];

Deno.test("ConcatParts.apply: all operations pass on keys that are not of a chunk", async () => {
  const memory = new MemoryStore([["/zarr.json", countingBytes(2)]]);
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
