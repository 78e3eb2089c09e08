import {
  ArrayChunks,
  arrayRoot,
  countOfGrid,
  createArrayChunks,
  parseArray,
  readDocument,
  shardOf,
} from "../arrays/mod.ts";
import { describe, inDocument, MetadataError } from "../errors/mod.ts";
import {
  type ArrayMetadata,
  formatZarrJson,
  isGroupDocument,
  parseZarrJson,
} from "../metadata/mod.ts";
import {
  isSameBytes,
  mapConcurrently,
  runConcurrently,
} from "../runtime/mod.ts";
import {
  assertExtents,
  FILE_RECORD_SIZE,
  type ShardIndex,
  shardIndexSize,
  type ShardLayout,
} from "../shards/mod.ts";
import {
  assertLinks,
  assertWritable,
  describeStore,
  isSameValue,
  readSize,
  readValue,
  recover,
  remove,
  type Store,
  type StoreKey,
  type StoreOptions,
  write,
  writeNew,
} from "../stores/mod.ts";
import {
  encodeIndexPart,
  INDEX_SUFFIX,
  isAboutFile,
  readAdopted,
} from "./adopted_index.ts";
import type {
  AdoptedArray,
  AdoptionOptions,
  AdoptionReport,
} from "./adoption_options.ts";

/** The number of files that are read or adopted at the same time. */
export const FILES_AT_ONCE = 16;

/** A file that becomes a shard of an array. */
export interface FileToAdopt {
  /** The grid coordinates of the shard. */
  readonly coordinates: readonly number[];
  /** The key of the file in the store. */
  readonly key: StoreKey;
  /** The length of the file in bytes. */
  readonly size: number;
  /** The extents of its inner chunks. */
  readonly index: ShardIndex;
  /** The number of the contents that the index describes, such as pages, for the record in the index. Defaults to 0. */
  readonly contents?: number;
}

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
 * files are not changed. After a failure, the new indexes are removed again.
 *
 * @param metadata The metadata of the array, with one shard a file and the parts of
 * `adoptedParts`.
 * @throws {MetadataError} If there is a node or another index already, without
 * `overwrite`.
 * @throws {RangeError} If two files have the same coordinates, or a file's key is not
 * that of its chunk, without `link`.
 * @throws {TypeError} If the store is read-only, or cannot link where it has to.
 * @throws {DamageError} If inner chunks of a file overlap, without being the same bytes.
 * @throws {Error} If `finish` is set, and a file lacks its index.
 */
export async function adoptFiles(
  store: Store,
  path: string,
  metadata: ArrayMetadata,
  files: readonly FileToAdopt[],
  options: AdoptFilesOptions,
): Promise<AdoptedArray> {
  const { notes = [], onStep = () => {} } = options;
  const planned = await planAdoption(store, path, metadata, files, options);
  const [report] = await writeAdoption(store, path, [planned], options, onStep);
  return { chunks: planned.chunks, report: { ...report!, notes } };
}

/** An adoption that was checked, and of which nothing is written yet. */
export interface PlannedAdoption {
  readonly path: string;
  readonly chunks: ArrayChunks;
  readonly document: StoreKey;
  /** Whether the store has a document of the array. */
  readonly hasDocument: boolean;
  readonly layout: ShardLayout;
  readonly files: readonly FileToAdopt[];
  readonly placed: readonly PlacedFile[];
  /** All files of the array, if `files` are those of a share. */
  readonly all: readonly Pick<FileToAdopt, "coordinates" | "key">[];
}

/** The document of a group that is not written yet. */
export interface PlannedGroup {
  readonly document: StoreKey;
  readonly bytes: Uint8Array;
  /** Whether the store has a document of the group. */
  readonly hasDocument: boolean;
}

/**
 * Checks all that can be checked before files are adopted as one array.
 *
 * @param options `isLevel`: whether the store may have the document of the array already,
 * with the same bytes, as a killed adoption of several arrays leaves it.
 */
