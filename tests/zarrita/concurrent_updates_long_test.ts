/** Elements of one chunk that are changed at the same time, or one after another. */
import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  type ArrayMetadata,
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  type Store,
} from "../../mod.ts";
import { S3Store } from "../../s3.ts";
import {
  registerCodecs,
  setSharded,
  withZarrParts,
  type ZarritaStore,
} from "../../zarrita.ts";
import { SimulatedBucket } from "../stores/s3/simulated_bucket.ts";
import { encodeJson } from "../support/documents.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";
import { observed } from "../support/observed_store.ts";
import { row, sharding } from "./sharded_array.ts";

registerCodecs(zarr.registry);

const COUNT = 24;

/** Documents of arrays with one chunk, or with one shard of one inner chunk. */
const ARRAYS: Record<string, Record<string, unknown>> = {
  "a chunk": { codecs: ["bytes"] },
  "a compressed chunk": { codecs: ["bytes", "zstd"] },
  "a chunk in parts": {
    codecs: ["bytes", "gzip", "crc32c"],
    storage_transformers: [
      concatParts({ key_suffix: "" }, { key_suffix: ".crc32c", size: 4 }),
    ],
  },
  "a shard": { codecs: [sharding({ inner: [COUNT] })] },
  "a shard in parts": {
    codecs: [sharding({ inner: [COUNT], codecs: ["bytes", "zstd"] })],
    storage_transformers: [
      concatParts({ key_suffix: "" }, { key_suffix: ".index", size: 20 }),
    ],
  },
};

/** Gives two objects through which a test writes, and removes what it has written. */
type Stores = (
  test: (first: Store, second: Store) => Promise<void>,
) => Promise<void>;

const STORES: Record<string, Stores> = {
  async "MemoryStore"(test) {
    const store = new MemoryStore();
    await test(store, store);
  },
  async "a Map"(test) {
    const store = new Map() as unknown as Store;
    await test(store, store);
  },
  async "two of S3Store"(test) {
    const bucket = new SimulatedBucket();
    const open = () =>
      new S3Store("s3://bucket", {
        endpoint: "https://s3.test",
        fetch: async (request) => bucket.answer(request, await request.bytes()),
      });
    await test(open(), open());
  },
  async "two of FileSystemStore"(test) {
    const root = await Deno.makeTempDir();
    try {
      await test(new FileSystemStore(root), new FileSystemStore(root));
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
};

function documentOf(array: string): ArrayMetadata {
  return arrayMetadata({
    shape: [COUNT],
    chunk_grid: { name: "regular", configuration: { chunk_shape: [COUNT] } },
    ...ARRAYS[array],
  });
}

/** Creates the array in a store that may be a `Map`. */
async function create(store: Store, array: string): Promise<void> {
  const bytes = encodeJson(documentOf(array));
  await store.set!("/zarr.json", bytes);
}

// deno-lint-ignore no-explicit-any -- arrays of zarrita have the type of their elements
async function open(store: ZarritaStore): Promise<any> {
  return await zarr.open(withZarrParts(store), { kind: "array" });
}

async function elements(store: Store): Promise<number[]> {
  const { data } = await zarr.get(await open(store)) as { data: unknown };
  return Array.from(data as Uint8Array);
}

const EXPECTED = Array.from({ length: COUNT }, (_, i) => i + 1);

for (const [place, stores] of Object.entries(STORES)) {
  for (const array of Object.keys(ARRAYS)) {
    Deno.test(`setSharded loses no update of an element: ${array} in ${place}`, async () => {
      for (const isAbsent of [true, false]) {
        await stores(async (first, second) => {
          await create(first, array);
          const arrays = [await open(first), await open(second)];
          if (!isAbsent) await zarr.set(arrays[0], null, 0);
          await Promise.all(
            EXPECTED.map((value, i) =>
              setSharded(zarr, arrays[i % 2], [i], value)
            ),
          );
          assertEquals(await elements(first), EXPECTED);
        });
      }
    });
  }

  Deno.test(`zarr.set and setSharded lose no inner chunk of a shard: ${place}`, async () => {
    for (const parts of [[""], ["", ".index"]]) {
      await stores(async (first, second) => {
        const document = arrayMetadata({
          shape: [COUNT],
          chunk_grid: {
            name: "regular",
            configuration: { chunk_shape: [COUNT] },
          },
          codecs: [sharding({ inner: [2] })],
          storage_transformers: [
            concatParts(
              ...parts.map((key_suffix) =>
                key_suffix === ""
                  ? { key_suffix }
                  : { key_suffix, size: 8 * COUNT + 4 }
              ),
            ),
          ],
        });
        await first.set!("/zarr.json", encodeJson(document));
        const arrays = [await open(first), await open(second)];
        await Promise.all(
          Array.from({ length: COUNT / 2 }, (_, i) => {
            const chunk = [zarr.slice(2 * i, 2 * i + 2)];
            const value = row(...EXPECTED.slice(2 * i, 2 * i + 2));
            return i % 3 === 0
              ? setSharded(zarr, arrays[i % 2], chunk, value)
              : zarr.set(arrays[i % 2], chunk, value);
          }),
        );
        assertEquals(await elements(first), EXPECTED);
      });
    }
  });

  Deno.test(`zarr.set changes parts of chunks one after another: ${place}`, async () => {
    for (const array of Object.keys(ARRAYS)) {
      await stores(async (first, second) => {
        await create(first, array);
        const arrays = [await open(first), await open(second)];
        for (const [i, value] of EXPECTED.entries()) {
          await zarr.set(arrays[i % 5 > 2 ? 1 : 0], [i], value);
        }
        assertEquals(await elements(second), EXPECTED);
      });
    }
  });
}

Deno.test("a set that the store refuses is no set, and can be repeated", async () => {
  for (const array of Object.keys(ARRAYS)) {
    const stored = new MemoryStore();
    await createArrayChunks(stored, "", documentOf(array));
    const lost = new Error("Lost");
    let isBroken = false;
    const store = observed(stored, ({ method }) => {
      if (isBroken && method === "set") throw lost;
    });
    const one = await open(store);
    await zarr.set(one, [0], 1);
    isBroken = true;
    assertEquals(await assertRejects(() => zarr.set(one, [1], 2)), lost);
    isBroken = false;
    await zarr.set(one, [2], 3);
    assertEquals((await elements(stored)).slice(0, 3), [1, 0, 3]);
  }
});
