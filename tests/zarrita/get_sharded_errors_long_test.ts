import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import {
  DamageError,
  type MemoryStore,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { LEAST_BYTES } from "../../src/zarrita/get_sharded.ts";
import { getSharded } from "../../zarrita.ts";
import { observed } from "../support/observed_store.ts";
import { countedPool } from "../threads/counted_pool.ts";
import {
  assertSameRead,
  named,
  openArray,
  storeArray,
  type Stored,
} from "./threaded_array.ts";

LEAST_BYTES.toStart = 0;
LEAST_BYTES.toUse = 0;

type Opened = Awaited<ReturnType<typeof openArray>>;

const BYTES = named("bytes", { endian: "little" });
const CRC32C = named("crc32c");
const GZIP = named("gzip", { level: 1 });

/** Codecs of chunks that are damaged. */
const CODECS = {
  gzip: [BYTES, GZIP],
  "gzip and crc32c": [BYTES, GZIP, CRC32C],
  "crc32c and zlib": [BYTES, CRC32C, named("zlib", { level: 1 })],
  zstd: [BYTES, named("zstd", { level: 1, checksum: true })],
  "zstd without a checksum": [
    BYTES,
    named("zstd", { level: 1, checksum: false }),
  ],
  blosc: [
    BYTES,
    named("blosc", { cname: "lz4", clevel: 5, shuffle: 1, blocksize: 0 }),
    CRC32C,
  ],
  lzw: [BYTES, named("imagecodecs_lzw")],
  packbits: [named("packbits"), named("zlib", { level: 1 })],
  predictor: [
    named("imagecodecs_delta"),
    BYTES,
    named("imagecodecs_deflate"),
  ],
};

const SHAPES = {
  "in no shards": [[4, 6]],
  "in shards": [[8, 12], [4, 6]],
  "in nested shards": [[16, 12], [8, 12], [4, 6]],
};

/** What is told by an error and its causes. */
function told(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, cause, ...members } = error as Error & {
    [name: string]: unknown;
  };
  const known = Object.fromEntries(
    ["key", "path", "codec", "direction", "chunkPath", "code"]
      .flatMap((member) => member in error ? [[member, members[member]]] : []),
  );
  return {
    class: error.constructor,
    name,
    message,
    ...known,
    cause: told(cause),
  };
}

type Outcome = { read: unknown } | { error: unknown };

async function outcomeOf(reading: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { read: await reading() };
  } catch (error) {
    return { error };
  }
}

/** Asserts that two reads gave the same elements, or the same error. */
function assertSameOutcome(found: Outcome, expected: Outcome): void {
  if ("read" in expected && "read" in found) {
    return assertSameRead(found.read, expected.read);
  }
  const [one, other] = [found, expected].map((outcome) =>
    "error" in outcome ? outcome.error : undefined
  );
  if (one instanceof DamageError && other instanceof DamageError) {
    // Of several damaged chunks, either may be found first.
    assertEquals([one.constructor, one.key], [other.constructor, other.key]);
  } else assertEquals(told(one), told(other));
}

/** A change of one stored value. */
interface Damage {
  which: number;
  kind: "flip" | "cut" | "add" | "empty";
  place: number;
  bit: number;
}

const anyDamage: fc.Arbitrary<Damage> = fc.record({
  which: fc.nat(100),
  kind: fc.constantFrom("flip", "flip", "flip", "cut", "add", "empty"),
  place: fc.nat(100_000),
  bit: fc.nat(7),
});

async function damage(
  store: MemoryStore,
  { which, kind, place, bit }: Damage,
): Promise<void> {
  const keys = (await Array.fromAsync(store.list("/c"))).sort();
  const key = keys[which % keys.length]!;
  const value = (await store.get(key))!.slice();
  const at = place % value.length;
  if (kind === "flip") value[at]! ^= 1 << bit;
  await store.set(
    key,
    kind === "cut"
      ? value.subarray(0, at)
      : kind === "add"
      ? new Uint8Array([...value, ...new Uint8Array(at % 9 + 1)])
      : kind === "empty"
      ? new Uint8Array()
      : value,
  );
}

