/** Setting and deleting a chunk, and the values that are refused. */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import {
  ConcatParts,
  MemoryStore,
  type Part,
  PartSizeError,
  type Store,
} from "../../mod.ts";
import { toBytes } from "../../src/stores/byte_streams.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";
import { logged } from "../support/observed_store.ts";
import { onWritableStores } from "./writable_stores.ts";

const PARTS: Part[] = [
  { keySuffix: ".header", size: 3 },
  { keySuffix: "" },
  { keySuffix: ".index", size: 2 },
];
const WRITE_ORDER = ["/c/0", "/c/0.header", "/c/0.index"];

const BEFORE = countingBytes(20, 100);

onWritableStores(
  "set writes the unsized part, head parts, tail parts",
  async (stored) => {
    const { store, log } = logged(stored);
    await new ConcatParts(PARTS).apply(store).set!("/c/0", countingBytes(9));
    assertEquals(
      log.filter((line) => line.startsWith("set")),
      WRITE_ORDER.map((key) => `set ${key}`),
    );
    assertEquals(await contentsOf(stored), {
      "/c/0": [3, 4, 5, 6],
      "/c/0.header": [0, 1, 2],
      "/c/0.index": [7, 8],
    });
  },
);

onWritableStores(
  "set of a chunk that does not fit makes no request",
  async (stored) => {
    const { store, log } = logged(stored);
    const composed = new ConcatParts(PARTS).apply(store);
    const error = await assertRejects(
      () => composed.set!("/c/0", countingBytes(4)),
      PartSizeError,
      'Chunk "/c/0" is 4 bytes long, where its sized parts take at least 5',
    );
    assertEquals([error.key, error.expected, error.actual], ["/c/0", 5, 4]);
    const unsplittable = new ConcatParts([{ keySuffix: ".a" }, {
      keySuffix: ".b",
    }]);
    await assertRejects(
      () => unsplittable.apply(store).set!("/c/0", countingBytes(9)),
      TypeError,
      "at most one part may lack a size",
    );
    assertEquals(log, []);
  },
);

onWritableStores(
  "delete removes all parts and nothing else",
  async (stored) => {
    const composed = new ConcatParts(PARTS).apply(stored);
    await composed.set("/c/0", BEFORE);
    await composed.set("/c/01", BEFORE);
    await composed.delete("/c/0");
    assertEquals(Object.keys(await contentsOf(stored)), [
      "/c/01",
      "/c/01.header",
      "/c/01.index",
    ]);
    assertStrictEquals(await composed.get("/c/0"), undefined);
    await composed.delete("/c/0");
  },
);

Deno.test("ConcatParts.apply: delete removes the parts of a chunk that lacks some", async () => {
  const memory = new MemoryStore([["/c/0.header", countingBytes(1)]]);
  const composed = new ConcatParts(PARTS).apply(memory);
  await composed.delete("/c/0");
  assertEquals(await contentsOf(memory), {});
});

Deno.test("ConcatParts.apply: the composed store has only the methods that the store below allows", () => {
  const get = () => Promise.resolve(undefined);
  const keys = (store: Store) =>
    Object.keys(new ConcatParts(PARTS).apply(store)).sort();
  const reading = ["get", "getRange", "size", "stream"];
  assertEquals(keys({ get }), reading);
  assertEquals(
    keys({ get, set: () => Promise.resolve() }),
    [...reading, "set"].sort(),
  );
  assertEquals(
    keys(new MemoryStore()),
    [...reading, "delete", "group", "list", "set"].sort(),
  );
});

Deno.test("ConcatParts.apply: set does not read a stream that cannot fit, or further than the chunk can reach", async () => {
  let pulled = 0;
  let cancelled: unknown;
  const endless = () =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled++;
        controller.enqueue(new Uint8Array(1));
      },
      cancel: (reason) => void (cancelled = reason),
    }, { highWaterMark: 0 });
  const memory = new MemoryStore();
  const unsplittable = new ConcatParts([{ keySuffix: ".a" }, {
    keySuffix: ".b",
  }]);
  const first = await assertRejects(
    () => unsplittable.apply(memory).set("/c/0", endless()),
    TypeError,
    "at most one part may lack a size",
  );
  assertStrictEquals(cancelled, first);
  assertEquals(pulled, 0);
  const exact = new ConcatParts([{ keySuffix: "", size: 3 }]);
  const second = await assertRejects(
    () => exact.apply(memory).set("/c/0", endless()),
    PartSizeError,
    'Chunk "/c/0" is at least 4 bytes long, where its sized parts take exactly 3',
  );
  assertStrictEquals(cancelled, second);
  assert(pulled < 10, `${pulled} bytes were read`);
  assertEquals(await contentsOf(memory), {});
});

Deno.test("ConcatParts.apply: set and reads obey a signal over a store without signals", async () => {
  const map = new Map<string, Uint8Array>();
  const store = {
    get: (key: string) => Promise.resolve(map.get(key)),
    set: (key: string, value: Uint8Array) => {
      map.set(key, value);
      if (key === "/c/1") controller.abort(new Error("Enough"));
      return Promise.resolve();
    },
    delete: (key: string) => Promise.resolve(map.delete(key)),
  } as Store;
  const composed = new ConcatParts(PARTS).apply<Store>(store);
  const controller = new AbortController();
  const { signal } = controller;
  await composed.set!("/c/0", BEFORE, { signal });
  await assertRejects(
    () => composed.set!("/c/1", BEFORE, { signal }),
    Error,
    "Enough",
  );
  assertEquals(Array.from(map.keys()).sort(), [...WRITE_ORDER].sort());
  for (
    const start of [
      () => composed.get("/c/0", { signal }),
      () => composed.getRange("/c/0", { offset: 0, length: 1 }, { signal }),
      () => composed.size("/c/0", { signal }),
      () => composed.stream("/c/0", { signal }),
      () => composed.set!("/c/0", BEFORE, { signal }),
      () => composed.delete!("/c/0", { signal }),
    ]
  ) {
    await assertRejects(start, Error, "Enough");
  }
  assertEquals(await composed.get("/c/0"), BEFORE);
});

Deno.test("ConcatParts.apply: set refuses values that are neither bytes nor a stream", async () => {
  const memory = new MemoryStore();
  for (const wrong of [new ArrayBuffer(9), "123456789", [1, 2], undefined]) {
    await assertRejects(
      () => new ConcatParts(PARTS).apply(memory).set("/c/0", wrong as never),
      TypeError,
      "Expected a value to be a Uint8Array or a ReadableStream, found",
    );
  }
  assertEquals(await contentsOf(memory), {});
});

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
