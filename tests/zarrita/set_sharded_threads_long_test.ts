import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import type { MemoryStore } from "../../mod.ts";
import { LEAST_WRITTEN } from "../../src/zarrita/set_sharded.ts";
import { setSharded, type SetShardedOptions } from "../../zarrita.ts";
import { contentsOf } from "../support/bytes.ts";
import { countedPool } from "../threads/counted_pool.ts";
import { anyElements, chunkOf, type DataType } from "./elements.ts";
import { type Selection, selectionsOf, shapeOf } from "./selections.ts";
import {
  documentOf,
  named,
  openArray,
  storeArray,
  type Stored,
} from "./threaded_array.ts";

LEAST_WRITTEN.toStart = 0;
LEAST_WRITTEN.toUse = 0;

const TYPES = [
  ...["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32"],
  ...["int64", "uint64", "float16", "float32", "float64"],
];

const BYTES_CODECS = [
  [],
  [named("crc32c")],
  [named("zstd", { level: 1, checksum: true })],
  [named("zstd", { level: 0, checksum: false }), named("crc32c")],
  [named("gzip", { level: 1 })],
  [named("numcodecs.zlib", { level: 9 })],
  [
    named("blosc", { cname: "lz4", clevel: 5, shuffle: 1, blocksize: 0 }),
    named("crc32c"),
  ],
  [named("numcodecs.lz4", { acceleration: 1 })],
  [named("imagecodecs_lzw")],
  [named("imagecodecs_deflate", { raw: true }), named("crc32c")],
];

/** Where the elements of a value lie. */
interface Layout {
  /** The order of the dimensions in memory, the slowest first. */
  readonly order: number[];
  /** The number of elements between two, and before the first one. */
  readonly gaps: number[];
  readonly offset: number;
  /** The dimensions whose elements are all the same ones in memory. */
  readonly repeated: boolean[];
  readonly isShared: boolean;
}

interface Case {
  readonly stored: Stored;
  /** How many of the stored shards are there. */
  readonly present: "none" | "some" | "all";
  readonly selection: Selection | null;
  readonly isScalar: boolean;
  readonly layout: Layout;
  readonly seed: number;
}

const anyCase: fc.Arbitrary<Case> = fc.integer({ min: 1, max: 4 }).chain(
  (rank) => {
    const each = <T>(arbitrary: fc.Arbitrary<T>) =>
      fc.array(arbitrary, { minLength: rank, maxLength: rank });
    const axes = Array.from({ length: rank }, (_, i) => i);
    const order = fc.shuffledSubarray(axes, { minLength: rank });
    return fc.record({
      lengths: each(fc.integer({ min: 1, max: rank > 2 ? 5 : 12 })),
      chunks: each(fc.integer({ min: 1, max: 4 })),
      counts: each(fc.integer({ min: 1, max: 3 })),
      location: fc.constantFrom("start" as const, "end" as const),
      type: fc.constantFrom(...TYPES),
      arrayCodec: fc.constantFrom("none", "none", "imagecodecs_delta"),
      toBytes: fc.constantFrom("bytes", "bytes", "packbits"),
      endian: fc.constantFrom("little", "big"),
      bytesCodecs: fc.constantFrom(...BYTES_CODECS),
      orders: fc.array(order, { maxLength: 2 }),
      fill: fc.constantFrom("0", "1"),
      present: fc.constantFrom("none", "some", "all"),
      isScalar: fc.nat(4).map((n) => n === 0),
      layout: fc.record({
        order,
        gaps: each(fc.constantFrom(0, 0, 0, 1, 3)),
        offset: fc.constantFrom(0, 0, 1, 5),
        repeated: each(fc.nat(9).map((n) => n === 0)),
        isShared: fc.boolean(),
      }),
      seed: fc.nat(),
    });
  },
).chain(({ lengths, chunks, counts, type, ...given }) =>
  fc.record({
    stored: fc.constant({
      shape: lengths,
      dataType: type,
      chunkShapes: [chunks.map((n, i) => n * counts[i]!), chunks],
      locations: [given.location],
      codecs: [
        ...given.orders.map((order) => named("transpose", { order })),
        ...given.arrayCodec !== "none" && type !== "bool"
          ? [named(given.arrayCodec)]
          : [],
        given.toBytes === "packbits"
          ? named("packbits")
          : named("bytes", { endian: given.endian }),
        ...given.bytesCodecs,
      ],
      fill: type === "bool" ? String(given.fill === "1") : given.fill,
    } as Stored),
    present: fc.constant(given.present as Case["present"]),
    selection: fc.oneof(
      fc.constant(null),
      {
        weight: 3,
        arbitrary: selectionsOf(lengths)
          .map((selection) => selectingInEach(selection, chunks)),
      },
    ),
    isScalar: fc.constant(given.isScalar),
    layout: fc.constant(given.layout),
    seed: fc.constant(given.seed),
  })
);