Deno.test("getSharded reads damaged arrays like zarr.get, or throws the same error", async () => {
  const pool = countedPool({ threads: 2 });
  const { threads, counts } = pool;
  const failed = new Set<string>();
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.entries(CODECS)),
        fc.constantFrom(...Object.values(SHAPES)),
        fc.constantFrom("start" as const, "end" as const),
        fc.constantFrom(undefined, false),
        anyDamage,
        async ([name, codecs], chunkShapes, location, shared, change) => {
          const store = await storeArray({
            shape: [18, 20],
            dataType: "int16",
            chunkShapes,
            codecs,
            locations: [location, location],
          }, { seed: change.place });
          await damage(store, change);
          const [one, other] = [await openArray(store), await openArray(store)];
          const expected = await outcomeOf(() => zarr.get(one as never));
          const found = await outcomeOf(() =>
            getSharded(zarr, other as never, null, { threads, shared })
          );
          assertSameOutcome(found, expected);
          if ("error" in expected) failed.add(name);
        },
      ),
      { numRuns: 150 },
    );
    assert(failed.size > Object.keys(CODECS).length / 2);
    assert(counts.failures.length > 20);
    assert(counts.done > 500);
    assert(counts.workers <= 2, "damage has ended a thread");
  } finally {
    threads[Symbol.dispose]();
  }
});

const STORED: Stored = {
  shape: [40, 8],
  dataType: "int32",
  chunkShapes: [[8, 8], [2, 4]],
  codecs: [BYTES, GZIP],
};

/** Runs a test with a pool, an array, and the store of the array. */
async function withArray(
  run: (
    given: ReturnType<typeof countedPool> & {
      array: Opened;
      store: MemoryStore;
    },
  ) => Promise<void>,
): Promise<void> {
  const store = await storeArray(STORED);
  const pool = countedPool({ threads: 2 });
  try {
    await run({ ...pool, store, array: await openArray(store) });
  } finally {
    pool.threads[Symbol.dispose]();
  }
}

/** Selections of an array of 40 × 8 that are refused. */
const SELECTIONS: [unknown, typeof Error, string][] = [
  [[40, null], RangeError, "found 40"],
  [[-41, null], RangeError, "found -41"],
  [[null, 8], RangeError, "for dimension 1, found 8"],
  [[0.5, null], RangeError, "found 0.5"],
  [[NaN, null], RangeError, "found NaN"],
  [[null], TypeError, "for each of 2 dimensions"],
  [[null, null, null], TypeError, "for each of 2 dimensions"],
  [[], TypeError, "for each of 2 dimensions"],
  ["all", TypeError, 'found "all"'],
  [[zarr.slice(0, 4, 0), null], RangeError, "step from 1"],
  [[zarr.slice(4, 0, -1), null], RangeError, "step from 1"],
  [[zarr.slice(0.5), null], RangeError, "slice of whole numbers"],
  [["0", null], RangeError, 'found "0"'],
  [[{}, null], RangeError, "for dimension 0"],
];

Deno.test("getSharded refuses wrong selections, arrays and options", async () => {
  await withArray(async ({ threads, array, store, counts }) => {
    for (const [selection, type, message] of SELECTIONS) {
      await assertRejects(
        () => getSharded(zarr, array as never, selection as never, { threads }),
        type,
        message,
      );
    }
    const options: [unknown, typeof Error, string][] = [
      [{ threads: -1 }, RangeError, "threads"],
      [{ threads: {} }, TypeError, "threads"],
      [{ memory: -1 }, RangeError, "memory"],
      [{ memory: "1" }, TypeError, "memory"],
      [{ shared: 1 }, TypeError, "shared"],
      [{ signal: {} }, TypeError, "signal"],
      [{ onProgress: 1 }, TypeError, "onProgress"],
      [{ pool: threads }, TypeError, "pool"],
    ];
    for (const [option, type, message] of options) {
      await assertRejects(
        () => getSharded(zarr, array as never, null, option as never),
        type,
        message,
      );
    }
    for (const wrong of [undefined, null, {}, store, new Map()]) {
      await assertRejects(
        () => getSharded(zarr, wrong as never, null, { threads }),
        TypeError,
      );
    }
    for (const wrong of [undefined, null, {}]) {
      await assertRejects(
        () => getSharded(wrong as never, array as never, null, { threads }),
        TypeError,
        "module of zarrita",
      );
    }
    assertEquals(counts.jobs, 0);
  });
});

