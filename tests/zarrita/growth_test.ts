import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import { createArrayChunks, MemoryStore } from "../../mod.ts";
import { registerCodecs, setSharded } from "../../zarrita.ts";
import { encodeJson } from "../support/documents.ts";
import { withoutVersions } from "../support/without_versions.ts";
import {
  numbers,
  openIn,
  row,
  shardedMetadata,
  shardedStore,
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

registerCodecs(zarr.registry);

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
