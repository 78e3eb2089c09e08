import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  ConcatParts,
  createArrayChunks,
  MemoryStore,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { IndexCache } from "../../src/shards/index_cache.ts";
import { KeyLocks } from "../../src/stores/locks.ts";
import { registerCodecs, setSharded } from "../../zarrita.ts";
import { encodeJson } from "../support/documents.ts";
import { openIn, shardedMetadata } from "./sharded_array.ts";

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
