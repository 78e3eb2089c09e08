/** Stores of other packages, as backends. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { FetchStore, FileSystemStore } from "@zarrita/storage";
import fc from "fast-check";
import {
  type Backend,
  type ByteRange,
  MemoryStore,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { backendOf } from "../../src/stores/foreign_store.ts";
import { countingBytes } from "../support/bytes.ts";
import { logged, observed } from "../support/observed_store.ts";
import { testAdapter } from "./conformance.ts";
import { serve, storeHandler } from "./loopback.ts";
import { sliced } from "./sliced.ts";
import { inTempDir } from "./temp_dir.ts";
import { runs } from "../support/runs.ts";

const KEY = "/c/0";
const OTHER = "/c/0.index";
const BYTES = countingBytes(100);
const KEYS: StoreKey[] = [KEY, OTHER];

type Reader = Parameters<Backend["read"]>[1];
const reading = <T>(
  backend: Backend,
  task: (values: Parameters<Reader>[0]) => Promise<T>,
) => backend.read([KEY], task);

/** Keeps values in a `MemoryStore` behind the store. */
function inMemory(adapt: (memory: MemoryStore) => Store) {
  const memory = new MemoryStore();
  return Promise.resolve({
    store: adapt(memory),
    fill: (key: StoreKey, bytes: Uint8Array) => memory.set(key, bytes),
  });
}

testAdapter("a Map", () => {
  const map = new Map<StoreKey, Uint8Array>();
  return Promise.resolve({
    store: map as unknown as Store,
    fill: (key, bytes) => Promise.resolve(void map.set(key, bytes)),
  });
});
testAdapter(
  "a store of get alone",
  () => inMemory((memory) => logged(memory, ["get"]).store),
);
testAdapter(
  "a store of all methods",
  () => inMemory((memory) => observed(memory, () => {})),
);
testAdapter("zarrita's FileSystemStore", async () => {
  const root = await Deno.makeTempDir();
  const store: Store = new FileSystemStore(root);
  return {
    store,
    fill: (key, bytes) => store.set!(key, bytes),
    close: () => Deno.remove(root, { recursive: true }),
  };
});
testAdapter("zarrita's FetchStore", () => {
  const memory = new MemoryStore();
  const { url, close } = serve(storeHandler(memory));
  return Promise.resolve({
    store: new FetchStore(url) as Store,
    fill: (key, bytes) => memory.set(key, bytes),
    close,
  });
});

testAdapter(
  "a store whose next answer is in the same memory",
  () =>
    inMemory((values) => {
      const memory = new Uint8Array(2 ** 20);
      const lend = (bytes: Uint8Array | undefined) => {
        if (bytes === undefined) return undefined;
        memory.fill(255).set(bytes);
        return memory.subarray(0, bytes.length);
      };
      return {
        get: async (key) => lend(await values.get(key)),
        getRange: async (key, range) => lend(await values.getRange(key, range)),
      };
    }),
);