export async function planAdoption(
  store: Store,
  path: string,
  metadata: ArrayMetadata,
  files: readonly FileToAdopt[],
  { link = false, overwrite = false, all = files, isLevel = false, signal }:
    & AdoptFilesOptions
    & { readonly isLevel?: boolean },
): Promise<PlannedAdoption> {
  const storeOptions: StoreOptions = signal ? { signal } : {};
  const document: StoreKey = `${arrayRoot(path)}/zarr.json`;
  assertWritable(store, document);
  const array = parseArray(metadata, { isNew: true });
  const chunks = new ArrayChunks(store, path, array);
  const { layout } = shardOf(array);
  assertKeys(store, chunks, all, link);
  for (const { index, key, size } of files) {
    assertExtents(index, layout, size + shardIndexSize(layout), key);
  }
  const placed = placeFiles(chunks, layout, files);
  const hasDocument =
    await readSize(store, document, storeOptions) !== undefined;
  if (!overwrite) {
    const isSame = isLevel && hasDocument && isSameBytes(
      await readDocument(store, document, storeOptions) ?? new Uint8Array(),
      formatZarrJson(array.metadata),
    );
    if (hasDocument && !isSame) refuse(store, document, document);
    await assertNew(store, document, placed, storeOptions);
  } else if (isLevel && hasDocument) {
    await assertKind(store, document, "array", storeOptions);
  }
  return {
    path,
    chunks,
    document,
    hasDocument,
    layout,
    files,
    placed,
    all,
  };
}

/** The counts of an adopted array. */
type AdoptionCounts = Omit<AdoptionReport, "notes">;

/**
 * Writes the indexes of planned adoptions, then the documents of their arrays. After a
 * failure, what is new is removed again.
 *
 * @param path The path of the array, or of the group of all arrays.
 * @param onStep Called after each index that is written or checked.
 * @param groups The groups whose documents are written after those of the arrays, the
 * outermost one last.
 * @returns The counts of each array.
 */
export async function writeAdoption(
  store: Store,
  path: string,
  planned: readonly PlannedAdoption[],
  options: AdoptionOptions,
  onStep: () => void,
  groups: readonly PlannedGroup[] = [],
): Promise<AdoptionCounts[]> {
  const { overwrite = false, finish, share, signal } = options;
  const storeOptions: StoreOptions = signal ? { signal } : {};
  const indexes = planned.map(({ files }) => files.map(({ index }) => index));
  if (!options.dryRun) {
    const canRecover =
      typeof (store as { recover?: unknown }).recover === "function";
    // Removes temporary files of killed runs. For shares, the run that finishes their work does it.
    if (canRecover && share === undefined) {
      await recover(store, { path: arrayRoot(path).slice(1), ...storeOptions });
    }
    const added: StoreKey[] = [];
    try {
      for (const [i, { chunks, placed, all }] of planned.entries()) {
        if (finish) {
          const found = await assertAdopted(
            chunks,
            store,
            all,
            onStep,
            options,
          );
          indexes[i]!.push(...found);
        }
        await runConcurrently(placed, FILES_AT_ONCE, async (file) => {
          await writeIndex(store, file, overwrite, added, storeOptions);
          onStep();
        }, signal);
      }
      for (const { path, chunks, document, hasDocument } of planned) {
        if (share !== undefined || hasDocument && !overwrite) continue;
        const { metadata } = chunks;
        if (overwrite) {
          await write(store, document, formatZarrJson(metadata), storeOptions);
        } else await createArrayChunks(store, path, metadata, storeOptions);
        if (!hasDocument) added.push(document);
      }
      for (const { document, bytes, hasDocument } of groups) {
        if (share !== undefined || hasDocument && !overwrite) continue;
        if (overwrite) await write(store, document, bytes, storeOptions);
        else if (!await writeNew(store, document, bytes, storeOptions)) {
          refuse(store, document, document);
        }
        if (!hasDocument) added.push(document);
      }
    } catch (error) {
      // Documents are removed before the indexes and files that they need.
      for (const key of added.reverse()) {
        await remove(store, key).catch(() => {});
      }
      throw error;
    }
  }
  return planned.map(({ chunks, layout, all }, i) => ({
    files: indexes[i]!.length,
    missingFiles: countOfGrid(chunks.gridShape) - all.length,
    innerChunks: indexes[i]!.reduce(
      (sum, index) => sum + index.filter((entry) => entry).length,
      0,
    ),
    indexBytes: indexes[i]!.length *
      (FILE_RECORD_SIZE + shardIndexSize(layout)),
  }));
}

/** Links a file and writes its index. A new key is added to `added` before the key is written. */
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

