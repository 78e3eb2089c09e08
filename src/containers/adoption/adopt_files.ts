import {
  ArrayChunks,
  arrayRoot,
  completeMetadata,
  countOfGrid,
  createArrayChunks,
  isInShare,
  type Share,
  storageOf,
} from "../../arrays/mod.ts";
import { describe } from "../../errors/mod.ts";
import { type ArrayMetadata, formatZarrJson } from "../../metadata/mod.ts";
import { mapConcurrently, runConcurrently } from "../../runtime/mod.ts";
import {
  assertExtents,
  FILE_RECORD_SIZE,
  parseShardLayout,
  type ShardIndex,
  shardIndexSize,
} from "../../shards/mod.ts";
import {
  assertLinks,
  assertWritable,
  readSize,
  recover,
  remove,
  type Store,
  type StoreKey,
  type StoreOptions,
  write,
} from "../../stores/mod.ts";
import type { AdoptedArray, AdoptionOptions } from "./adoption_options.ts";
import {
  assertKeys,
  assertNew,
  FILES_AT_ONCE,
  type FileToAdopt,
  type PlacedFile,
  placeFiles,
} from "./placed_files.ts";
import { isAboutFile, readAdopted } from "./verify_adopted_files.ts";

/** Options of {@linkcode adoptFiles}. */
export interface AdoptFilesOptions extends AdoptionOptions {
  /** Notes for the report. */
  readonly notes?: readonly string[] | undefined;
  /** All files of the array, if `files` are those of a share. */
  readonly all?:
    | readonly Pick<FileToAdopt, "coordinates" | "key">[]
    | undefined;
  /** Called after each index that is written or checked. */
  readonly onStep?: (() => void) | undefined;
}

/**
 * Makes an array of files: writes an index beside each file, and then `zarr.json`. The
 * files are not changed. If that fails, the new indexes are removed again.
 *
 * @param metadata The metadata of the array, with one shard a file and the parts of
 * `adoptedParts`.
 * @throws {MetadataError} If there is a node or another index already, without
 * `overwrite`.
 * @throws {RangeError} If two files have the same coordinates, or a file's key is not
 * that of its chunk, without `link`.
 * @throws {TypeError} If the store is read-only, or cannot link where it has to.
 * @throws {DamageError} If inner chunks of a file overlap, without being the same bytes.
 * @throws {Error} If `finish` is set, and a file has not its index.
 */
export async function adoptFiles(
  store: Store,
  path: string,
  metadata: ArrayMetadata,
  files: readonly FileToAdopt[],
  options: AdoptFilesOptions,
): Promise<AdoptedArray> {
  const { link = false, overwrite = false, finish, share, signal } = options;
  const { all = files, notes = [], onStep = () => {} } = options;
  const storeOptions: StoreOptions = signal ? { signal } : {};
  const document: StoreKey = `${arrayRoot(path)}/zarr.json`;
  assertWritable(store, document);
  const written = completeMetadata(storageOf(metadata, { isComplete: false }));
  const chunks = new ArrayChunks(store, path, written);
  const layout = parseShardLayout(written.codecs[0], chunks.chunkShape);
  assertKeys(store, chunks, all, link);
  for (const { index, key, size } of files) {
    assertExtents(index, layout, size + shardIndexSize(layout), key);
  }
  const placed = placeFiles(chunks, layout, files);
  if (!overwrite) await assertNew(store, document, placed, storeOptions);
  const canRecover =
    typeof (store as { recover?: unknown }).recover === "function";
  // Removes temporary files of runs that were killed. The run after the shares does it for all.
  if (canRecover && !options.dryRun && share === undefined) {
    await recover(store, { path: arrayRoot(path).slice(1), ...storeOptions });
  }
  const added: StoreKey[] = [];
  const indexes: ShardIndex[] = files.map(({ index }) => index);
  if (!options.dryRun) {
    try {
      if (finish) {
        const found = await assertAdopted(chunks, store, all, onStep, options);
        indexes.push(...found);
      }
      await runConcurrently(placed, FILES_AT_ONCE, async (file) => {
        await writeIndex(store, file, overwrite, added, storeOptions);
        onStep();
      }, signal);
      if (share === undefined) {
        if (overwrite) {
          const bytes = formatZarrJson(written);
          await write(store, document, bytes, storeOptions);
        } else await createArrayChunks(store, path, written, storeOptions);
      }
    } catch (error) {
      for (const key of added) await remove(store, key).catch(() => {});
      throw error;
    }
  }
  return {
    chunks,
    report: {
      files: indexes.length,
      missingFiles: countOfGrid(chunks.gridShape) - all.length,
      innerChunks: indexes.reduce(
        (sum, index) => sum + index.filter((entry) => entry).length,
        0,
      ),
      indexBytes: indexes.length *
        (FILE_RECORD_SIZE + shardIndexSize(layout)),
      notes,
    },
  };
}

