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
