import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import type { Store } from "../../mod.ts";
import { LEAST_BYTES } from "../../src/zarrita/get_sharded.ts";
import {
  getSharded,
  type GetShardedOptions,
  withZarrParts,
} from "../../zarrita.ts";
import { countedPool } from "../threads/counted_pool.ts";
import { randomNumbers } from "./elements.ts";
import { type Selection, selectionsOf } from "./selections.ts";
import {
  assertSameRead,
  documentOf,
  named,
  openArray,
  storeArray,
  type Stored,
} from "./threaded_array.ts";

LEAST_BYTES.toStart = 0;
LEAST_BYTES.toUse = 0;

const INTEGERS = [
  ...["int8", "uint8", "int16", "uint16"],
  ...["int32", "uint32", "int64", "uint64"],
];
const FLOATS = ["float16", "float32", "float64"];
const TYPES = ["bool", ...INTEGERS, ...FLOATS];

/** Codecs between bytes, with those that take no time beside one that does. */
const BYTES_CODECS = [
  [named("zstd", { level: 1, checksum: true })],
  [named("zstd", { level: 0, checksum: false }), named("crc32c")],
  [named("numcodecs.zstd", { level: 3 })],
  [named("gzip", { level: 1 })],
  [named("numcodecs.gzip", { level: 5 })],
  [named("crc32c"), named("zlib", { level: 1 }), named("crc32c")],
  [named("numcodecs.zlib", { level: 9 })],
  [named("numcodecs.blosc", {
    cname: "lz4",
    clevel: 5,
    shuffle: 1,
    blocksize: 0,
  })],
  [
    named("blosc", { cname: "zstd", clevel: 1, shuffle: 2, blocksize: 0 }),
    named("crc32c"),
  ],
  [named("numcodecs.lz4", { acceleration: 1 })],
  [named("lz4", { acceleration: 1 }), named("gzip", { level: 1 })],
  [named("numcodecs.shuffle"), named("zlib", { level: 1 })],
  [named("imagecodecs_lzw")],
  [named("imagecodecs_packbits")],
  [named("imagecodecs_deflate", { raw: true })],
  [named("imagecodecs_zlib")],
  [named("imagecodecs_zstd")],
];

/** Codecs from array to array that are written, with their configuration. */
const FILTERS: Readonly<Record<string, object>> = {
  imagecodecs_delta: {},
  imagecodecs_floatpred: {},
  "numcodecs.delta": {},
  "numcodecs.astype": { encode_dtype: "<i4" },
  "numcodecs.fixedscaleoffset": { offset: 1, scale: 2, astype: "<i2" },
  "numcodecs.packbits": {},
};

/** Texts of fill values in documents. */
function fillsOf(type: string): string[] {
  if (type === "bool") return ["false", "true"];
  if (FLOATS.includes(type)) {
    return ["0", "-0.0", '"NaN"', "1.5", '"-Infinity"', "0.1"];
  }
  if (type.endsWith("64")) return ["0", "1", "9007199254740993"];
  return ["0", "1", "77", ...type.startsWith("int") ? ["-1"] : []];
}

interface Case {
  stored: Stored;
  /** The array as it is read, of codecs that zarrita cannot write. */
  read: Stored;
  /** Whether codecs compute with floats, which keeps no bits of NaN. */
  computes: boolean;
  selections: Selection[];
  absent: number;
  seed: number;
}

