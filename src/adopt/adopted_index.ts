import { type ArrayChunks, parsedArrayOf, shardOf } from "../arrays/mod.ts";
import { DamageError } from "../errors/mod.ts";
import type { ArrayMetadata, NamedConfiguration } from "../metadata/mod.ts";
import { joinBytes } from "../runtime/mod.ts";
import {
  assertFileSize,
  decodeFileRecord,
  decodeShardIndex,
  encodeFileRecord,
  encodeShardIndex,
  FILE_RECORD_SIZE,
  type FileRecord,
  type ShardIndex,
  shardIndexSize,
  type ShardLayout,
} from "../shards/mod.ts";
import type { Part } from "../splitter/mod.ts";
import {
  readRange,
  readSize,
  readValue,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";

/** The suffix that makes the key of an index of the key of its file. */
export const INDEX_SUFFIX = ".index";

/** The layout of the index of an adopted file. */
export function adoptedLayout(chunksPerShard: readonly number[]): ShardLayout {
  return {
    chunksPerShard,
    indexLocation: "end",
    indexEndian: "little",
    indexHasChecksum: true,
  };
}

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
export function adoptedParts(layout: ShardLayout): Part[] {
  const size = FILE_RECORD_SIZE + shardIndexSize(layout);
  return [{ keySuffix: "" }, { keySuffix: INDEX_SUFFIX, size }];
}

/** The bytes of the part that holds the index of an adopted file. */
export function encodeIndexPart(
  record: FileRecord,
  index: ShardIndex,
  layout: ShardLayout,
): Uint8Array {
  return joinBytes([
    encodeFileRecord(record),
    encodeShardIndex(index, layout),
  ]);
}

/** Whether the parts of an array are those of adopted files, as `adoptedParts` makes them. */
export function isAdopted(
  parts: readonly Part[],
  layout: ShardLayout,
): boolean {
  const [file, index, ...others] = parts;
  return others.length === 0 && layout.indexLocation === "end" &&
    file?.keySuffix === "" && file.size === undefined &&
    index?.keySuffix === INDEX_SUFFIX &&
    index.size === FILE_RECORD_SIZE + shardIndexSize(layout);
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
    readSize(store, key, options),
    readRange(store, `${key}${INDEX_SUFFIX}`, head, options),
  ]);
  if (size === undefined || bytes?.length !== FILE_RECORD_SIZE) {
    return undefined;
  }
  const record = decodeFileRecord(bytes);
  if (record !== undefined) assertFileSize(record, key, size);
  return record !== undefined;
}

/** The stored index of an adopted file. */
interface AdoptedIndex {
  /** The length of the file in bytes. */
  readonly size: number;
  readonly contents: number;
  readonly index: ShardIndex;
}

/**
 * Reads the index of an adopted file, and compares its record with the length of the file.
 *
 * @returns `undefined` if there is neither file nor index.
 * @throws {MismatchError} If one of them is missing, or the index has no record.
 * @throws {DamageError} If the file has another length, or the index is damaged.
 */
export async function readAdopted(
  store: Store,
  chunks: ArrayChunks,
  coordinates: readonly number[],
  options: StoreOptions,
): Promise<AdoptedIndex | undefined> {
  const key = chunks.key(coordinates);
  const [size, part] = await Promise.all([
    readSize(store, key, options),
    readValue(store, `${key}${INDEX_SUFFIX}`, options),
  ]);
  if (size === undefined && part === undefined) return undefined;
  if (size === undefined) {
    throw new MismatchError("the file is missing, and its index is there");
  }
  if (part === undefined) throw new MismatchError("the file has no index");
  const { layout } = shardOf(parsedArrayOf(chunks));
  const length = FILE_RECORD_SIZE + shardIndexSize(layout);
  if (part.length !== length) {
    throw new MismatchError(
      `the index has ${part.length} bytes, where the array has indexes of ${length}`,
    );
  }
  const record = decodeFileRecord(part.subarray(0, FILE_RECORD_SIZE));
  if (record === undefined) {
    throw new MismatchError("the index has no record of its file");
  }
  assertFileSize(record, key, size);
  const index = decodeShardIndex(
    part.subarray(FILE_RECORD_SIZE),
    layout,
    `${key}${INDEX_SUFFIX}`,
  );
  return { size, contents: record.contents, index };
}

/** Thrown for a file that does not match its array. */
export class MismatchError extends Error {}

/** Whether an error is about a wrong file or index, as opposed to a failure of the store. */
export function isAboutFile(error: unknown): boolean {
  return error instanceof MismatchError || error instanceof RangeError ||
    error instanceof DamageError;
}
