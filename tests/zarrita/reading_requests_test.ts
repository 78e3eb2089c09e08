import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  createArrayChunks,
  encodeShard,
  MemoryStore,
  type Store,
} from "../../mod.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";
import { countingBytes } from "../support/bytes.ts";
import { concatParts } from "../support/metadata.ts";
import { logged, observed } from "../support/observed_store.ts";
import {
  chunkRequests,
  layoutOf,
  numbers,
  openIn,
  row,
  shardedMetadata,
  shardedStore,
  sharding,
} from "./sharded_array.ts";

registerCodecs(zarr.registry);

Deno.test("zarr.get reads the index of each shard once, and adjacent inner chunks with one request", async () => {
  for (const location of ["start", "end"] as const) {
    const stored = await shardedStore(shardedMetadata({}, { location }));
    const { store, log } = logged(stored);
    const array = await openIn(store);
    log.length = 0;
    assertEquals([...(await zarr.get(array)).data], numbers(12));
    const expected = ["/c/0", "/c/1", "/c/2"].flatMap((key) =>
      Array(2).fill(`getRange ${key}`)
    );
    assertEquals(chunkRequests(log).sort(), expected);
    log.length = 0;
    await Promise.all([zarr.get(array, [5]), zarr.get(array, [0])]);
    assertEquals(log.sort(), ["getRange /c/0", "getRange /c/1"]);
  }
});

Deno.test("zarr.get reads an index in a sized part with one request, and requests no other part for it", async () => {
  const stored = new MemoryStore();
  const metadata = shardedMetadata({
    storage_transformers: [
      concatParts({ key_suffix: ".header", size: 4 }, { key_suffix: "" }, {
        key_suffix: ".index",
        size: 36,
      }),
    ],
  });
  await createArrayChunks(stored, "", metadata);
  const prefix = new Uint8Array(4);
  const value = row(...numbers(12));
  await setSharded(zarr, await openIn(stored), null, value, { prefix });

  const { store, log } = logged(stored);
  const array = await openIn(store);
  log.length = 0;
  assertEquals(await zarr.get(array, [0]), 1);
  const requests = chunkRequests(log);
  const indexes = requests.filter((request) => request.endsWith(".index"));
  assertEquals(indexes.length, 1, log.join());
  assert(!requests.some((it) => it === "get /c/0"), log.join());
  assert(!requests.some((it) => it.endsWith(".header")), log.join());
  assertEquals([...(await zarr.get(array)).data], numbers(12));
  const all = chunkRequests(log).filter((it) => it.endsWith(".index"));
  assertEquals(all.length, 3);
});

Deno.test("zarr.get makes one request for an absent shard each time, and none for an absent inner chunk", async () => {
  const metadata = shardedMetadata();
  const stored = await shardedStore(metadata);
  await stored.delete("/c/1");
  const chunks = [undefined, countingBytes(2, 11)];
  await stored.set("/c/2", encodeShard(chunks, layoutOf(metadata)));
  const { store, log } = logged(stored);
  const array = await openIn(store);
  const [from, to] = [zarr.slice(4, 8), zarr.slice(8, 10)];
  log.length = 0;
  for (let i = 0; i < 2; i++) {
    assertEquals([...(await zarr.get(array, [from])).data], [0, 0, 0, 0]);
    assertEquals([...(await zarr.get(array, [to])).data], [0, 0]);
  }
  assertEquals(chunkRequests(log), [
    "getRange /c/1",
    "getRange /c/2",
    "getRange /c/1",
  ]);
});

Deno.test("zarr.get of shards in shards reads each index once", async () => {
  const codecs = [
    sharding({ inner: [4], codecs: [sharding()], location: "start" }),
  ];
  const metadata = shardedMetadata({
    chunk_grid: { name: "regular", configuration: { chunk_shape: [12] } },
    codecs,
  });
  const stored = new MemoryStore();
  const chunks = await createArrayChunks(stored, "", metadata);
  const outer = layoutOf(metadata);
  const inner = layoutOf(shardedMetadata());
  const shards = [0, 4, 8].map((first) =>
    encodeShard([1, 3].map((it) => countingBytes(2, first + it)), inner)
  );
  await chunks.set([0], encodeShard(shards, outer));
  const { store, log } = logged(stored);
  const array = await openIn(store);
  log.length = 0;
  assertEquals([...(await zarr.get(array)).data], numbers(12));
  // Four indexes, and some inner chunks at once.
  const requests = chunkRequests(log);
  assert(requests.length > 4 && requests.length <= 4 + 6, requests.join());
  log.length = 0;
  await zarr.get(array);
  assertEquals(chunkRequests(log), ["getRange /c/0"]);
});

Deno.test("zarr.get that is aborted rejects at once, and another reader of the same index continues", async () => {
  const stored = await shardedStore();
  let free = () => {};
  const isFree = new Promise<void>((resolve) => free = resolve);
  let asked = () => {};
  const isAsked = new Promise<void>((resolve) => asked = resolve);
  const { store: reading } = logged(stored, ["get", "size"]);
  const store: Store = {
    ...reading,
    async getRange(key, range, options) {
      asked();
      await isFree;
      options?.signal?.throwIfAborted();
      return await stored.getRange(key, range, options);
    },
  };
  const array = await openIn(store);
  const controller = new AbortController();
  const aborted = assertRejects(() =>
    zarr.get(array, [0], { signal: controller.signal })
  );
  const other = zarr.get(array, [1]);
  await isAsked;
  const reason = new Error("Enough");
  controller.abort(reason);
  assertEquals(await aborted, reason); // The store has not answered yet.
  free();
  assertEquals(await other, 2);
});

Deno.test("withZarrParts reads an index and a document again after a failed read", async () => {
  const stored = await shardedStore();
  const lost = new Error("The store is gone");
  for (const failing of ["/zarr.json", "/c/0"]) {
    let isGone = true;
    const store = observed(stored, ({ key }) => {
      if (isGone && key === failing) throw lost;
    });
    const wrapped = withZarrParts(store);
    assertEquals(await assertRejects(() => wrapped.get("/c/0")), lost);
    isGone = false;
    assertEquals(await wrapped.get("/c/0"), new Uint8Array([1, 2]));
  }
});

Deno.test("withZarrParts reads the document of the array only once more for all chunks", async () => {
  const { store, log } = logged(await shardedStore());
  const wrapped = withZarrParts(store);
  const array = await zarr.open(wrapped, { kind: "array" });
  await zarr.get(array);
  await zarr.get(array);
  const documents = log.filter((it) => it.endsWith("/zarr.json"));
  assert(documents.length <= 2, documents.join());
});

registerCodecs(zarr.registry);