const anyCase: fc.Arbitrary<Case> = fc.tuple(fc.nat(3), fc.nat(2)).chain((
  [rank, levels],
) => {
  const each = <T>(arbitrary: fc.Arbitrary<T>, count = rank) =>
    fc.array(arbitrary, { minLength: count, maxLength: count });
  const order = fc.shuffledSubarray(
    Array.from({ length: rank + 1 }, (_, i) => i),
    { minLength: rank + 1 },
  );
  return fc.record({
    lengths: each(fc.integer({ min: 1, max: rank > 1 ? 7 : 20 }), rank + 1),
    chunks: each(fc.integer({ min: 1, max: 4 }), rank + 1),
    counts: each(each(fc.integer({ min: 1, max: 3 }), rank + 1), levels),
    locations: each(fc.constantFrom("start" as const, "end" as const), levels),
    type: fc.constantFrom(...TYPES),
    endian: fc.constantFrom("little", "big"),
    bytesCodecs: fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom(...BYTES_CODECS) },
      fc.constant([]),
    ),
    arrayCodec: fc.constantFrom(
      "none",
      "none",
      "none",
      "imagecodecs_delta",
      "imagecodecs_floatpred",
      "numcodecs.delta",
      "numcodecs.astype",
      "numcodecs.fixedscaleoffset",
      "numcodecs.packbits",
      "scale_offset",
      "cast_value",
      "numcodecs.bitround",
      "packbits",
    ),
    orders: fc.array(order, { maxLength: 2 }),
    fill: fc.nat(5),
    absent: fc.constantFrom(0, 0, 3, 2),
    seed: fc.nat(),
  });
}).chain((given) => {
  const { lengths: shape, chunks, counts, locations, endian } = given;
  const { bytesCodecs, orders, seed, absent } = given;
  const isFloat = FLOATS.includes(given.type);
  const isPossible: Record<string, boolean> = {
    imagecodecs_delta: given.type !== "bool",
    imagecodecs_floatpred: isFloat,
    "numcodecs.delta": given.type !== "bool",
    "numcodecs.astype": given.type !== "bool",
    "numcodecs.fixedscaleoffset": given.type !== "bool",
    "numcodecs.packbits": given.type === "bool",
    scale_offset: isFloat,
    cast_value: given.type !== "bool" && given.type !== "uint8",
    "numcodecs.bitround": given.type.startsWith("float"),
    packbits: true,
  };
  const codec = isPossible[given.arrayCodec] ? given.arrayCodec : "none";
  const type = given.type;
  const chunkShapes = [chunks];
  for (const factors of counts) {
    chunkShapes.unshift(chunkShapes[0]!.map((n, i) => n * factors[i]!));
  }
  const transposes = orders.map((order) => named("transpose", { order }));
  const rest = (codecs: unknown[]) => [
    ...transposes,
    ...codecs,
    codec === "packbits" ? named("packbits") : named("bytes", { endian }),
    ...bytesCodecs,
  ];
  const filter = FILTERS[codec];
  const writes = filter === undefined ? [] : [named(codec, filter)];
  const reads = codec === "scale_offset"
    ? [named(codec, { scale: 2, offset: 1 })]
    : codec === "cast_value"
    ? [
      named(codec, {
        data_type: "uint8",
        rounding: "nearest-even",
        out_of_range: "wrap",
      }),
    ]
    : codec === "numcodecs.bitround"
    ? [named(codec, { keepbits: 4 })]
    : writes;
  const fills = fillsOf(type);
  const common = { shape, chunkShapes, locations };
  const stored: Stored = {
    ...common,
    dataType: codec === "cast_value" ? "uint8" : type,
    codecs: rest(writes),
    fill: codec === "cast_value" ? "0" : fills[given.fill % fills.length]!,
  };
  // The fill value of a cast must be one of the type that is stored, too.
  const read: Stored = { ...stored, dataType: type, codecs: rest(reads) };
  const computes = /^(numcodecs.delta|scale_offset|cast_value)$/.test(codec);
  return fc.record({
    stored: fc.constant(stored),
    read: fc.constant(read),
    computes: fc.constant(computes && isFloat),
    selections: fc.array(
      fc.oneof(
        { weight: 4, arbitrary: selectionsOf(shape) },
        unusualSelections(shape),
      ),
      { maxLength: 3 },
    ),
    absent: fc.constant(absent),
    seed: fc.constant(seed),
  });
});

/** Slices with negative places, with places after the end, and without elements. */
function unusualSelections(
  shape: readonly number[],
): fc.Arbitrary<Selection> {
  return fc.tuple(...shape.map((length) =>
    fc.oneof(
      fc.constant(null),
      fc.tuple(
        fc.integer({ min: -length - 2, max: length + 2 }),
        fc.option(fc.integer({ min: -length - 2, max: length + 2 })),
        fc.option(fc.integer({ min: 1, max: 5 })),
      ).map(([start, stop, step]) => zarr.slice(start, stop, step)),
    )
  )) as fc.Arbitrary<Selection>;
}

/** The shape of the elements that a selection of an array in memory has, by slices of lists. */
function selectedShape(
  selection: Selection | null,
  shape: readonly number[],
): number[] {
  return shape.flatMap((length, i) => {
    const along = selection?.[i] ?? null;
    if (typeof along === "number") return [];
    const { start, stop, step } = along ?? zarr.slice(null);
    const places = Array.from({ length }, (_, place) => place)
      .slice(start ?? 0, stop ?? length);
    return [places.filter((_, i) => i % (step ?? 1) === 0).length];
  });
}

/** What all runs of a property have covered. */
interface Seen {
  readonly codecs: Set<string>;
  readonly types: Set<string>;
  readonly ranks: Set<number>;
}

