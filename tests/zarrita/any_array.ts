import fc from "fast-check";
import {
  type ArrayMetadata,
  type EncodeShardOptions,
  parseShardLayout,
  type ShardLayout,
} from "../../mod.ts";
import { arrayMetadata, concatParts } from "../support/metadata.ts";
import {
  anyElements,
  DATA_TYPES,
  type DataType,
  type Element,
  fillOf,
  randomNumbers,
  sizeOf,
} from "./elements.ts";

/** An array of any kind and its elements in C order, some of its chunks all of the fill value. */
export interface AnyArray {
  metadata: ArrayMetadata;
  type: DataType;
  shape: number[];
  elements: Element[];
  /** The shapes of shards, of shards in them, and last of the chunks. */
  chunkShapes: number[][];
  layouts: ShardLayout[];
  endian: "little" | "big";
  /** Whether chunks are compressed, so that threads may encode and decode them. */
  isZipped: boolean;
  hasChecksum: boolean;
  shards: EncodeShardOptions;
  /** The size of the parts before the unsized one. */
  headSize: number;
}

const KEYS = [
  "default",
  { name: "default", configuration: { separator: "." } },
  { name: "default", configuration: { separator: "/" } },
  { name: "v2" },
  { name: "v2", configuration: { separator: "/" } },
  { name: "suffix", configuration: { suffix: ".tiff" } },
  { name: "suffix", configuration: { suffix: "/0", base_encoding: "v2" } },
];

/** Of no more bytes than an index has. */
const PARTS_OF_SHARDS = [
  [],
  [concatParts({ key_suffix: ".h", size: 3 }, { key_suffix: "" }, {
    key_suffix: ".i",
    size: 9,
  })],
  [concatParts({ key_suffix: "" }, { key_suffix: ".i", size: 4 })],
  [
    concatParts({ key_suffix: "" }, { key_suffix: ".i", size: 4 }),
    concatParts({ key_suffix: "/x", size: 2 }, { key_suffix: "/d" }),
  ],
];
const HEAD_SIZES = [0, 3, 0, 2];
const PARTS_OF_CHUNKS = [
  [],
  [concatParts({ key_suffix: ".all" })],
  [concatParts({ key_suffix: ".first", size: 1 }, { key_suffix: "" })],
];

/** @param levels How many times an array's chunks lie in shards. */
export function arraysOf(levels: number): fc.Arbitrary<AnyArray> {
  const most = levels > 1 ? 3 : 4;
  const dimension = fc.record({
    chunk: fc.integer({ min: 1, max: 3 }),
    counts: fc.tuple(
      ...Array.from(
        { length: levels },
        () => fc.integer({ min: 1, max: 3 }),
      ),
    ),
    length: fc.nat(7), // zarrita refuses to read where a length is 0.
  });
  return fc.record({
    dimensions: fc.oneof(
      ...Array.from(
        { length: most + 1 },
        (_, rank) =>
          fc.tuple(...Array(rank).fill(dimension)) as fc.Arbitrary<
            { chunk: number; counts: number[]; length: number }[]
          >,
      ),
    ),
    type: fc.constantFrom(...DATA_TYPES),
    endian: fc.constantFrom("little", "big"),
    isZipped: fc.boolean(),
    hasChecksum: fc.boolean(),
    indexes: fc.array(
      fc.record({
        location: fc.constantFrom("start", "end"),
        endian: fc.constantFrom("little", "big"),
        hasChecksum: fc.boolean(),
      }),
      { minLength: levels, maxLength: levels },
    ),
    keys: fc.constantFrom(...KEYS),
    parts: fc.constantFrom(...levels > 0 ? PARTS_OF_SHARDS : PARTS_OF_CHUNKS),
    prefix: fc.nat(9),
    alignment: fc.constantFrom(1, 2, 7, 16),
    seed: fc.nat(),
  }).map(({ dimensions, indexes, ...given }) => {
    const { type, endian, isZipped, hasChecksum, seed } = given as {
      type: DataType;
      endian: "little" | "big";
      isZipped: boolean;
      hasChecksum: boolean;
      seed: number;
    };
    // Shorter dimensions for higher ranks, so that no array has many elements.
    const shape = dimensions.map(({ length }) =>
      1 + (dimensions.length > 2 ? length % 4 : length)
    );
    const chunkShapes = Array.from(
      { length: levels + 1 },
      (_, level) =>
        dimensions.map(({ chunk, counts }) =>
          counts.slice(level).reduce((product, count) => product * count, chunk)
        ),
    );
    const codecs = indexes.reduceRight<unknown[]>(
      (codecs, { location, endian, hasChecksum }, level) => [{
        name: "sharding_indexed",
        configuration: {
          chunk_shape: chunkShapes[level + 1],
          codecs,
          index_codecs: [
            { name: "bytes", configuration: { endian } },
            ...hasChecksum ? ["crc32c"] : [],
          ],
          index_location: location,
        },
      }],
      [
        sizeOf(type) === 1
          ? "bytes"
          : { name: "bytes", configuration: { endian } },
        ...isZipped ? [{ name: "gzip", configuration: { level: 1 } }] : [],
        ...hasChecksum ? ["crc32c"] : [],
      ],
    );
    const layouts: ShardLayout[] = [];
    for (let level = 0, [codec] = codecs; level < levels; level++) {
      layouts.push(parseShardLayout(codec, chunkShapes[level]!));
      [codec] = (codec as { configuration: { codecs: unknown[] } })
        .configuration.codecs;
    }
    const hasPrefix = layouts.every((it) => it.indexLocation === "end");
    return {
      metadata: arrayMetadata({
        shape,
        data_type: type,
        chunk_grid: {
          name: "regular",
          configuration: { chunk_shape: chunkShapes[0] },
        },
        chunk_key_encoding: given.keys,
        fill_value: type === "bool" ? true : 1,
        codecs,
        ...given.parts.length > 0 && { storage_transformers: given.parts },
      }),
      ...{ type, shape, chunkShapes, layouts, endian, isZipped, hasChecksum },
      elements: sparseElements(type, shape, chunkShapes.at(-1)!, seed),
      shards: {
        prefix: new Uint8Array(hasPrefix ? given.prefix : 0).fill(250),
        alignment: given.alignment,
      },
      headSize: HEAD_SIZES[PARTS_OF_SHARDS.indexOf(given.parts)] ?? 0,
    };
  });
}

/** Elements with only the fill value in about a third of the chunks. */
function sparseElements(
  type: DataType,
  shape: readonly number[],
  chunkShape: readonly number[],
  seed: number,
): Element[] {
  const random = randomNumbers(seed);
  const isAbsent = new Map<string, boolean>();
  const count = shape.reduce((product, length) => product * length, 1);
  return anyElements(type, count, seed).map((element, place) => {
    const chunk = coordinatesOf(place, shape)
      .map((c, i) => Math.floor(c / chunkShape[i]!)).join();
    if (!isAbsent.has(chunk)) isAbsent.set(chunk, random() % 3 === 0);
    return isAbsent.get(chunk) ? fillOf(type) : element;
  });
}

export function coordinatesOf(
  place: number,
  shape: readonly number[],
): number[] {
  return shape.map((length, i) => {
    const below = shape.slice(i + 1).reduce((product, n) => product * n, 1);
    return Math.floor(place / below) % length;
  });
}
