import { assertEquals, assertThrows } from "@std/assert";
import { Buffer } from "node:buffer";
import { MemoryStore } from "../../src/stores/memory_store.ts";
import type { StoreKey } from "../../mod.ts";
import { testStore } from "./conformance.ts";
import { HOSTILE_KEYS, listed, readAll } from "./store_values.ts";

testStore("MemoryStore", () => {
  const store = new MemoryStore();
  return Promise.resolve({
    store,
    fill: (key, bytes) => store.set(key, bytes),
  });
}, { hasWriter: true });

Deno.test("MemoryStore copies its initial entries, and keeps the last of equal keys", async () => {
  const bytes = new Uint8Array([1, 2, 3]);
  const store = new MemoryStore([
    ["/b", bytes],
    ["/a", bytes.subarray(1)],
    ["/b", bytes.subarray(2)],
  ]);
  bytes.fill(9);
  assertEquals(await store.get("/b"), new Uint8Array([3]));
  assertEquals(await store.get("/a"), new Uint8Array([2, 3]));
  assertEquals(await listed(store), ["/a", "/b"]);
  const other = new MemoryStore(new Map<StoreKey, Uint8Array>([["/a", bytes]]));
  assertEquals(await other.size("/a"), 3);
});

Deno.test("MemoryStore rejects initial entries with invalid keys", () => {
  for (const key of HOSTILE_KEYS) {
    assertThrows(
      () => new MemoryStore([[key, new Uint8Array()]]),
      RangeError,
      JSON.stringify(key),
    );
  }
});

Deno.test("MemoryStore.set copies a Node Buffer", async () => {
  const buffer = Buffer.from([1, 2, 3]);
  const store = new MemoryStore([["/a", buffer]]);
  await store.set("/b", buffer);
  buffer.fill(9);
  assertEquals(await store.get("/a"), new Uint8Array([1, 2, 3]));
  assertEquals(await store.get("/b"), new Uint8Array([1, 2, 3]));
});

Deno.test("MemoryStore.stream reads the earlier value to its end while set replaces it", async () => {
  const value = new Uint8Array(200_000).fill(1);
  const store = new MemoryStore([["/a", value]]);
  const streams = [await store.stream("/a"), await store.stream("/a")];
  await store.set("/a", new Uint8Array([2]));
  assertEquals(await readAll(streams[0]), value);
  await store.delete("/a");
  assertEquals(await readAll(streams[1]), value);
});

Deno.test("MemoryStore.stream returns chunks that can be transferred", async () => {
  const value = new Uint8Array(200_000).fill(1);
  const store = new MemoryStore([["/a", value]]);
  for await (const chunk of (await store.stream("/a"))!) {
    structuredClone(chunk.buffer, { transfer: [chunk.buffer as ArrayBuffer] });
  }
  assertEquals(await store.get("/a"), value);
});

Deno.test("MemoryStore.list returns keys in the order in which they were first set", async () => {
  const store = new MemoryStore();
  for (const key of ["/c/1", "/c/0", "/b", "/c/1"] as const) {
    await store.set(key, new Uint8Array());
  }
  assertEquals(await Array.fromAsync(store.list("/c")), ["/c/1", "/c/0"]);
});
