/** Arrays whose chunks lie under other keys, also outside of the array's folder. */
import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  createArrayChunks,
  encodeShard,
  FileSystemStore,
  mapKeys,
  MemoryStore,
  MissingPartError,
  openArrayChunks,
  plainView,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { backendOf } from "../../src/stores/mod.ts";
import { registerCodecs } from "../../zarrita.ts";
import { listed, readAll } from "../stores/store_values.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { countingBytes } from "../support/bytes.ts";
import { concatParts } from "../support/metadata.ts";
import {
  layoutOf,
  numbers,
  openIn,
  row,
  shardedMetadata,
} from "../zarrita/sharded_array.ts";

registerCodecs(zarr);

const METADATA = shardedMetadata({
  chunk_key_encoding: {
    name: "suffix",
    configuration: { suffix: ".tif", base_encoding: { name: "default" } },
  },
  storage_transformers: [
    concatParts({ key_suffix: "" }, { key_suffix: ".index", size: 36 }),
  ],
});
/** Shards 0 and 1 lie outside of the array `s`, shard 2 inside under another name. */
const TABLE: Record<StoreKey, StoreKey> = {
  "/s/c/0.tif": "/raw/T32TMT_B04.tif",
  "/s/c/1.tif": "/T32TMT_B08.tif",
  "/s/c/2.tif": "/s/T32TMT_B08.tif",
};
const STORED = [
  "/T32TMT_B08.tif",
  "/raw/T32TMT_B04.tif",
  "/s/T32TMT_B08.tif",
  "/s/c/0.tif.index",
  "/s/c/1.tif.index",
  "/s/c/2.tif.index",
  "/s/zarr.json",
] as const;

/** A shard whose elements count up from a number. */
function shardFrom(first: number): Uint8Array {
  const chunks = [0, 2].map((place) => countingBytes(2, first + place));
  return encodeShard(chunks, layoutOf(METADATA));
}

async function fill(store: Store): Promise<void> {
  const chunks = await createArrayChunks(mapKeys(store, TABLE), "s", METADATA);
  for (const shard of [0, 1, 2]) {
    await chunks.set([shard], shardFrom(4 * shard + 1));
  }
}

async function elements(store: Store): Promise<number[]> {
  return Array.from((await zarr.get(await openIn(store, "s"))).data);
}

/** Registers a test in memory and on files. */
function onStores(
  name: string,
  test: (store: MemoryStore | FileSystemStore) => Promise<void>,
): void {
  Deno.test(`an array of mapped keys ${name}, in memory`, async () => {
    const store = new MemoryStore();
    await fill(store);
    await test(store);
  });
  Deno.test(`an array of mapped keys ${name}, on files`, () =>
    inTempDir(async (root) => {
      const store = new FileSystemStore(root);
      await fill(store);
      await test(store);
    }));
}

/** Reads the array in all ways. */
async function assertReadable(store: Store): Promise<void> {
  const chunks = await openArrayChunks(store, "s");
  const plain = plainView(store);
  for (const shard of [0, 1, 2]) {
    const bytes = shardFrom(4 * shard + 1);
    const suffixLength = 36;
    assertEquals(await chunks.get([shard]), bytes);
    assertEquals(await readAll(await chunks.stream([shard])), bytes);
    assertEquals(
      await chunks.getRange([shard], { suffixLength }),
      bytes.slice(-suffixLength),
    );
    assertEquals(await chunks.size([shard]), bytes.length);
    assertEquals(await plain.get(`/s/c/${shard}`), bytes);
  }
  assertEquals(await elements(store), numbers(12));
  assertEquals(await elements(plain), numbers(12));
}

onStores("is read and listed in all ways", async (store) => {
  assertEquals(await listed(store), [...STORED]);
  const mapped = mapKeys(store, TABLE);
  await assertReadable(mapped);
  const chunks = await openArrayChunks(mapped, "s");
  assertEquals((await Array.fromAsync(chunks.list())).sort(), [[0], [1], [2]]);
  assertEquals(await listed(plainView(mapped)), [
    "/s/c/0",
    "/s/c/1",
    "/s/c/2",
    "/s/zarr.json",
  ]);
});

