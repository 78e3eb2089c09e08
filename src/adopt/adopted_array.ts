import type { ChunkKeyEncoding } from "../chunk_key_encoding/mod.ts";
import { ConcatParts } from "../concat_parts/mod.ts";
import { sentence } from "../errors/mod.ts";
import type { ArrayMetadata, NamedConfiguration } from "../metadata/mod.ts";
import { isSameList } from "../runtime/mod.ts";
import {
  assertFileSize,
  coordinatesInShard,
  decodeFileRecord,
  FILE_RECORD_SIZE,
  type FileRecord,
  placeInShard,
  type ShardIndex,
  shardIndexSize,
  type ShardLayout,
} from "../shards/mod.ts";
import type { Part } from "../splitter/mod.ts";
import {
  backendOf,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";

/** The suffix that makes the key of an index of the key of its file. */
export const INDEX_SUFFIX = ".index";

/** The codec of adopted shards. */
export function adoptedSharding(
  chunkShape: readonly number[],
  codecs: ArrayMetadata["codecs"],
): NamedConfiguration {
  return {
    name: "sharding_indexed",
    configuration: {
      chunk_shape: [...chunkShape],
      codecs,
      index_codecs: [
        { name: "bytes", configuration: { endian: "little" } },
        { name: "crc32c" },
      ],
      index_location: "end",
    },
  };
}

/** The parts of an adopted shard: the file as it is, and its index beside it. */
export function adoptedParts(chunksPerShard: readonly number[]): Part[] {
  const indexSize = shardIndexSize({
    chunksPerShard,
    indexLocation: "end",
    indexEndian: "little",
    indexHasChecksum: true,
  });
  return [
    { keySuffix: "" },
    { keySuffix: INDEX_SUFFIX, size: FILE_RECORD_SIZE + indexSize },
  ];
}

/** Whether the parts of an array are those of adopted files, as `adoptedParts` makes them. */
export function isAdopted(
  parts: readonly Part[],
  layout: ShardLayout,
): boolean {
  const expected = adoptedParts(layout.chunksPerShard);
  return layout.indexLocation === "end" && parts.length === 2 &&
    parts.every(({ keySuffix, size }, i) =>
      keySuffix === expected[i]!.keySuffix && size === expected[i]!.size
    );
}

/**
 * Compares the length of an adopted file with the record in its index.
 *
 * @returns Whether there is a record; `undefined` if the file or its index is missing.
 * @throws {DamageError} If the lengths differ.
 */
export async function checkFileRecord(
  { store, key }: { readonly store: Store; readonly key: StoreKey },
  options: StoreOptions,
): Promise<boolean | undefined> {
  const head = { offset: 0, length: FILE_RECORD_SIZE };
  const [size, bytes] = await Promise.all([
    backendOf(store).size(key, options),
    backendOf(store).getRange(`${key}${INDEX_SUFFIX}`, head, options),
  ]);
  if (size === undefined || bytes?.length !== FILE_RECORD_SIZE) {
    return undefined;
  }
  const record = decodeFileRecord(bytes);
  if (record !== undefined) assertFileSize(record, key, size);
  return record !== undefined;
}

/** The array in a file. */
export interface FileArray {
  readonly shape: readonly number[];
  readonly chunkShape: readonly number[];
  /** The extents of its chunks in the file, in C order. */
  readonly chunks: ShardIndex;
}

/** A file, and the grid coordinates of the shard that it becomes. */
export interface PlacedFile {
  readonly key: StoreKey;
  readonly coordinates: readonly number[];
}

/** The array in a file at its place, with the record of the file. */
export interface PlacedArray extends PlacedFile, FileArray, FileRecord {}

/** The shapes of an array of files. */
export interface Mosaic {
  readonly shape: readonly number[];
  readonly shardShape: readonly number[];
  readonly chunkShape: readonly number[];
  readonly chunksPerShard: readonly number[];
}

/**
 * Finds the shape of the array that files make. Files have the same length along a
 * dimension, except those at its end, which may be shorter.
 *
 * @param files At least one file, all of one rank and one shape of chunks.
 * @param pieces What chunks are in the files, for messages, such as `tiles`.
 * @throws {RangeError} If the files do not fit together.
 */
export function mosaicOf(
  files: readonly PlacedArray[],
  pieces: string,
): Mosaic {
  const { chunkShape } = files[0]!;
  const lengths = chunkShape.map((chunk, dimension) =>
    lengthsOf(files, dimension, chunk, pieces)
  );
  return {
    shape: lengths.map(({ array }) => array),
    shardShape: lengths.map(({ shard }) => shard),
    chunkShape,
    chunksPerShard: lengths.map(({ shard }, i) => shard / chunkShape[i]!),
  };
}

/**
 * Composes the metadata of an array of files.
 *
 * @param metadata That of the array in a file.
 */
export function mosaicMetadata(
  metadata: ArrayMetadata,
  { shape, shardShape, chunkShape, chunksPerShard }: Mosaic,
  encoding: ChunkKeyEncoding,
): ArrayMetadata {
  return {
    ...metadata,
    shape,
    chunk_grid: {
      name: "regular",
      configuration: { chunk_shape: shardShape },
    },
    chunk_key_encoding: encoding.toJSON(),
    codecs: [adoptedSharding(chunkShape, metadata.codecs)],
    storage_transformers: [
      new ConcatParts(adoptedParts(chunksPerShard)).toJSON(),
    ],
  };
}

/** Makes the index of a file as a shard, which may be larger than the array in the file. */
export function shardIndexOf(
  { shape, chunkShape, chunks }: FileArray,
  chunksPerShard: readonly number[],
): ShardIndex {
  const counts = shape.map((length, i) => Math.ceil(length / chunkShape[i]!));
  if (isSameList(counts, chunksPerShard)) return chunks;
  const size = chunksPerShard.reduce((product, n) => product * n, 1);
  const index: ShardIndex[number][] = new Array(size).fill(undefined);
  for (const [i, chunk] of chunks.entries()) {
    const place = coordinatesInShard(i, { chunksPerShard: counts });
    index[placeInShard(place, { chunksPerShard })] = chunk;
  }
  return index;
}

/** The lengths of the array and of a shard along a dimension. */
function lengthsOf(
  files: readonly PlacedArray[],
  dimension: number,
  chunk: number,
  pieces: string,
): { array: number; shard: number } {
  const lengthOf = ({ shape }: PlacedArray) => shape[dimension]!;
  const placeOf = ({ coordinates }: PlacedArray) => coordinates[dimension]!;
  const last = files.reduce((most, file) => Math.max(most, placeOf(file)), 0);
  const edge = files.find((file) => placeOf(file) === last)!;
  const inner = files.find((file) => placeOf(file) < last);
  const length = lengthOf(inner ?? edge);
  const expectLike = (other: PlacedArray, file: PlacedArray) => {
    if (lengthOf(file) === lengthOf(other)) return;
    throw new RangeError(
      sentence`File ${file.key} has ${
        file.shape[dimension]
      } elements along dimension ${dimension}, and File ${other.key} has ${
        other.shape[dimension]
      }, at ${file.coordinates} and ${other.coordinates}: files of one array have the same length, and only a shorter file can be the last one`,
    );
  };
  for (const file of files) {
    expectLike(placeOf(file) < last ? inner! : edge, file);
  }
  if (inner !== undefined && (length === 0 || length % chunk !== 0)) {
    throw new RangeError(
      sentence`File ${inner.key} has ` +
        `${length} elements along dimension ${dimension}, which its ${pieces} of ${chunk} do not divide, and other files follow it there: Zarr has no padding between shards; convert the files to ${pieces} that divide them, or adopt each as an array of its own`,
    );
  }
  if (lengthOf(edge) > length) expectLike(inner!, edge);
  const count = Math.max(1, Math.ceil(length / chunk));
  return {
    array: last * length + lengthOf(edge),
    shard: count * chunk,
  };
}
