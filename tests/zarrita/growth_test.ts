import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  ConcatParts,
  createArrayChunks,
  encodeShard,
  MemoryStore,
  openArrayChunks,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { IndexCache } from "../../src/shards/index_cache.ts";
import { KeyLocks } from "../../src/stores/locks.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";
import { encodeJson, groupMetadata, readJson } from "../support/documents.ts";
import { withoutVersions } from "../support/without_versions.ts";
import {
  layoutOf,
  numbers,
  openIn,
  readAnew,
  row,
  shardedMetadata,
  shardedStore,
  sharding,
} from "./sharded_array.ts";

registerCodecs(zarr.registry);

/** Runs a task, and returns the maps that it constructs, with the greatest size that each had. */
async function recordedMaps(
  run: () => Promise<void>,
): Promise<{ map: Map<unknown, unknown>; most: number }[]> {
  const records: { map: Map<unknown, unknown>; most: number }[] = [];
  const original = globalThis.Map;
  class RecordedMap<K, V> extends original<K, V> {
    #record: { map: Map<unknown, unknown>; most: number } | undefined;

    constructor(entries?: Iterable<readonly [K, V]>) {
      super();
      this.#record = { map: this, most: 0 };
      records.push(this.#record);
      for (const [key, value] of entries ?? []) this.set(key, value);
    }

    override set(key: K, value: V): this {
      super.set(key, value);
      const record = this.#record;
      if (record !== undefined) record.most = Math.max(record.most, this.size);
      return this;
    }
  }
  globalThis.Map = RecordedMap as unknown as MapConstructor;
  try {
    await run();
  } finally {
    globalThis.Map = original;
  }
  return records;
}

Deno.test("KeyLocks keeps no queue of a key without tasks", async () => {
  const maps = await recordedMaps(async () => {
    const locks = new KeyLocks();
    for (let i = 0; i < 50; i++) {
      const failing = Promise.reject(new Error());
      const tasks = [
        locks.read(`/${i}`, () => Promise.resolve()),
        locks.write(`/${i}`, () => Promise.resolve()),
        locks.read(`/${i}`, () => failing),
        locks.write(`/${i}`, () => failing),
      ];
      await Promise.allSettled(tasks);
    }
  });
  assertEquals(maps.map(({ map, most }) => [map.size, most]), [[0, 1]]);
});

Deno.test("a list of chunks in parts remembers no chunk whose parts were all found", async () => {
  const parts = ["", ".a", ".b"];
  const store: Store = {
    get: () => Promise.resolve(undefined),
    async *list() {
      for (let i = 0; i < 500; i++) {
        for (const suffix of parts) yield `/c/${i}${suffix}` as StoreKey;
      }
    },
  };
  const composed = new ConcatParts(
    parts.map((keySuffix, i) => i ? { keySuffix, size: 1 } : { keySuffix }),
  ).apply(store, { isChunkKey: (key) => /^\/c\/\d+$/.test(key) });
  const maps = await recordedMaps(async () => {
    assertEquals((await Array.fromAsync(composed.list!())).length, 500);
  });
  assertEquals(maps.map(({ most }) => most).filter((most) => most > 1), []);
  assert(maps.some(({ most }) => most === 1));
});

Deno.test("withZarrParts keeps one entry of an array whose document changes again and again", async () => {
  const maps = await recordedMaps(async () => {
    const stored = new MemoryStore();
    await createArrayChunks(stored, "", shardedMetadata());
    for (let i = 0; i < 50; i++) {
      const array = await openIn(stored);
      await setSharded(zarr, array, [zarr.slice(2)], i);
      await zarr.set(array, [5], i);
      await zarr.get(array);
      const document = shardedMetadata({
        attributes: { i },
        dimension_names: [`x${i}`],
      });
      await stored.set("/zarr.json", encodeJson(document));
    }
  });
  // The store itself has four values.
  assertEquals(maps.filter(({ most }) => most > 4).length, 0);
});

Deno.test("IndexCache keeps at most 2^15 absent shards", async () => {
  const maps = await recordedMaps(async () => {
    const cache = new IndexCache();
    const load = () => Promise.resolve({ index: undefined, isLasting: true });
    for (let i = 0; i < 70_000; i++) {
      const shard = cache.enter(`/c/${i}`);
      await cache.load(shard, "", load);
      cache.leave(shard);
    }
  });
  const most = Math.max(...maps.map(({ most }) => most));
  assert(most > 1000 && most <= 2 ** 15 + 1, `${most} are kept`);
});

registerCodecs(zarr.registry);

const STORES: Record<string, (stored: MemoryStore) => Store> = {
  "a store with versions": (stored) => stored,
  "a store without versions": withoutVersions,
};

/** Replaces the first shard by one with its inner chunks elsewhere, as another program does. */
async function replaceShard(
  store: Store,
  elements: number[],
  length: number,
  path = "",
): Promise<void> {
  const chunks = await openArrayChunks(store, path);
  const inner = [elements.slice(0, 2), elements.slice(2)]
    .map((it) => Uint8Array.from(it));
  const prefix = new Uint8Array(length).fill(200);
  const layout = layoutOf(chunks.metadata);
  await chunks.set([0], encodeShard(inner, layout, { prefix }));
}

for (const [name, open] of Object.entries(STORES)) {
  Deno.test(`zarr.set and setSharded change inner chunks in their present state, in ${name}`, async () => {
    for (const way of ["set", "setSharded"] as const) {
      const stored = await shardedStore();
      const array = await openIn(open(stored));
      for (let length = 1; length < 9; length++) {
        await zarr.get(array, [zarr.slice(12)], {}); // By the old index.
        await replaceShard(stored, [20, 21, 22, length], length);
        const at = length % 4;
        if (way === "set") await zarr.set(array, [at], 99);
        else await setSharded(zarr, array, [at], 99);
        const expected = [20, 21, 22, length].with(at, 99);
        assertEquals((await readAnew(stored)).slice(0, 4), expected);
      }
    }
  });

  Deno.test(`setSharded keeps what was appended to a covered shard since the array was opened, in ${name}`, async () => {
    for (const isSameWrapper of [false, true]) {
      const stored = new MemoryStore();
      const store = open(stored);
      const metadata = shardedMetadata({ shape: [9] });
      await createArrayChunks(store, "", metadata);
      const array = await openIn(store);
      await setSharded(zarr, array, null, 1);
      await stored.set("/zarr.json", encodeJson({ ...metadata, shape: [12] }));
      const others = isSameWrapper
        ? await zarr.open(array.store, { kind: "array" })
        : await openIn(store);
      await zarr.set(others, [zarr.slice(9, 12)], 2 as never);
      await setSharded(zarr, array, null, 3);
      const expected = [...Array(9).fill(3), 2, 2, 2];
      assertEquals(await readAnew(stored), expected);
    }
  });

  Deno.test(`setSharded refuses an array that was created again with other inner chunks, in ${name}`, async () => {
    const stored = await shardedStore();
    const store = open(stored);
    const array = await openIn(store);
    const metadata = shardedMetadata({ codecs: [sharding({ inner: [1] })] });
    await stored.set("/zarr.json", encodeJson(metadata));
    const before = await stored.get("/c/0");
    await assertRejects(
      () => setSharded(zarr, array, null, 5),
      TypeError,
      "open the array again",
    );
    assertEquals(await stored.get("/c/0"), before);
  });

  Deno.test(`withZarrParts reads the present shards of an array that is opened again through any layer, in ${name}`, async () => {
    const array = await shardedStore();
    const stored = new MemoryStore();
    for await (const key of array.list()) {
      await stored.set(`/a${key}`, (await array.get(key))!);
    }
    const nodes = { a: await readJson(stored, "/a/zarr.json") };
    await stored.set("/zarr.json", encodeJson(groupMetadata(nodes)));
    const isDocument = (path: string) => path.endsWith("zarr.json");
    const wrapped = withZarrParts(open(stored));
    const layers: zarr.AsyncReadable[] = [
      wrapped,
      await zarr.withConsolidatedMetadata(wrapped, { format: "v3" }),
      zarr.withByteCaching(wrapped, {
        keyFor: (path) => isDocument(path) ? path : undefined,
      }),
      zarr.withRangeCoalescing(
        await zarr.withConsolidatedMetadata(wrapped, { format: "v3" }),
      ),
    ];
    for (const [i, layer] of layers.entries()) {
      for (let length = 1; length < 4; length++) {
        await replaceShard(stored, [i, length, 7, 8], 4 * i + length, "/a");
        const root = zarr.root(layer).resolve("a");
        const opened = await zarr.open(root, { kind: "array" });
        const { data } = await zarr.get(opened, [zarr.slice(4)]);
        assertEquals(Array.from(data as Uint8Array), [i, length, 7, 8]);
      }
    }
    // The document may have changed as well, and with it the layer.
    const keys = { name: "suffix", configuration: { suffix: ".tiff" } };
    const document = { ...nodes.a, chunk_key_encoding: keys };
    await stored.set("/a/zarr.json", encodeJson(document));
    await stored.set("/a/c/0.tiff", (await array.get("/c/0"))!);
    const anew = await zarr.withConsolidatedMetadata(wrapped, { format: "v3" });
    for (const layer of [anew, layers[1]!]) {
      const opened = await zarr.open(zarr.root(layer).resolve("a"), {
        kind: "array",
      });
      const { data } = await zarr.get(opened, [zarr.slice(4)]);
      assertEquals(Array.from(data as Uint8Array), numbers(4));
    }
  });
}

Deno.test("withZarrParts forgets the index of a shard also if the store fails after it has changed the shard", async () => {
  for (const way of ["set", "setSharded"] as const) {
    const stored = await shardedStore();
    let fails = false;
    const array = await openIn({
      ...withoutVersions(stored),
      async set(key, value) {
        await stored.set(key, value);
        if (fails) throw new Error("No answer");
      },
    });
    assertEquals(Array.from((await zarr.get(array)).data), numbers(12));
    fails = true;
    await assertRejects(
      () =>
        way === "set"
          ? zarr.set(array, [zarr.slice(0, 2)], 50)
          : setSharded(zarr, array, [zarr.slice(0, 2)], row(50, 50), {
            prefix: new Uint8Array(5),
          }),
      Error,
      "No answer",
    );
    const { data } = await zarr.get(array);
    assertEquals(Array.from(data), numbers(12, { 0: 50, 1: 50 }));
  }
});