/** Returns the indexes of all files. Refuses files without one, or with one that was made for another file. */
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
        wrong.push(`${describe(key)}: it does not have the key of its chunk`);
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

/** A file with the key of its chunk, and the part that is stored beside the file. */
interface PlacedFile {
  readonly key: StoreKey;
  readonly chunkKey: StoreKey;
  readonly partKey: StoreKey;
  /** Encodes the part when it is written, since the parts of all files would take much memory. */
  encodePart(): Uint8Array;
}

/** Gives files the keys of their chunks. */
function placeFiles(
  chunks: ArrayChunks,
  layout: ShardLayout,
  files: readonly FileToAdopt[],
): PlacedFile[] {
  return files.map(({ coordinates, key, size, index, contents = 0 }) => {
    const chunkKey = chunks.key(coordinates);
    const encodePart = () => encodeIndexPart({ size, contents }, index, layout);
    return { key, chunkKey, partKey: `${chunkKey}${INDEX_SUFFIX}`, encodePart };
  });
}

/**
 * Refuses files that share a chunk, or have other keys than their chunks.
 *
 * @throws {RangeError} If two files have the same coordinates, or a file's key is not
 * that of its chunk, without `link`.
 * @throws {TypeError} If the store cannot link where it has to.
 */
function assertKeys(
  store: Store,
  chunks: ArrayChunks,
  files: readonly Pick<FileToAdopt, "coordinates" | "key">[],
  link: boolean,
): void {
  const seen = new Map<StoreKey, StoreKey>();
  for (const { key, coordinates } of files) {
    const chunkKey = chunks.key(coordinates);
    const other = seen.get(chunkKey);
    if (other !== undefined) {
      throw new RangeError(
        `Expected one file for the chunk ${describe(coordinates)}, found ${
          describe(other)
        } and ${describe(key)}`,
      );
    }
    seen.set(chunkKey, key);
    if (key === chunkKey) continue;
    if (!link) {
      throw new RangeError(
        `File ${describe(key)} does not have the key of its chunk ${
          describe(coordinates)
        }, ${
          describe(chunkKey)
        }: set link: true to give it that key too, choose a chunkKeyEncoding for the names as they are, or show the file under the key of its chunk by mapKeys`,
      );
    }
    assertLinks(store);
  }
}

/** Refuses to replace another file or another index. */
async function assertNew(
  store: Store,
  document: StoreKey,
  files: readonly PlacedFile[],
  options: StoreOptions,
): Promise<void> {
  await runConcurrently(files, FILES_AT_ONCE, async (file) => {
    const { key, chunkKey, partKey } = file;
    const found = await readValue(store, partKey, options);
    const isOther = found !== undefined &&
      !isSameBytes(found, file.encodePart());
    if (isOther) refuse(store, partKey, document);
    if (key === chunkKey) return;
    if (await readSize(store, chunkKey, options) === undefined) return;
    const [from, to] = [key, chunkKey].map((key) => ({ store, key }));
    if (!await isSameValue(from!, to!, options)) {
      refuse(store, chunkKey, document);
    }
  }, options.signal);
}

/**
 * Refuses to replace a document by one of another kind of node, which would leave the nodes
 * or chunks below it.
 *
 * @throws {MetadataError} If the document is that of another kind of node.
 */
export async function assertKind(
  store: Store,
  document: StoreKey,
  kind: "array" | "group",
  options: StoreOptions,
): Promise<void> {
  const found = await readDocument(store, document, options);
  const storeName = describeStore(store);
  const node = found &&
    inDocument(document, storeName, () => parseZarrJson(found));
  const isOther = kind === "group"
    ? !isGroupDocument(node)
    : isGroupDocument(node);
  if (node === undefined || !isOther) return;
  throw new MetadataError(
    `Cannot adopt files as a group: ${describe(document)} is not that of ${
      kind === "group" ? "a group" : "an array"
    }; remove it, or choose another path`,
    "",
    { document, store: storeName },
  );
}

/** Refuses to replace a value. */
export function refuse(store: Store, key: StoreKey, document: StoreKey): never {
  throw new MetadataError(
    `Cannot adopt files: ${
      describe(key)
    } is there already; remove it, or set overwrite: true`,
    "",
    { document, store: describeStore(store) },
  );
}
