import {
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import type { Store, StoreKey } from "../../mod.ts";
import {
  readRange,
  readSize,
  readStream,
  write,
} from "../../src/stores/capabilities.ts";
import { MemoryStore } from "../../src/stores/memory_store.ts";
import { countingBytes } from "../support/bytes.ts";
import { logged } from "../support/observed_store.ts";
import { testStore } from "./conformance.ts";
import { readAll, streamOf } from "./store_values.ts";

const KEY = "/c/0/1";
const ABSENT = "/c/0/2";
const BYTES = countingBytes(9);

/** A store with some methods of a {@linkcode MemoryStore} of one value, and its log. */
function having(...methods: (keyof Store)[]): {
  behind: MemoryStore;
  store: Store;
  log: string[];
} {
  const behind = new MemoryStore([[KEY, BYTES]]);
  return { behind, ...logged(behind, methods) };
}

/** A Map at runtime, as zarrita takes it for a store: its methods give no promises. */
function mapStore(entries: [StoreKey, Uint8Array][] = []): Store {
  return new Map(entries) as unknown as Store;
}

/** A store with only the methods of zarrita's stores, through this package. */
function completed(store: Store): Store {
  return {
    get: async (key, options) => await store.get(key, options),
    getRange: (key, range, options) => readRange(store, key, range, options),
    stream: (key, options) => readStream(store, key, options),
    size: (key, options) => readSize(store, key, options),
    set: (key, value, options) => write(store, key, value, options),
    delete: async (key, options) => await store.delete!(key, options),
    list: (prefix, options) => store.list!(prefix, options),
  };
}

testStore("A store of get, set, delete and list by its capabilities", () => {
  const behind = new MemoryStore();
  const { store } = logged(behind, ["get", "set", "delete", "list"]);
  return Promise.resolve({
    store: completed(store),
    fill: (key, bytes) => behind.set(key, bytes),
  });
});

Deno.test("capabilities call the methods that the store has", async () => {
  const { store, log } = having(
    "get",
    "getRange",
    "stream",
    "size",
    "set",
  );
  const range = { offset: 1, length: 2 };
  assertEquals(await readRange(store, KEY, range), BYTES.slice(1, 3));
  assertEquals(await readAll(await readStream(store, KEY)), BYTES);
  assertEquals(await readSize(store, KEY), 9);
  await write(store, KEY, streamOf(BYTES, BYTES));
  assertEquals(
    log,
    ["getRange", "stream", "size", "set"].map(
      (method) => `${method} ${KEY}`,
    ),
  );
});

Deno.test("capabilities fall back to get", async () => {
  const { store, log } = having("get");
  const range = { offset: 1, length: 2 };
  assertEquals(await readRange(store, KEY, range), BYTES.slice(1, 3));
  assertEquals(await readRange(store, ABSENT, range), undefined);
  assertEquals(await readAll(await readStream(store, KEY)), BYTES);
  assertEquals(await readStream(store, ABSENT), undefined);
  assertEquals(await readSize(store, KEY), 9);
  assertEquals(await readSize(store, ABSENT), undefined);
  assertEquals(log.every((line) => line.startsWith("get ")), true);
});

Deno.test("readRange rejects an invalid range before reading", async () => {
  for (const methods of [["get"], ["get", "getRange"]] as const) {
    const { store, log } = having(...methods);
    for (const key of [KEY, ABSENT] as const) {
      await assertRejects(
        () => readRange(store, key, { suffixLength: -1 }),
        RangeError,
        "Expected the range's suffixLength to be a whole number",
      );
    }
    assertEquals(log, []);
  }
});

Deno.test("capabilities pass the signal on, and streams stop when it aborts", async () => {
  const reason = new Error("enough");
  const signal = AbortSignal.abort(reason);
  const { store } = having("get", "set");
  for (
    const use of [
      () => readRange(store, KEY, { suffixLength: 1 }, { signal }),
      () => readStream(store, KEY, { signal }),
      () => readSize(store, KEY, { signal }),
      () => write(store, KEY, BYTES, { signal }),
      () => write(store, KEY, streamOf(BYTES), { signal }),
    ]
  ) assertStrictEquals(await assertRejects(use), reason);
  const controller = new AbortController();
  const stream = await readStream(store, KEY, { signal: controller.signal });
  controller.abort(reason);
  assertStrictEquals(await assertRejects(() => readAll(stream)), reason);
});

Deno.test("write reads a stream into memory for a store without stream", async () => {
  const values: unknown[] = [];
  const store: Store = {
    get: () => Promise.resolve(undefined),
    set(_, value) {
      values.push(value);
      return Promise.resolve();
    },
  };
  await write(store, KEY, streamOf(BYTES.slice(0, 4), BYTES.slice(4)));
  await write(store, KEY, streamOf());
  await write(store, KEY, BYTES);
  assertEquals(values.slice(0, 2), [BYTES, new Uint8Array()]);
  assertStrictEquals(values[2], BYTES);
});

Deno.test("write to a read-only store throws a TypeError and cancels the stream", async () => {
  const { store } = having("get", "stream");
  let cancelled: unknown;
  const stream = new ReadableStream<Uint8Array>({
    cancel(reason) {
      cancelled = reason;
    },
  });
  for (const value of [BYTES, stream]) {
    const error = await assertRejects(
      () => write(store, KEY, value),
      TypeError,
      'Cannot write key "/c/0/1" to a store object: the store is read-only, it has no "set" method; FileSystemStore and S3Store can write',
    );
    if (value === stream) assertStrictEquals(cancelled, error);
  }
});

Deno.test("capabilities accept a Map, whose size is not a method", async () => {
  const store = mapStore([[KEY, BYTES]]);
  const range = { offset: 7, length: 9 };
  assertEquals(await readRange(store, KEY, range), BYTES.slice(7));
  assertEquals(await readSize(store, KEY), 9);
  assertEquals(await readSize(store, ABSENT), undefined);
  const stream = await readStream(store, KEY);
  assertInstanceOf(stream, ReadableStream);
  assertEquals(await readAll(stream), BYTES);
  await write(store, KEY, streamOf(BYTES, BYTES));
  await write(store, ABSENT, BYTES);
  assertEquals(await readSize(store, KEY), 18);
});

Deno.test("readRange of zero bytes only checks that the value exists", async () => {
  const { store, behind } = having("get", "size");
  const careless: Store = { ...store, getRange: (key) => behind.get(key) };
  for (const range of [{ offset: 3, length: 0 }, { suffixLength: 0 }]) {
    assertEquals(await readRange(careless, KEY, range), new Uint8Array());
    assertEquals(await readRange(careless, ABSENT, range), undefined);
  }
});