onStores("is changed in place by zarrita", async (store) => {
  const mapped = mapKeys(store, TABLE);
  const reader = await openIn(mapKeys(store, TABLE), "s");
  assertEquals(Array.from((await zarr.get(reader)).data), numbers(12));
  const array = await openIn(mapped, "s");
  const changed = { 1: 101, 5: 105, 6: 106, 11: 111 };
  for (const [place, value] of Object.entries(changed)) {
    await zarr.set(array, [zarr.slice(+place, +place + 1)], row(value));
  }
  // The reader has cached the indexes of the earlier shards.
  assertEquals(Array.from((await zarr.get(reader)).data), numbers(12, changed));
  assertEquals(await elements(mapped), numbers(12, changed));
  assertEquals(await listed(store), [...STORED]);
});

onStores(
  "loses no change of writers that use the keys of the files",
  async (store) => {
    const direct = await createArrayChunks(store, "d", METADATA);
    await direct.set([0], shardFrom(1));
    const table = {
      "/s/c/0.tif": "/d/c/0.tif",
      "/s/c/0.tif.index": "/d/c/0.tif.index",
    };
    const open = async () => [
      await openIn(store, "d"),
      await openIn(mapKeys(store, table), "s"),
    ];
    const [first, second] = await open();
    const [, third] = await open();
    let value = 0;
    for (let round = 0; round < 8; round++) {
      // Each writes an inner chunk of its own into the shard of both.
      for (const writers of [[first, second], [second, third]]) {
        const rows = writers.map(() => row(++value, ++value));
        await Promise.all(
          writers.map((array, i) =>
            zarr.set(array!, [zarr.slice(2 * i, 2 * i + 2)], rows[i]!)
          ),
        );
        const [direct] = await open();
        const { data } = await zarr.get(direct!, [zarr.slice(4)]);
        assertEquals(Array.from(data), rows.flatMap(({ data }) => [...data]));
      }
    }
  },
);

onStores(
  "is deleted with its files, and incomplete without one",
  async (store) => {
    const chunks = await openArrayChunks(mapKeys(store, TABLE), "s");
    await chunks.delete([0]);
    await store.delete("/T32TMT_B08.tif");
    assertEquals(
      await listed(store),
      STORED.slice(2).filter((key) => key !== "/s/c/0.tif.index"),
    );
    assertEquals(await chunks.get([0]), undefined);
    await assertRejects(
      () => chunks.get([1]),
      MissingPartError,
      '"/s/c/1.tif"',
    );
  },
);

onStores("has no chunk under the key of a file", async (store) => {
  // The array would take the file for its shard 3 without the map.
  const hidden = mapKeys(store, { "/s/c/0.tif": "/s/c/2.tif" });
  await store.set("/s/c/2.tif", new Uint8Array(9));
  const index: StoreKey = "/s/c/2.tif.index";
  for (const keys of [["/s/c/2.tif"], ["/s/c/2.tif", index]] as StoreKey[][]) {
    await backendOf(hidden).read(keys, async (values) => {
      assertEquals(await values.read("/s/c/2.tif"), undefined);
      assertEquals(await values.stream("/s/c/2.tif"), undefined);
      assertEquals(await values.size("/s/c/2.tif"), undefined);
      assertEquals(values.version("/s/c/2.tif"), undefined);
      if (keys.length > 1) assertEquals(await values.size(index), 36);
    });
  }
  await assertRejects(
    async () => (await openArrayChunks(hidden, "s")).set([2], shardFrom(1)),
    RangeError,
    'Key "/s/c/2.tif" is not shown, since "/s/c/0.tif" is mapped to it',
  );
  assertEquals(await store.size("/s/c/2.tif"), 9);
});
