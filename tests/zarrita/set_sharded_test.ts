import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import {
  arrayMetadata,
  crc32c,
  createArrayChunks,
  MemoryStore,
  type Store,
} from "../../mod.ts";
import {
  registerCodecs,
  setSharded,
  ThreadPool,
  withZarrParts,
} from "../../zarrita.ts";
import { logged, observed } from "../support/observed_store.ts";
import {
  chunkRequests,
  numbers,
  openIn,
  readAnew,
  row,
  shardedMetadata,
  shardedStore,
} from "./sharded_array.ts";

registerCodecs(zarr.registry);

const HEADER = new Uint8Array([9, 8, 7]);

Deno.test("setSharded stores each shard once, and reads only the index of a wholly covered shard", async () => {
  const stored = await shardedStore();
  const { store, log } = logged(stored);
  const array = await openIn(store);
  log.length = 0;
  await setSharded(zarr, array, null, row(...numbers(12)));
  const requests = (...keys: string[]) =>
    ["getRange", "set", "size"].flatMap((method) =>
      keys.map((key) => `${method} ${key}`)
    );
  assertEquals(chunkRequests(log).sort(), requests("/c/0", "/c/1", "/c/2"));

  log.length = 0;
  await setSharded(zarr, array, [zarr.slice(4, 12)], 9);
  assertEquals(chunkRequests(log).sort(), requests("/c/1", "/c/2"));

  log.length = 0;
  await setSharded(zarr, array, null, 8, { otherBytes: "replace" });
  assertEquals(chunkRequests(log).sort(), ["set /c/0", "set /c/1", "set /c/2"]);
});

Deno.test("setSharded reads and stores a partly covered shard once", async () => {
  const stored = await shardedStore();
  const { store, log } = logged(stored);
  const array = await openIn(store);
  log.length = 0;
  await setSharded(zarr, array, [zarr.slice(2, 4)], 9);
  assertEquals(chunkRequests(log), ["get /c/0", "set /c/0"]);
  assertEquals(await readAnew(stored), numbers(12, { 2: 9, 3: 9 }));
});

Deno.test("setSharded applies the given prefix and alignment to new and existing shards", async () => {
  const stored = await shardedStore(shardedMetadata(), { prefix: HEADER });
  await stored.delete("/c/2");
  const array = await openIn(stored);
  await setSharded(zarr, array, [zarr.slice(2, 10)], 5, {
    prefix: new Uint8Array([1, 2, 3, 4, 5]),
    alignment: 8,
  });
  const starts: Record<string, number[]> = {};
  for (const key of ["/c/0", "/c/1", "/c/2"] as const) {
    starts[key] = Array.from((await stored.get(key))!.subarray(0, 10));
  }
  assertEquals(starts, {
    "/c/0": [1, 2, 3, 4, 5, 0, 0, 0, 1, 2],
    "/c/1": [1, 2, 3, 4, 5, 0, 0, 0, 5, 5],
    "/c/2": [1, 2, 3, 4, 5, 0, 0, 0, 5, 5],
  });
});

Deno.test("setSharded stores with threads what it stores without, of whole and of partly covered chunks", async () => {
  using pool = new ThreadPool(2);
  const gzip = { name: "gzip", configuration: { level: 1 } };
  const transpose = { name: "transpose", configuration: { order: [1, 2, 0] } };
  for (
    const [codecs, selection] of [
      [[gzip], null],
      [[transpose, gzip], null],
      [[gzip], [zarr.slice(1, 5), zarr.slice(null), zarr.slice(3, 900)]],
      [[gzip], [null, zarr.slice(0, 500, 2), null]],
    ] as const
  ) {
    const contents: unknown[] = [];
    for (const threads of [0, pool]) {
      const store = new MemoryStore();
      const metadata = arrayMetadata({
        shape: [6, 500, 1000],
        dataType: "uint8",
        shardShape: [4, 512, 1024],
        chunkShape: [2, 128, 128],
        codecs,
        fillValue: 3,
      });
      await createArrayChunks(store, "", metadata);
      const array = await openIn(store);
      const all = Uint8Array.from(
        { length: 6 * 500 * 1000 },
        (_, i) => (7 * i + (i >> 8)) & 255,
      );
      const shape = selection === null
        ? [6, 500, 1000]
        : selection[0] === null
        ? [6, 250, 1000]
        : [4, 500, 897];
      const value = {
        data: all,
        shape,
        stride: [shape[1]! * shape[2]!, shape[2]!, 1],
      };
      await setSharded(zarr, array, selection as never, value as never, {
        threads,
      });
      const checksums: [string, number][] = [];
      for await (const key of store.list()) {
        checksums.push([key, crc32c((await store.get(key))!)]);
      }
      contents.push(checksums.sort());
    }
    assertEquals(contents[1], contents[0]);
  }
});

Deno.test("setSharded has few shards in memory at the same time, however many it writes", async () => {
  const metadata = shardedMetadata({ shape: [200] });
  const stored = await shardedStore(metadata);
  let writing = 0;
  let most = 0;
  const store: Store = {
    ...observed(stored, () => {}),
    async set(key, value) {
      most = Math.max(most, ++writing);
      await new Promise((resolve) => setTimeout(resolve));
      await stored.set(key, value);
      writing--;
    },
  };
  await setSharded(zarr, await openIn(store), null, row(...numbers(200)));
  assertEquals(most, 16);
  assertEquals(await readAnew(stored), numbers(200));
});

Deno.test("setSharded keeps the head parts of a whole shard, also where it may lose other bytes", async () => {
  for (const otherBytes of ["refuse", "replace"] as const) {
    const store = new MemoryStore();
    const metadata = arrayMetadata({
      shape: [4],
      dataType: "uint8",
      shardShape: [4],
      chunkShape: [2],
      parts: [".head:3", "", ".index"],
    });
    await createArrayChunks(store, "", metadata);
    const array = await zarr.open(withZarrParts(store), { kind: "array" });
    await setSharded(zarr, array, null, 1);
    const head = Uint8Array.of(7, 8, 9);
    await store.set("/c/0.head", head);
    await setSharded(zarr, array, null, 2, { otherBytes });
    assertEquals(await store.get("/c/0.head"), head, otherBytes);
    assertEquals((await zarr.get(array)).data, new Uint8Array(4).fill(2));
  }
});
