import type { ArrayChunks } from "../arrays/array_chunks.ts";
import { DamageError } from "../errors/damage_error.ts";
import {
  assertFileSize,
  decodeFileRecord,
  FILE_RECORD_SIZE,
} from "../shards/file_record.ts";
import {
  decodeShardIndex,
  type ShardIndex,
  shardIndexSize,
} from "../shards/shard_index.ts";
import { parseShardLayout } from "../shards/shard_layout.ts";
import { readSize, readValue } from "../stores/capabilities.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { INDEX_SUFFIX } from "./index_part.ts";

/** A file that is verified. */
export interface FileToVerify {
  readonly key: StoreKey;
  /** The length of the file in bytes. */
  readonly size: number;
  readonly coordinates: readonly number[];
  readonly chunks: ArrayChunks;
  /** The contents of the file that the index describes. */
  readonly contents: number;
}

/**
 * Makes the index of a file anew.
 *
 * @throws {MismatchError | RangeError} If the file does not fit its array.
 * @throws {DamageError} If the file cannot be read.
 */
export type MakeIndex = (
  store: Store,
  file: FileToVerify,
  options: StoreOptions,
) => Promise<ShardIndex>;

/** Thrown for a file that does not match its array. */
export class MismatchError extends Error {}

/**
 * Makes the index of an adopted file anew, and compares it with the stored one.
 *
 * @returns The difference; `undefined` if there is none, or neither file nor index.
 */
export async function mismatchOf(
  store: Store,
  chunks: ArrayChunks,
  coordinates: readonly number[],
  makeIndex: MakeIndex,
  options: StoreOptions,
): Promise<string | undefined> {
  const key = chunks.key(coordinates);
  try {
    const stored = await readAdopted(store, chunks, coordinates, options);
    if (stored === undefined) return undefined;
    const { size, contents } = stored;
    const file = { key, size, coordinates, chunks, contents };
    return differenceOf(stored.index, await makeIndex(store, file, options));
  } catch (error) {
    if (isAboutFile(error)) return (error as Error).message;
    throw error;
  }
}

/** The stored index of an adopted file. */
export interface AdoptedIndex {
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
  const layout = parseShardLayout(chunks.metadata.codecs[0], chunks.chunkShape);
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

/** Whether an error is about a file, and not about the store. */
export function isAboutFile(error: unknown): boolean {
  return error instanceof MismatchError || error instanceof RangeError ||
    error instanceof DamageError;
}

/** Says where two indexes differ first. */
function differenceOf(
  stored: ShardIndex,
  made: ShardIndex,
): string | undefined {
  const place = stored.findIndex((entry, i) =>
    entry?.offset !== made[i]?.offset || entry?.length !== made[i]?.length
  );
  if (place < 0) return undefined;
  const [was, is] = [stored, made].map((index) => {
    const entry = index[place];
    return entry ? `${entry.length} bytes from ${entry.offset} on` : "no bytes";
  });
  return `inner chunk ${place} has ${is}, where its index has ${was}`;
}
