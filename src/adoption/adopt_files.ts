import { ArrayChunks } from "../arrays/array_chunks.ts";
import { arrayRoot } from "../arrays/array_root.ts";
import { storageOf } from "../arrays/storage_of.ts";
import { completeMetadata } from "../arrays/complete_metadata.ts";
import { createArrayChunks } from "../arrays/open_array_chunks.ts";
import type { ArrayMetadata } from "../metadata/array_metadata.ts";
import { describe } from "../metadata/describe.ts";
import { MetadataError } from "../metadata/metadata_error.ts";
import { formatZarrJson } from "../metadata/zarr_json.ts";
import { type ShardIndex, shardIndexSize } from "../shards/shard_index.ts";
import { parseShardLayout } from "../shards/shard_layout.ts";
import {
  assertWritable,
  readSize,
  remove,
  write,
} from "../stores/capabilities.ts";
import { describeStore } from "../stores/describe_store.ts";
import { forEachAtOnce } from "../stores/for_each_at_once.ts";
import { assertLinks } from "../stores/link.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import type { AdoptedArray } from "./adopted_array.ts";
import { encodeIndexPart, INDEX_SUFFIX } from "./index_part.ts";

/** The number of files that are worked on at the same time. */
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
  /** Which contents of the file the index is of, as in its record. Defaults to 0. */
  readonly contents?: number;
}

/** Options of {@linkcode adoptFiles}. */
export interface AdoptFilesOptions extends StoreOptions {
  /** Whether a file with another key than its chunk is linked to the chunk's key. */
  link?: boolean | undefined;
  /** Whether existing indexes and metadata are replaced. */
  overwrite?: boolean | undefined;
  /** Notes for the report. */
  notes?: readonly string[] | undefined;
}

/**
 * Makes an array of files: writes an index beside each file, and then `zarr.json`. The
 * files are not changed. If that fails, what was written is removed again.
 *
 * @param metadata The metadata of the array, with one shard a file and the parts of
 * `adoptedParts`.
 * @throws {MetadataError} If there is a node or an index already, without `overwrite`.
 * @throws {RangeError} If two files have the same coordinates, or a file's key is not
 * that of its chunk, without `link`.
 * @throws {TypeError} If the store is read-only, or cannot link where it has to.
 */
export async function adoptFiles(
  store: Store,
  path: string,
  metadata: ArrayMetadata,
  files: readonly FileToAdopt[],
  { link = false, overwrite = false, notes = [], ...options }:
    AdoptFilesOptions,
): Promise<AdoptedArray> {
  const document: StoreKey = `${arrayRoot(path)}/zarr.json`;
  assertWritable(store, document);
  const written = completeMetadata(storageOf(metadata));
  const chunks = new ArrayChunks(store, path, written);
  const layout = parseShardLayout(written.codecs[0], chunks.chunkShape);
  const placed = files.map((file) => ({
    ...file,
    chunkKey: chunks.key(file.coordinates),
  }));
  assertKeys(store, placed, link);
  if (!overwrite) await assertNew(store, document, placed, options);

  const added: StoreKey[] = [];
  try {
    await forEachAtOnce(placed, FILES_AT_ONCE, async (file) => {
      const { key, chunkKey, index, size, contents = 0 } = file;
      options.signal?.throwIfAborted();
      if (key !== chunkKey) {
        assertLinks(store);
        const isNew = await readSize(store, chunkKey, options) === undefined;
        await store.link(key, chunkKey, options);
        if (isNew) added.push(chunkKey);
      }
      const part = encodeIndexPart({ size, contents }, index, layout);
      const partKey: StoreKey = `${chunkKey}${INDEX_SUFFIX}`;
      await write(store, partKey, part, options);
      if (!overwrite) added.push(partKey);
    });
    if (overwrite) {
      await write(store, document, formatZarrJson(written), options);
    } else await createArrayChunks(store, path, written, options);
  } catch (error) {
    for (const key of added) await remove(store, key).catch(() => {});
    throw error;
  }
  return { chunks, report: reportOf(chunks, files, layout, notes) };
}

/** Files with the keys of their chunks. */
type Placed = FileToAdopt & { readonly chunkKey: StoreKey };

function assertKeys(
  store: Store,
  files: readonly Placed[],
  link: boolean,
): void {
  const seen = new Map<StoreKey, StoreKey>();
  for (const { key, chunkKey, coordinates } of files) {
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
        `File ${describe(key)} has not the key of its chunk ${
          describe(coordinates)
        }, ${
          describe(chunkKey)
        }: set link: true to give it that key too, choose a chunkKeyEncoding for the names as they are, or show the file under the key of its chunk by mapKeys`,
      );
    }
    assertLinks(store);
  }
}

async function assertNew(
  store: Store,
  document: StoreKey,
  files: readonly Placed[],
  options: StoreOptions,
): Promise<void> {
  const keys: StoreKey[] = [
    document,
    ...files.flatMap(({ key, chunkKey }): StoreKey[] => [
      `${chunkKey}${INDEX_SUFFIX}`,
      ...key === chunkKey ? [] : [chunkKey],
    ]),
  ];
  await forEachAtOnce(keys, FILES_AT_ONCE, async (key) => {
    if (await readSize(store, key, options) === undefined) return;
    throw new MetadataError(
      `Cannot adopt files: ${
        describe(key)
      } is there already; remove it, or set overwrite: true`,
      "",
      { document, store: describeStore(store) },
    );
  });
}

function reportOf(
  { gridShape }: ArrayChunks,
  files: readonly FileToAdopt[],
  layout: Parameters<typeof shardIndexSize>[0],
  notes: readonly string[],
): AdoptedArray["report"] {
  const chunkCount = gridShape.reduce((product, n) => product * n, 1);
  const innerChunks = files.reduce(
    (sum, { index }) => sum + index.filter((entry) => entry).length,
    0,
  );
  return {
    files: files.length,
    missingFiles: chunkCount - files.length,
    innerChunks,
    indexBytes: files.length * shardIndexSize(layout),
    notes,
  };
}
