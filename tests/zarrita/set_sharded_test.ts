import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import { MemoryStore, type Store } from "../../mod.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";
import { encodeJson } from "../support/documents.ts";
import { arrayMetadata } from "../support/metadata.ts";
import { logged, observed } from "../support/observed_store.ts";
import {
  chunkRequests,
  numbers,
  openIn,
  readAnew,
  row,
  shardedMetadata,
  shardedStore,
  sharding,
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

Deno.test("setSharded describes why it cannot write an array", async () => {
  const stored = await shardedStore();
  const nested = [sharding({ inner: [2], codecs: [sharding({ inner: [1] })] })];
  await stored.set(
    "/n/zarr.json",
    encodeJson(shardedMetadata({ codecs: nested })),
  );
  const plain = arrayMetadata({
    shape: [4],
    chunk_grid: {
      name: "regular",
      configuration: { chunk_shape: [4] },
    },
  });
  await stored.set("/p/zarr.json", encodeJson(plain));
  await stored.set(
    "/s/zarr.json",
    encodeJson({ ...plain, chunk_key_encoding: "v2" }),
  );
  const before = await Array.fromAsync(stored.list());

  for (const path of ["p", "s"]) {
    for (const option of ["prefix", "container", "alignment", "otherBytes"]) {
      await assertRejects(
        async () =>
          setSharded(zarr, await openIn(stored, path), null, 1, {
            [option]: 1,
          } as never),
        TypeError,
        `"${option}" for the array at "/${path}", which has no shards`,
      );
    }
  }
  await assertRejects(
    async () => setSharded(zarr, await openIn(stored, "n"), null, 1),
    TypeError,
    "made of shards",
  );
  const foreign = await zarr.open(stored, { kind: "array" });
  await assertRejects(
    () => setSharded(zarr, foreign, null, 1 as never),
    TypeError,
    "withZarrParts(store)",
  );
  const { store: readOnly } = logged(stored, ["get", "getRange", "size"]);
  await assertRejects(
    async () => setSharded(zarr, await openIn(readOnly), null, 1),
    TypeError,
    "read-only",
  );
  assertEquals(await Array.fromAsync(stored.list()), before);
});

Deno.test("setSharded accepts an array from zarr.create, or advises to open it", async () => {
  const stored = new MemoryStore();
  const store = withZarrParts(stored);
  const created = await zarr.create(store, {
    shape: [12],
    chunkShape: [4],
    dtype: "uint8",
    fillValue: 0,
    codecs: [sharding()] as never,
  });
  const outcome = await setSharded(zarr, created, null, row(...numbers(12)))
    .then(() => "written", (error: unknown) => error instanceof TypeError);
  assertEquals(outcome === "written" || outcome === true, true);
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
