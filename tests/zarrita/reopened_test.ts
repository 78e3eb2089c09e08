import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { createArrayChunks, MemoryStore } from "../../mod.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";
import { encodeJson, groupMetadata } from "../support/documents.ts";
import { arrayMetadata } from "../support/metadata.ts";
import { withoutVersions } from "../support/without_versions.ts";
import { openIn, row, shardedMetadata, sharding } from "./sharded_array.ts";

registerCodecs(zarr.registry);

const EIGHT = [1, 2, 3, 4, 5, 6, 7, 8];

async function elements(store: zarr.AsyncReadable): Promise<number[]> {
  const array = await zarr.open(store, { kind: "array" });
  return Array.from((await zarr.get(array)).data as Uint8Array);
}

/** An array of one dimension that is changed in a store after a wrapper has read it. */
async function changedBehind(
  before: Record<string, unknown>,
  after: Record<string, unknown>,
): Promise<number[]> {
  const stored = new MemoryStore();
  const store = withZarrParts(stored);
  for (const changes of [before, after]) {
    for await (const key of stored.list()) await stored.delete(key);
    const metadata = arrayMetadata({
      shape: [8],
      chunk_grid: { name: "regular", configuration: { chunk_shape: [4] } },
      ...changes,
    });
    await createArrayChunks(stored, "", metadata);
    const array = await openIn(stored);
    const values = row(...EIGHT.slice(0, metadata.shape[0]));
    await (JSON.stringify(changes).includes("sharding")
      ? setSharded(zarr, array, null, values)
      : zarr.set(array, null, values));
    if (changes === before) await elements(store);
  }
  return await elements(store);
}

Deno.test("withZarrParts reads the present document of an array that is opened again", async () => {
  const suffix = (suffix: string) => ({
    chunk_key_encoding: { name: "suffix", configuration: { suffix } },
  });
  const shards = { codecs: [sharding()] };
  const ways = [
    {},
    suffix(".a"),
    suffix(".b"),
    shards,
    { ...shards, ...suffix(".a") },
    { codecs: [sharding({ inner: [1] })] },
    { codecs: [sharding({ location: "start" })] },
    { shape: [6] },
  ];
  for (const before of ways) {
    for (const after of ways) {
      const length = (after as { shape?: number[] }).shape?.[0] ?? 8;
      assertEquals(
        await changedBehind(before, after),
        EIGHT.slice(0, length),
        JSON.stringify([before, after]),
      );
    }
  }
});

Deno.test("withZarrParts reads the present shards of an array that is opened again, also from a store without versions", async () => {
  for (const isVersioned of [true, false]) {
    const stored = new MemoryStore();
    await createArrayChunks(stored, "", shardedMetadata());
    const store = withZarrParts(isVersioned ? stored : withoutVersions(stored));
    assertEquals(await elements(store), new Array(12).fill(0));
    const others = await openIn(stored);
    await setSharded(zarr, others, [zarr.slice(2, 4)], row(3, 4));
    assertEquals((await elements(store)).slice(0, 4), [0, 0, 3, 4]);
    await setSharded(zarr, others, [zarr.slice(0, 2)], row(1, 2));
    assertEquals((await elements(store)).slice(0, 4), [1, 2, 3, 4]);
  }
});

Deno.test("withZarrParts forgets an array that was replaced by a group or deleted", async () => {
  const stored = new MemoryStore();
  const store = withZarrParts(stored);
  for (const document of [encodeJson(groupMetadata()), undefined]) {
    await createArrayChunks(stored, "", shardedMetadata());
    await elements(store);
    await stored.delete("/zarr.json");
    if (document) await stored.set("/zarr.json", document);
    await store.get("/zarr.json");
    await stored.set("/c/0", Uint8Array.of(7));
    assertEquals(await store.get("/c/0"), Uint8Array.of(7));
    await stored.delete("/zarr.json");
    await stored.delete("/c/0");
  }
});