Deno.test("backendOf of zarrita's FileSystemStore gives the bytes of any range of zeros and other bytes", async () => {
  await inTempDir(async (root) => {
    const store: Store = new FileSystemStore(root);
    const size = fc.nat({ max: 200 });
    const stretches = fc.array(fc.tuple(size, fc.nat({ max: 1 })), {
      maxLength: 4,
    });
    const ranges = fc.array(
      fc.oneof(
        fc.record({ offset: size, length: size }),
        fc.record({ suffixLength: size }),
        fc.constant({ offset: 2 ** 40, length: 9 }),
        fc.constant({ offset: Number.MAX_SAFE_INTEGER, length: 3 }),
      ),
      { minLength: 1, maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(stretches, ranges, async (stretches, ranges) => {
        const value = new Uint8Array(
          stretches.flatMap(([count, byte]) => Array(count).fill(byte)),
        );
        await store.set!(KEY, value);
        // Another adapter each time, which has learnt nothing.
        const backend = backendOf({
          get: (key) => store.get(key),
          getRange: (key, range) => store.getRange!(key, range),
        });
        for (const range of ranges) {
          const found = await reading(
            backend,
            (values) => values.read(KEY, range),
          );
          assertEquals(new Uint8Array(found!), sliced(value, range));
        }
      }),
      { numRuns: runs(300) },
    );
  });
});

Deno.test("backendOf asks zarrita's FileSystemStore for little more than is read", async () => {
  await inTempDir(async (root) => {
    const files: Store = new FileSystemStore(root);
    // Four chunks that end with zeros, and an index.
    const chunk = new Uint8Array(3000).fill(1, 0, 2990);
    const index = new Uint8Array(68).fill(2);
    const shard = new Uint8Array(4 * 3000 + 68);
    for (let i = 0; i < 4; i++) shard.set(chunk, i * 3000);
    shard.set(index, 12_000);
    for (const length of [shard.length, 10_000]) {
      await files.set!(KEY, shard.slice(0, length));
      let whole = 0;
      const asked: ByteRange[] = [];
      const backend = backendOf({
        get(key) {
          whole++;
          return files.get(key);
        },
        getRange(key, range) {
          asked.push(range);
          return files.getRange!(key, range);
        },
      });
      await reading(backend, async (values) => {
        await values.read(KEY, { suffixLength: 68 });
        for (let i = 0; i < 4; i++) {
          const range = { offset: i * 3000, length: 3000 };
          const found = await values.read(KEY, range);
          const stored = shard.slice(0, length);
          assertEquals(new Uint8Array(found!), sliced(stored, range));
        }
      });
      const isCut = length < shard.length;
      assert(asked.length <= (isCut ? 8 : 6), JSON.stringify(asked));
      assertEquals(whole, isCut ? 1 : 0);
      const end = Math.max(
        ...asked.map((range) => "offset" in range ? range.offset : 0),
      );
      assert(end < shard.length);
    }
  });
});

Deno.test({
  name: "backendOf passes on errors of ranges other than those past the end",
  sanitizeResources: false, // zarrita's FetchStore leaves bodies of errors unread.
  async fn() {
    let isBroken = false;
    const handler = storeHandler(new MemoryStore([[KEY, BYTES]]));
    const { url, close } = serve((request) =>
      isBroken ? new Response(null, { status: 500 }) : handler(request)
    );
    const backend = backendOf(new FetchStore(url) as Store);
    const read = (range: ByteRange) =>
      reading(backend, (values) => values.read(KEY, range));
    for (const offset of [99, 100, 1000]) {
      const bytes = await read({ offset, length: 5 });
      assertEquals(new Uint8Array(bytes!), BYTES.slice(offset));
    }
    isBroken = true;
    await assertRejects(() => read({ offset: 1, length: 5 }), Error, "500");
    await close();
    const greedy = backendOf({
      get: () => Promise.resolve(BYTES),
      getRange: () => Promise.resolve(BYTES),
      size: () => Promise.resolve(100),
    });
    await assertRejects(
      () => reading(greedy, (values) => values.read(KEY, { suffixLength: 9 })),
      Error,
      'Expected at most 9 bytes of "/c/0" from the store, found 100',
    );
  },
});

Deno.test("backendOf puts the earlier values back if a store fails half-way", async () => {
  for (const failing of [1, 2]) {
    for (const first of [undefined, Uint8Array.of(1)]) {
      const memory = new MemoryStore(first && [[KEY, first]]);
      const failure = new Error("The disk is full");
      let calls = 0;
      const backend = backendOf({
        get: (key) => memory.get(key),
        delete: (key) => memory.delete(key),
        async set(key, value) {
          await memory.set(key, value); // It may have changed the value and fail.
          if (++calls === failing) throw failure;
        },
      });
      const pending = await backend.prepare!(KEYS);
      for (const key of KEYS) await pending.set(key, Uint8Array.of(2));
      assertEquals(await assertRejects(() => pending.commit()), failure);
      assertEquals(await memory.get(KEY), first);
      assertEquals(await memory.get(OTHER), undefined);
    }
  }
});

Deno.test("backendOf says that values may be mixed if they cannot be put back", async () => {
  const memory = new MemoryStore([[KEY, BYTES]]);
  let calls = 0;
  const backend = backendOf({
    get: (key) => memory.get(key),
    async set(key, value) {
      if (++calls > 1) throw new Error("The disk is full");
      await memory.set(key, value);
    },
  });
  const pending = await backend.prepare!(KEYS);
  for (const key of KEYS) await pending.set(key, Uint8Array.of(2));
  const error = await assertRejects(() => pending.commit(), AggregateError);
  assertEquals((error as AggregateError).errors.length, 2);
  assertEquals(backend.remove, undefined);
});
