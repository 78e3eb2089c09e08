/** Reads and writes of one chunk at the same time. */
import { assert, assertEquals } from "@std/assert";
import { ConcatParts, MemoryStore, type Part, type Store } from "../../mod.ts";
import { toBytes } from "../../src/stores/byte_streams.ts";
import { countingBytes } from "../support/bytes.ts";

const PARTS: Part[] = [
  { keySuffix: ".header", size: 3 },
  { keySuffix: "" },
  { keySuffix: ".index", size: 2 },
];
const WRITE_ORDER = ["/c/0", "/c/0.header", "/c/0.index"];

Deno.test("ConcatParts.apply: writes of one chunk run one after another", async () => {
  const memory = new MemoryStore();
  // Later writes are faster than earlier ones at every part.
  let delay = 20;
  const slow: Store = {
    get: (key) => memory.get(key),
    async set(key, value) {
      await new Promise((resolve) => setTimeout(resolve, delay -= 1));
      await memory.set(key, value as Uint8Array);
    },
  };
  const composed = new ConcatParts(PARTS).apply(slow);
  await Promise.all(
    [1, 2, 3, 4].map((i) => composed.set!("/c/0", new Uint8Array(9).fill(i))),
  );
  assertEquals(await composed.get("/c/0"), new Uint8Array(9).fill(4));
});

Deno.test("ConcatParts.apply: a failed write lets the next write of the chunk go on", async () => {
  const composed = new ConcatParts(PARTS).apply(new MemoryStore());
  const results = await Promise.allSettled([
    composed.set("/c/0", new Uint8Array(1)),
    composed.set("/c/0", countingBytes(9)),
  ]);
  assertEquals(results.map((result) => result.status), [
    "rejected",
    "fulfilled",
  ]);
  assertEquals(await composed.get("/c/0"), countingBytes(9));
});

/** A memory store with delays of different lengths. */
function slowStore(memory: MemoryStore): Store {
  let turn = 0;
  const pause = () =>
    new Promise((resolve) => setTimeout(resolve, turn = (turn * 7 + 3) % 11));
  return {
    async get(key) {
      await pause();
      return await memory.get(key);
    },
    async set(key, value) {
      await pause();
      await memory.set(key, value);
    },
    async delete(key) {
      await pause();
      await memory.delete(key);
    },
  };
}

Deno.test("ConcatParts.apply: a read during a write gives the chunk from before or after it", async () => {
  const stored = slowStore(new MemoryStore());
  const writer = new ConcatParts(PARTS).apply(stored);
  const reader = new ConcatParts(PARTS).apply(stored);
  await writer.set!("/c/0", new Uint8Array(9).fill(0));
  const reads: Promise<unknown>[] = [];
  for (let i = 1; i <= 5; i++) {
    const read = async (bytes: Promise<Uint8Array | undefined>) => {
      const found = await bytes;
      assert(
        found !== undefined && found.every((byte) => byte === found[0]),
        `${found}`,
      );
      return found[0];
    };
    reads.push(read(reader.get("/c/0")));
    const writing = writer.set!("/c/0", new Uint8Array(9).fill(i));
    reads.push(
      read(reader.get("/c/0")),
      read(reader.getRange("/c/0", { offset: 2, length: 6 })),
      reader.stream("/c/0").then((stream) => read(toBytes(stream!))),
    );
    if (i % 2 === 0) await writing;
  }
  // Reads and writes keep their order: one read before each write, three after it.
  assertEquals(
    await Promise.all(reads),
    [1, 2, 3, 4, 5].flatMap((i) => [i - 1, i, i, i]),
  );
});

Deno.test("ConcatParts.apply: a write waits for earlier reads of the chunk, and not for other chunks", async () => {
  const memory = new MemoryStore();
  await new ConcatParts(PARTS).apply(memory).set("/c/0", countingBytes(9));
  let release = () => {};
  const gate = new Promise<void>((resolve) => release = resolve);
  const written: string[] = [];
  const composed = new ConcatParts(PARTS).apply<Store>({
    async get(key) {
      if (key === "/c/0.index") await gate;
      return await memory.get(key);
    },
    async set(key, value) {
      written.push(key);
      await memory.set(key, value);
    },
    delete: (key) => memory.delete(key),
  });
  const reading = composed.get("/c/0");
  const writing = composed.set!("/c/0", countingBytes(9, 100));
  await composed.set!("/c/1", countingBytes(9));
  assertEquals(written, ["/c/1", "/c/1.header", "/c/1.index"]);
  release();
  assertEquals(await reading, countingBytes(9));
  await writing;
  assertEquals(written.slice(3), WRITE_ORDER);
  assertEquals(await composed.get("/c/0"), countingBytes(9, 100));
});