/** Compares reads of an array by threads with those of zarrita. */
async function compare(
  opened: { zarr: object; threads: object },
  { selections, computes }: Case,
  options: GetShardedOptions,
): Promise<void> {
  const { shape } = opened.zarr as { shape: number[] };
  for (const selection of [null, ...selections]) {
    const selected = selectedShape(selection, shape);
    if (selected.includes(0)) { // zarrita throws an error.
      const found = await getSharded(zarr, opened.threads as never, selection);
      const { data, shape } = found as { data: unknown[]; shape: number[] };
      assertEquals([data.length, shape], [0, selected]);
      continue;
    }
    const expected = await zarr.get(opened.zarr as never, selection as never);
    const progress: { done: number; total: number }[] = [];
    const found = await getSharded(zarr, opened.threads as never, selection, {
      ...options,
      onProgress: (step) => progress.push(step),
    });
    if (computes) assertEquals(found, expected);
    else assertSameRead(found, expected);
    progress.forEach(({ done, total }, i) => {
      assertEquals([done, total], [i + 1, progress.length]);
    });
    const { data } = found as { data?: { buffer: unknown } };
    if (options.shared !== undefined && data !== undefined) {
      assertEquals(data.buffer instanceof SharedArrayBuffer, options.shared);
    }
  }
}

/** The stores of an array, and how they are opened. */
const STORES: Record<
  string,
  (store: Store) => Promise<{ store: Store; wrap?: (store: Store) => object }>
> = {
  MemoryStore: (store) => Promise.resolve({ store }),
  async Map(store) {
    const map = new Map<string, Uint8Array>();
    for await (const key of store.list!()) {
      map.set(key, (await store.get(key))!);
    }
    return { store: map as unknown as Store };
  },
  cache: (store) =>
    Promise.resolve({
      store,
      wrap: (store) =>
        zarr.extendStore(
          store as never,
          withZarrParts as never,
          zarr.withByteCaching as never,
        ) as object,
    }),
  "cache below": (store) =>
    Promise.resolve({
      store,
      wrap: (store) =>
        zarr.extendStore(
          store as never,
          zarr.withByteCaching as never,
          withZarrParts as never,
        ) as object,
    }),
};

/** Leaves out one chunk of some. */
function absence({ absent, seed }: Case): () => boolean {
  const random = randomNumbers(seed);
  return () => absent > 0 && random() % absent === 0;
}

/** The number of runs from which it is certain that random arrays have covered all kinds. */
const ENOUGH_RUNS = 60;

/** Compares reads of any arrays by pools of threads with those of zarrita. */
export async function compareWithPools(numRuns: number): Promise<void> {
  const { hardwareConcurrency } = navigator;
  const pools = [1, 2, 2 * hardwareConcurrency]
    .map((threads) => countedPool({ threads }));
  const seen: Seen = { codecs: new Set(), types: new Set(), ranks: new Set() };
  const settings = fc.record({
    pool: fc.nat(pools.length - 1),
    shared: fc.constantFrom(undefined, true, false),
    store: fc.constantFrom(...Object.keys(STORES)),
    memory: fc.constantFrom(undefined, 1, 1000),
  });
  try {
    await fc.assert(
      fc.asyncProperty(
        anyCase,
        settings,
        async (given, { pool, store, ...options }) => {
          const memory = await storeArray(given.stored, {
            seed: given.seed,
            isAbsent: absence(given),
          });
          await memory.set("/zarr.json", documentOf(given.read));
          const { store: below, wrap } = await STORES[store]!(memory);
          const opened = {
            zarr: await openArray(memory),
            threads: await openArray(below, "", wrap),
          };
          const { threads, counts } = pools[pool]!;
          await compare(opened, given, { threads, ...options });
          assertEquals(counts.failures, []);
          for (const { name } of given.read.codecs as { name: string }[]) {
            seen.codecs.add(name);
          }
          seen.types.add(given.read.dataType);
          seen.ranks.add(given.read.shape.length);
        },
      ),
      { numRuns },
    );
    for (const { counts: { jobs, done } } of pools) assertEquals(done, jobs);
    if (numRuns < ENOUGH_RUNS) return;
    for (const { counts: { jobs } } of pools) {
      assert(jobs > numRuns / 2, `${jobs} chunks were sent to threads`);
    }
    assert(seen.types.size > TYPES.length / 2);
    assertEquals([...seen.ranks].sort(), [1, 2, 3, 4]);
    assert(seen.codecs.size > 10, [...seen.codecs].join());
  } finally {
    for (const { threads } of pools) threads[Symbol.dispose]();
  }
}
