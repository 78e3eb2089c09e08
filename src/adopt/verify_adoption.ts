import {
  type ArrayChunks,
  arrayRoot,
  chunksOfGrid,
  openArrayChunks,
  parsedArrayOf,
} from "../arrays/mod.ts";
import { runConcurrently } from "../runtime/mod.ts";
import type { ShardIndex } from "../shards/mod.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/mod.ts";
import { FILES_AT_ONCE } from "./adopt_files.ts";
import { INDEX_SUFFIX, isAboutFile, readAdopted } from "./adopted_index.ts";

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
  /** The difference between the file and its index. */
  readonly reason: string;
}

/**
 * The result of the verification of an adopted array.
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

/** Verifies all adopted files of an array. */
export async function verifyFiles(
  store: Store,
  path: string,
  options: StoreOptions,
  makeIndex: MakeIndex,
): Promise<AdoptedVerification> {
  const chunks = await openArrayChunks(store, path, options);
  const mismatches: (AdoptedMismatch & { place: number })[] = [];
  const shards = await findShards(store, path, chunks, options);
  let files = 0;
  await runConcurrently(shards, FILES_AT_ONCE, async (shard) => {
    const place = files++;
    const reason = await mismatchOf(store, chunks, shard, makeIndex, options);
    if (reason === undefined) return;
    mismatches.push({ place, key: chunks.key(shard), reason });
  }, options.signal);
  mismatches.sort((a, b) => a.place - b.place);
  return {
    files,
    mismatches: mismatches.map(({ key, reason }) => ({ key, reason })),
  };
}

/** The grid coordinates of all shards that have a file or an index, or of all shards in a store that cannot list. */
async function findShards(
  store: Store,
  path: string,
  chunks: ArrayChunks,
  options: StoreOptions,
): Promise<Iterable<readonly number[]>> {
  if (store.list === undefined) return chunksOfGrid(chunks.gridShape);
  const array = parsedArrayOf(chunks);
  const root: StoreKey = `${arrayRoot(path)}/` as StoreKey;
  const found = new Map<string, number[]>();
  for await (const key of store.list(root, options)) {
    const name = key.slice(root.length);
    const shard = array.coordinatesOf(
      name.endsWith(INDEX_SUFFIX) ? name.slice(0, -INDEX_SUFFIX.length) : name,
    );
    if (shard !== undefined) found.set(shard.join(), shard);
  }
  return [...found.values()].sort((a, b) => {
    const place = a.findIndex((c, i) => c !== b[i]);
    return place < 0 ? 0 : a[place]! - b[place]!;
  });
}

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
type MakeIndex = (
  store: Store,
  file: FileToVerify,
  options: StoreOptions,
) => Promise<ShardIndex>;

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