/** Links a file and writes its index. New keys are added to `added` before the work goes on, which may fail. */
async function writeIndex(
  store: Store,
  { key, chunkKey, partKey, encodePart }: PlacedFile,
  overwrite: boolean,
  added: StoreKey[],
  options: StoreOptions,
): Promise<void> {
  if (key !== chunkKey) {
    assertLinks(store);
    const isNew = await readSize(store, chunkKey, options) === undefined;
    await store.link(key, chunkKey, options);
    if (isNew) added.push(chunkKey);
  }
  const isNew = !overwrite &&
    await readSize(store, partKey, options) === undefined;
  if (isNew) added.push(partKey);
  if (isNew || overwrite) {
    await write(store, partKey, encodePart(), options);
  }
}

/** The number of files without an index that a message names. */
const MOST_NAMED = 3;

/** Refuses to finish an adoption unless all files have their indexes, and returns these. */
async function assertAdopted(
  chunks: ArrayChunks,
  store: Store,
  files: readonly Pick<FileToAdopt, "coordinates" | "key">[],
  onStep: () => void,
  { signal }: StoreOptions,
): Promise<ShardIndex[]> {
  const wrong: string[] = [];
  const indexes = await mapConcurrently(
    files,
    FILES_AT_ONCE,
    async ({ coordinates, key }) => {
      try {
        const options = signal ? { signal } : {};
        const found = await readAdopted(store, chunks, coordinates, options);
        onStep();
        if (found !== undefined) return found.index;
        wrong.push(`${describe(key)}: it has not the key of its chunk`);
      } catch (error) {
        if (!isAboutFile(error)) throw error;
        wrong.push(`${describe(key)}: ${(error as Error).message}`);
      }
    },
    signal,
  );
  if (wrong.length === 0) return indexes as ShardIndex[];
  throw new Error(
    `Cannot finish the adoption: ${wrong.length} of ${files.length} files have no index of this array, such as ${
      wrong.slice(0, MOST_NAMED).join("; ")
    }; run the shares again, or adopt all files at once`,
  );
}

/**
 * Counts the steps of an adoption, and reports each one.
 *
 * @param read The number of files that are read.
 * @param written The number of indexes that are written or checked.
 */
export function countSteps(
  read: number,
  written: number,
  { dryRun, onProgress }: AdoptionOptions,
): () => void {
  const total = read + (dryRun ? 0 : written);
  let done = 0;
  return () => onProgress?.({ done: ++done, total });
}

/** A file that is read, and whether it belongs to the share. */
export type SharedFile<T> = T & { readonly isOwn: boolean };

/**
 * Selects the files of a share, and a few others that show the shape of the array: along
 * each dimension the first file before the end, and the first one at the end.
 *
 * @param share All files are selected without one. `undefined` in a run that finishes the
 * work of shares selects no own files.
 */
export function filesOfShare<
  T extends { key: StoreKey; coordinates?: readonly number[] },
>(
  files: readonly T[],
  { share, finish = false }: {
    share?: Share | undefined;
    finish?: boolean | undefined;
  },
): SharedFile<T>[] {
  if (share === undefined && !finish) {
    return files.map((file) => ({ ...file, isOwn: true }));
  }
  const shown = new Set(references(files));
  return files.flatMap((file) => {
    const isOwn = share !== undefined && isInShare(share, file.key);
    return isOwn || shown.has(file) ? [{ ...file, isOwn }] : [];
  });
}

function references<T extends { coordinates?: readonly number[] }>(
  files: readonly T[],
): T[] {
  const rank = files[0]?.coordinates?.length;
  // The only zip may have no coordinates.
  if (rank === undefined) return files.slice(0, 1);
  return Array.from({ length: rank }, (_, dimension) => {
    const placeOf = ({ coordinates }: T) => coordinates?.[dimension] ?? 0;
    const last = files.reduce((most, file) => Math.max(most, placeOf(file)), 0);
    return [
      files.find((file) => placeOf(file) < last),
      files.find((file) => placeOf(file) === last),
    ];
  }).flat().filter((file) => file !== undefined);
}
