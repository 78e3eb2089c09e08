import { assert, assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import type { MemoryStore, Store, StoreKey } from "../../mod.ts";
import { LEAST_BYTES } from "../../src/zarrita/get_sharded.ts";
import { getSharded } from "../../zarrita.ts";
import { countedPool, withPool } from "../threads/counted_pool.ts";
import {
  assertSameRead,
  named,
  openArray,
  storeArray,
  type Stored,
} from "./threaded_array.ts";

LEAST_BYTES.toStart = 0;
LEAST_BYTES.toUse = 0;

const BYTES = named("bytes", { endian: "little" });
const GZIP = named("gzip", { level: 1 });

/** A store that returns its own memory, and views of it, with the methods of zarrita's stores. */
function ownMemoryStore(
  values: ReadonlyMap<string, Uint8Array>,
  hasRanges: boolean,
): object {
  return {
    get: (key: string) => Promise.resolve(values.get(key)),
    ...hasRanges && {
      getRange: (
        key: string,
        range: { suffixLength: number } | { offset: number; length: number },
      ) => {
        const value = values.get(key);
        return Promise.resolve(
          "suffixLength" in range
            ? value?.subarray(-range.suffixLength)
            : value?.subarray(range.offset, range.offset + range.length),
        );
      },
    },
  };
}

Deno.test("getSharded neither changes nor takes memory that belongs to the store", async () => {
  const codecs = {
    gzip: [BYTES, GZIP],
    swapped: [named("bytes", { endian: "big" })],
    "swapped and crc32c": [
      named("bytes", { endian: "big" }),
      named("crc32c"),
    ],
    delta: [named("imagecodecs_delta"), BYTES, GZIP],
    shuffle: [BYTES, named("numcodecs.shuffle", { elementsize: 2 })],
  };
  for (const used of Object.values(codecs)) {
    for (const chunkShapes of [[[8, 8], [4, 4]], [[4, 4]]]) {
      const shape = [16, 16];
      const dataType = "uint16";
      const memory = await storeArray({
        shape,
        dataType,
        chunkShapes,
        codecs: used,
      });
      const values = new Map<string, Uint8Array>();
      for await (const key of memory.list()) {
        values.set(key, (await memory.get(key))!);
      }
      const before = new Map([...values].map(([key, v]) => [key, v.slice()]));
      const stores = [
        values,
        ownMemoryStore(values, true),
        ownMemoryStore(values, false),
      ];
      await withPool(
        countedPool({ threads: 2 }),
        async ({ threads, counts }) => {
          for (const store of stores) {
            for (const shared of [true, false]) {
              const array = await openArray(store);
              const read = await getSharded(zarr, array as never, null, {
                threads,
                shared,
              });
              assertEquals(values, before);
              for (const { buffer } of values.values()) {
                assert(!(buffer as ArrayBuffer).detached);
              }
              assertSameRead(read, await zarr.get(array as never));
            }
          }
          assert(counts.jobs === 6 * 16);
          assertEquals(counts.failures, []);
        },
      );
    }
  }
});

const SMALL: Stored = {
  shape: [64, 8],
  dataType: "int32",
  chunkShapes: [[8, 8], [2, 4]],
  codecs: [BYTES, GZIP],
};
const SMALL_CHUNKS = 64;

Deno.test("getSharded tells each chunk of the selection once, absent ones too", async () => {
  await withPool(countedPool({ threads: 2 }), async ({ threads }) => {
    let count = 0;
    const store = await storeArray(SMALL, { isAbsent: () => ++count % 3 > 0 });
    const array = await openArray(store);
    const selections: [unknown, number][] = [
      [null, SMALL_CHUNKS],
      [[zarr.slice(1, 4), null], 4],
      [[zarr.slice(0, 64, 8), 3], 8],
      [[zarr.slice(0, 64, 3), zarr.slice(3, 5)], 44],
      [[5, 5], 1],
      [[zarr.slice(5, 5), null], 0],
    ];
    for (const [selection, total] of selections) {
      for (const option of [threads, 0]) {
        for (const memory of [undefined, 0]) {
          const steps: unknown[] = [];
          await getSharded(zarr, array as never, selection as never, {
            threads: option,
            memory,
            onProgress: (step) => steps.push(step),
          });
          assertEquals(
            steps,
            Array.from({ length: total }, (_, i) => ({ done: i + 1, total })),
          );
        }
      }
    }
  });
});

/** Counts the chunks that were requested from a store, and not decoded yet. */
function counting(store: MemoryStore): { requests: Set<string>; store: Store } {
  const requests = new Set<string>();
  const { get } = store;
  return {
    requests,
    store: {
      get(key: StoreKey, options: never) {
        if (key.startsWith("/c")) requests.add(key);
        return get.call(store, key, options);
      },
    } as unknown as Store,
  };
}

Deno.test("getSharded has no more chunks in memory than its option says", async () => {
  const chunkBytes = 4 * 8;
  const stored = { ...SMALL, chunkShapes: [[2, 4]] };
  for (const shared of [true, false]) {
    for (const threads of [1, 2]) {
      for (const chunks of [0, 1, 5, 16, 10_000]) {
        await withPool(countedPool({ threads }), async (pool) => {
          const { requests, store } = counting(await storeArray(stored));
          const array = await openArray(store);
          let most = 0;
          await getSharded(zarr, array as never, null, {
            threads: pool.threads,
            shared,
            memory: chunks * 2 * chunkBytes,
            onProgress: ({ done }) => {
              most = Math.max(most, requests.size - (done - 1));
            },
          });
          assertEquals(requests.size, SMALL_CHUNKS);
          assert(
            most <= Math.max(1, chunks),
            `${most} chunks of ${chunks} were in memory`,
          );
          // What a chunk takes beside its bytes counts, too.
          if (chunks === 10_000) assert(most > 4, `${most} of ${chunks}`);
          assertEquals(pool.counts.jobs, SMALL_CHUNKS);
        });
      }
    }
  }
});
