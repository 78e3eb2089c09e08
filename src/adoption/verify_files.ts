import type { ArrayChunks } from "../arrays/array_chunks.ts";
import { arrayRoot } from "../arrays/array_root.ts";
import { ArrayStorage } from "../arrays/array_storage.ts";
import { openArrayChunks } from "../arrays/open_array_chunks.ts";
import { DamageError } from "../errors/damage_error.ts";
import { describe } from "../metadata/describe.ts";
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
import { forEachAtOnce } from "../stores/for_each_at_once.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { FILES_AT_ONCE } from "./adopt_files.ts";
import { INDEX_SUFFIX } from "./index_part.ts";

/**
 * An adopted file whose index is not right.
 *
 * @example
 * ```ts
 * import type { AdoptedMismatch } from "@zarr-parts/zarr-parts/tiff";
 *
 * const mismatch: AdoptedMismatch = {
 *   key: "/scene/c/0/0.tif",
 *   reason: "the file has 8190 bytes, where its index was made for 8192",
 * };
 * ```
 */
export interface AdoptedMismatch {
  /** The key of the chunk, which is that of the file. */
  readonly key: StoreKey;
  /** What does not match. */
  readonly reason: string;
}

/**
 * What the verification of an adopted array found.
 *
 * @example
 * ```ts
 * import type { AdoptedVerification } from "@zarr-parts/zarr-parts/tiff";
 *
 * const verification: AdoptedVerification = { files: 12, mismatches: [] };
 * ```
 */
export interface AdoptedVerification {
  /** The number of files and indexes that were looked at, by the keys of their chunks. */
  readonly files: number;
  /** The files whose indexes are not right. */
  readonly mismatches: readonly AdoptedMismatch[];
}

/** A file that is verified. */
export interface FileToVerify {
  readonly key: StoreKey;
  /** The length of the file in bytes. */
  readonly size: number;
  readonly coordinates: readonly number[];
  readonly chunks: ArrayChunks;
  /** Which contents of the file the index is of. */
  readonly contents: number;
}

/** Thrown for a file that does not match its array. */
export class MismatchError extends Error {}

/**
 * Makes the index of every adopted file again, and compares it with the stored one.
 *
 * @param indexOf Makes the index of a file; throws a `MismatchError` or a `RangeError`
 * if the file does not fit the array, and a `DamageError` for a file that cannot be read.
 */
export async function verifyFiles(
  store: Store,
  path: string,
  options: StoreOptions,
  indexOf: (file: FileToVerify) => Promise<ShardIndex>,
): Promise<AdoptedVerification> {
  const chunks = await openArrayChunks(store, path, options);
  const layout = parseShardLayout(chunks.metadata.codecs[0], chunks.chunkShape);
  const size = shardIndexSize(layout);
  const found = await findShards(store, path, chunks, options);
  const reasons = await forEachAtOnce(found, FILES_AT_ONCE, async (shard) => {
    options.signal?.throwIfAborted();
    const key = chunks.key(shard);
    try {
      const [length, part] = await Promise.all([
        readSize(store, key, options),
        readValue(store, `${key}${INDEX_SUFFIX}`, options),
      ]);
      if (length === undefined && part === undefined) return undefined;
      if (length === undefined) {
        return "the file is missing, and its index is there";
      }
      if (part === undefined) return "the file has no index";
      if (part.length !== FILE_RECORD_SIZE + size) {
        return `the index has ${part.length} bytes, where the array has indexes of ${
          FILE_RECORD_SIZE + size
        }`;
      }
      const record = decodeFileRecord(part.subarray(0, FILE_RECORD_SIZE));
      if (record === undefined) return "the index has no record of its file";
      assertFileSize(record, key, length);
      const stored = decodeShardIndex(
        part.subarray(FILE_RECORD_SIZE),
        layout,
        `${key}${INDEX_SUFFIX}`,
      );
      const { contents } = record;
      return differenceOf(
        stored,
        await indexOf({
          key,
          size: length,
          coordinates: shard,
          chunks,
          contents,
        }),
      );
    } catch (error) {
      if (isAboutFile(error)) return (error as Error).message;
      throw error;
    }
  });
  return {
    files: found.length,
    mismatches: found.flatMap((shard, i) => {
      const reason = reasons[i];
      return reason === undefined ? [] : [{ key: chunks.key(shard), reason }];
    }),
  };
}

function isAboutFile(error: unknown): boolean {
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

/** The grid coordinates of all shards that have a file or an index, or of all shards in a store that cannot list. */
async function findShards(
  store: Store,
  path: string,
  { metadata, gridShape }: ArrayChunks,
  options: StoreOptions,
): Promise<number[][]> {
  if (store.list === undefined) return everyPlace(gridShape);
  const storage = new ArrayStorage(metadata);
  const root: StoreKey = `${arrayRoot(path)}/` as StoreKey;
  const found = new Map<string, number[]>();
  for await (const key of store.list(root, options)) {
    const name = key.slice(root.length);
    const shard = storage.coordinatesOf(
      name.endsWith(INDEX_SUFFIX) ? name.slice(0, -INDEX_SUFFIX.length) : name,
    );
    if (shard !== undefined) found.set(describe(shard), shard);
  }
  return [...found.values()].sort((a, b) => {
    const place = a.findIndex((c, i) => c !== b[i]);
    return place < 0 ? 0 : a[place]! - b[place]!;
  });
}

function everyPlace(gridShape: readonly number[]): number[][] {
  return gridShape.reduce<number[][]>(
    (places, count) =>
      places.flatMap((place) =>
        Array.from({ length: count }, (_, i) => [...place, i])
      ),
    [[]],
  );
}
