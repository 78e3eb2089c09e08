import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import { ChecksumError, MemoryStore, type StoreKey } from "../../mod.ts";
import { registerCodecs, withZarrParts } from "../../zarrita.ts";
import { slowCoordinates } from "../shards/slow_shard.ts";
import { listed } from "../stores/store_values.ts";
import { utf8 } from "../support/documents.ts";
import { arraysOf } from "./any_array.ts";
import { storeByHand } from "./encoded_by_hand.ts";
import { shardedStore } from "./sharded_array.ts";

registerCodecs(zarr.registry);

Deno.test("withZarrParts lists exactly the inner chunks that it can read, for each prefix", async () => {
  const cases = fc.nat(3).chain(arraysOf);
  await fc.assert(
    fc.asyncProperty(
      cases,
      fc.constantFrom("", "a", "c/0"),
      async (array, path) => {
        const stored = new MemoryStore();
        await stored.set("/beside", utf8("beside"));
        await storeByHand(stored, path, array);
        const store = withZarrParts(stored);
        const root: StoreKey = `/${path && `${path}/`}`;
        const expected: StoreKey[] = ["/beside", `${root}zarr.json`];
        const chunkShape = array.chunkShapes.at(-1)!;
        const counts = array.shape.map((length, i) =>
          Math.ceil(length / chunkShape[i]!)
        );
        for (const coordinates of slowCoordinates(counts)) {
          const key: StoreKey = `${root}${["c", ...coordinates].join("/")}`;
          const bytes = await store.get(key);
          assertEquals(await store.size(key), bytes?.length);
          if (bytes) expected.push(key);
        }
        expected.sort();
        assertEquals(await listed(store), expected);
        for (const prefix of [root, `${root}c/`, `${root}c/0`, `${root}c/1/`]) {
          assertEquals(
            await listed(store, prefix as StoreKey),
            expected.filter((key) => key.startsWith(prefix)),
          );
        }
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("withZarrParts lists no inner chunk outside of the array, and no shard outside of the grid", async () => {
  const stored = await shardedStore();
  const document = new TextDecoder().decode(await stored.get("/zarr.json"));
  const shorter = document.replace('"shape":[12]', '"shape":[5]');
  await stored.set("/zarr.json", utf8(shorter));
  const store = withZarrParts(stored);
  assertEquals(await listed(store), ["/c/0", "/c/1", "/c/2", "/zarr.json"]);
  assertEquals(await store.get("/c/3"), undefined);
  for (const change of [store.set, store.delete]) {
    await assertRejects(
      async () => await change("/c/3", new Uint8Array(2) as never),
      RangeError,
      'Key "/c/3" is outside the chunk grid of its array, whose shape is [3]',
    );
  }
});

Deno.test("withZarrParts lists all other arrays before it rejects a damaged shard", async () => {
  const stored = new MemoryStore();
  const source = await shardedStore();
  for await (const key of source.list()) {
    for (const folder of ["a", "bad", "z"]) {
      await stored.set(`/${folder}${key}`, (await source.get(key))!);
    }
  }
  await stored.set("/bad/c/1", new Uint8Array(50));
  const found: string[] = [];
  await assertRejects(async () => {
    for await (const key of withZarrParts(stored).list()) found.push(key);
  }, ChecksumError);
  for (const folder of ["a", "z"]) {
    const keys = found.filter((key) => key.startsWith(`/${folder}/`));
    assertEquals(keys.length, 7);
  }
});