/** A selection of elements of each chunk between its first and its last one. zarrita's `set` stores other chunks between them, too. */
function selectingInEach(
  selection: Selection,
  chunkShape: readonly number[],
): Selection {
  return selection.map((along, i) => {
    if (typeof along !== "object" || along === null) return along;
    const step = Math.min(along.step ?? 1, chunkShape[i]!);
    const start = along.start!;
    const count = Math.ceil((along.stop! - start) / step);
    return zarr.slice(start, start + (count - 1) * step + 1, step);
  });
}

/** The value of a write: elements of random bits, in a layout. */
function valueOf({ stored, selection, isScalar, layout, seed }: Case): unknown {
  const { dataType } = stored;
  const isHalf = dataType === "float16";
  const type = (isHalf ? "uint16" : dataType) as DataType;
  if (isScalar) return anyElements(type, 1, seed)[0];
  const shape = selection === null
    ? stored.shape
    : shapeOf(selection, stored.shape);
  const stride = new Array<number>(shape.length);
  let step = 1;
  for (const axis of layout.order.filter((axis) => axis < shape.length)) {
    const isRepeated = layout.repeated[axis]!;
    stride[axis] = isRepeated ? 0 : step;
    if (!isRepeated) step = step * shape[axis]! + layout.gaps[axis]!;
  }
  const { data } = chunkOf(
    anyElements(type, step + layout.offset, seed),
    type,
    [step + layout.offset],
  ) as unknown as { data: Uint8Array<ArrayBuffer> };
  const { buffer, BYTES_PER_ELEMENT: size } = data;
  // zarrita's codec "transpose" changes the bits of some NaN.
  if (dataType.startsWith("float")) {
    const bytes = new Uint8Array(buffer);
    for (let i = size - 1; i < bytes.length; i += size) bytes[i]! &= 0xbf;
  }
  const memory = layout.isShared
    ? new SharedArrayBuffer(buffer.byteLength)
    : new ArrayBuffer(buffer.byteLength);
  new Uint8Array(memory).set(new Uint8Array(buffer));
  const Elements = (isHalf ? Float16Array : data.constructor) as new (
    memory: ArrayBufferLike,
    offset: number,
    length: number,
  ) => unknown;
  const view = new Elements(memory, layout.offset * size, step);
  return { data: view, shape, stride };
}

/** Stores the array of a case, and gives the shards that are there. */
async function storedCase({ stored, present, seed }: Case) {
  const isThere = (key: string) =>
    present === "all" || present === "some" && key.length % 2 === seed % 2;
  const store = await storeArray(stored, { seed: seed + 1 });
  for await (const key of store.list("/c")) {
    if (!isThere([...key].reverse().join(""))) await store.delete(key);
  }
  return store;
}

/** Writes as zarrita's `set` does: it is used if an extension has changed the array. */
async function writeByZarrita(
  store: MemoryStore,
  selection: Selection | null,
  value: unknown,
): Promise<void> {
  const array = await openArray(store);
  array.getChunk = array.getChunk.bind(array);
  await setSharded(zarr, array as never, selection, value as never);
}

/** Writes a case in both ways, and compares what is stored. */
async function compare(
  given: Case,
  options: SetShardedOptions,
): Promise<void> {
  const { selection, stored } = given;
  const expected = await storedCase(given);
  const found = await storedCase(given);
  await writeByZarrita(expected, selection, valueOf(given));
  const array = await openArray(found);
  const value = valueOf(given);
  await setSharded(zarr, array as never, selection, value as never, options);
  assertEquals(await contentsOf(found), await contentsOf(expected));
  assertEquals(await found.get("/zarr.json"), documentOf(stored));
}

Deno.test("setSharded stores by threads the bytes that zarrita's set would", async () => {
  const { threads, counts } = countedPool({ threads: 2 });
  const seen = new Set<string>();
  try {
    await fc.assert(
      fc.asyncProperty(anyCase, async (given) => {
        await compare(given, { threads });
        assertEquals(counts.failures, []);
        seen.add(given.stored.dataType);
        for (const { name } of given.stored.codecs as { name: string }[]) {
          seen.add(name);
        }
      }),
      { numRuns: 400 },
    );
  } finally {
    threads[Symbol.dispose]();
  }
  assert(counts.jobs > 500, `${counts.jobs} chunks were sent to threads`);
  assertEquals(counts.done, counts.jobs);
  assertEquals(seen.size, TYPES.length + 12, [...seen].join());
});

Deno.test("setSharded stores without threads, and by threads of one call, the bytes that zarrita's set would", async () => {
  await fc.assert(
    fc.asyncProperty(
      anyCase,
      fc.constantFrom(0, 0, 0, 1),
      (given, threads) => compare(given, { threads }),
    ),
    { numRuns: 80 },
  );
});