Deno.test("getSharded rejects at once if its signal aborts while the store hangs", async () => {
  await withArray(async ({ threads, store }) => {
    const controller = new AbortController();
    const reason = new Error("Enough");
    let release!: () => void;
    const held = new Promise<void>((resolve) => release = resolve);
    let isHung = false;
    const hanging: Store = {
      ...observed(store, () => {}, ["get", "list"]),
      async getRange(...args) {
        isHung = true;
        controller.abort(reason);
        await held;
        return await store.getRange(...args);
      },
    };
    const array = await openArray(hanging);
    const error = await getSharded(zarr, array as never, null, {
      threads,
      signal: controller.signal,
    }).catch((error) => error);
    assertEquals(error, reason);
    assert(isHung);
    release();
    await new Promise((resolve) => setTimeout(resolve, 20));
  });
});

Deno.test("getSharded aborts its requests to the store", async () => {
  await withArray(async ({ threads, store }) => {
    for (const memory of [undefined, 600]) {
      for (const option of [threads, 0]) {
        const controller = new AbortController();
        const signals: (AbortSignal | undefined)[] = [];
        const array = await openArray(observed(store, ({ key, options }) => {
          if (!key.startsWith("/c/") || controller.signal.aborted) return;
          signals.push(options?.signal);
          if (signals.length === 3) controller.abort(new Error("Enough"));
        }));
        await assertRejects(
          () =>
            getSharded(zarr, array as never, null, {
              threads: option,
              memory,
              signal: controller.signal,
            }),
          Error,
          "Enough",
        );
        assertEquals(signals.length, 3);
        assert(signals.some((signal) => signal?.aborted));
      }
    }
  });
});

Deno.test("getSharded throws the error of its store, and asks it no more", async () => {
  await withArray(async ({ threads, store }) => {
    for (const key of ["/c/0/0", "/c/2/0", "/c/4/0"]) {
      const failure = new Error("Disk is on fire");
      let after = 0;
      let isBroken = false;
      const array = await openArray(observed(store, (request) => {
        if (isBroken) after++;
        if (request.key !== key) return;
        isBroken = true;
        throw failure;
      }));
      const error = await getSharded(zarr, array as never, null, {
        threads,
        memory: 1,
      }).catch((error) => error);
      assertEquals(error, failure);
      assert(after < 10, `${after} requests`);
    }
  });
});

Deno.test("getSharded reads each chunk of one state while shards are replaced", async () => {
  await withArray(async ({ threads, store }) => {
    const states: Map<StoreKey, Uint8Array>[] = [];
    for (const element of [1, 2]) {
      const array = await openArray(store);
      await zarr.set(array as never, null, element as never);
      const state = new Map<StoreKey, Uint8Array>();
      for await (const key of store.list("/c")) {
        state.set(key, (await store.get(key))!.slice());
      }
      states.push(state);
    }
    let replaced = 0;
    let turn = 0;
    const replace = async () => {
      for (const [key, value] of states[turn++ % 2]!) {
        await store.set(key, value);
        replaced++;
      }
    };
    const seen = new Set<number>();
    for (const method of ["read", "readOf"] as const) {
      const original = store[method] as (...args: never[]) => unknown;
      const value = async (...args: never[]) => {
        const bytes = await original.apply(store, args);
        if (turn < 60) await replace();
        return bytes;
      };
      Object.defineProperty(store, method, { value });
    }
    const array = await openArray(store);
    for (let i = 0; i < 20; i++) {
      const { data } = await getSharded(zarr, array as never, null, {
        threads,
        memory: 500,
        shared: i % 2 === 0,
      }) as unknown as { data: Int32Array };
      for (let place = 0; place < 320; place += 4) {
        const row = data.subarray(place, place + 4);
        const other = data[place + (place % 16 < 8 ? 8 : -8)];
        assertEquals(new Set([...row, other]).size, 1);
        seen.add(row[0]!);
      }
    }
    assert(replaced > 100);
    assertEquals(seen, new Set([1, 2]));
  });
});
