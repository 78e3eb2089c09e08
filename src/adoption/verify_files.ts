import type { ArrayChunks } from "../arrays/array_chunks.ts";
import { arrayRoot } from "../arrays/array_root.ts";
import { ArrayStorage } from "../arrays/array_storage.ts";
import { chunksOfGrid } from "../arrays/chunks_of_grid.ts";
import { openArrayChunks } from "../arrays/open_array_chunks.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { FILES_AT_ONCE } from "./placed_files.ts";
import { INDEX_SUFFIX } from "./index_part.ts";
import { type MakeIndex, mismatchOf } from "./verify_file.ts";

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
  const work = async () => {
    // All tasks share one iterator, which the first failure closes.
    for (const shard of shards) {
      const place = files++;
      options.signal?.throwIfAborted();
      const reason = await mismatchOf(
        store,
        chunks,
        shard,
        makeIndex,
        options,
      );
      if (reason === undefined) continue;
      mismatches.push({ place, key: chunks.key(shard), reason });
    }
  };
  const ends = await Promise.allSettled(
    Array.from({ length: FILES_AT_ONCE }, work),
  );
  for (const end of ends) if (end.status === "rejected") throw end.reason;
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
  { metadata, gridShape }: ArrayChunks,
  options: StoreOptions,
): Promise<Generator<number[]>> {
  if (store.list === undefined) return chunksOfGrid(gridShape);
  const storage = new ArrayStorage(metadata);
  const root: StoreKey = `${arrayRoot(path)}/` as StoreKey;
  const found = new Map<string, number[]>();
  for await (const key of store.list(root, options)) {
    const name = key.slice(root.length);
    const shard = storage.coordinatesOf(
      name.endsWith(INDEX_SUFFIX) ? name.slice(0, -INDEX_SUFFIX.length) : name,
    );
    if (shard !== undefined) found.set(shard.join(), shard);
  }
  const sorted = [...found.values()].sort((a, b) => {
    const place = a.findIndex((c, i) => c !== b[i]);
    return place < 0 ? 0 : a[place]! - b[place]!;
  });
  return generatorOf(sorted);
}

/** The items of a list. The iterator of an array has no `return` that would close it. */
function* generatorOf<T>(items: readonly T[]): Generator<T> {
  yield* items;
}
