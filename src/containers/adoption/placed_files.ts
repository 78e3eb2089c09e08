import type { ArrayChunks } from "../../arrays/mod.ts";
import { describe, MetadataError } from "../../errors/mod.ts";
import { isSameBytes, runConcurrently } from "../../runtime/mod.ts";
import type { ShardIndex, ShardLayout } from "../../shards/mod.ts";
import {
  assertLinks,
  describeStore,
  isSameFile,
  readSize,
  readValue,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../../stores/mod.ts";
import { encodeIndexPart, INDEX_SUFFIX } from "./adopted_index.ts";

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
  /** The contents of the file that the index describes, as in the record of the index. Defaults to 0. */
  readonly contents?: number;
}

/** A file with the key of its chunk, and the part that is stored beside the file. */
export interface PlacedFile {
  readonly key: StoreKey;
  readonly chunkKey: StoreKey;
  readonly partKey: StoreKey;
  /** Encodes the part. The parts of all files would take much memory. */
  encodePart(): Uint8Array;
}

/** Gives files the keys of their chunks. */
export function placeFiles(
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
export function assertKeys(
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

/** Refuses to replace a document, another file or another index. */
export async function assertNew(
  store: Store,
  document: StoreKey,
  files: readonly PlacedFile[],
  options: StoreOptions,
): Promise<void> {
  const refuse = (key: StoreKey) => {
    throw new MetadataError(
      `Cannot adopt files: ${
        describe(key)
      } is there already; remove it, or set overwrite: true`,
      "",
      { document, store: describeStore(store) },
    );
  };
  if (await readSize(store, document, options) !== undefined) refuse(document);
  await runConcurrently(files, FILES_AT_ONCE, async (file) => {
    const { key, chunkKey, partKey } = file;
    const found = await readValue(store, partKey, options);
    const isOther = found !== undefined &&
      !isSameBytes(found, file.encodePart());
    if (isOther) refuse(partKey);
    if (key === chunkKey) return;
    if (await readSize(store, chunkKey, options) === undefined) return;
    const [from, to] = [key, chunkKey].map((key) => ({ store, key }));
    if (!await isSameFile(from!, to!, options)) refuse(chunkKey);
  }, options.signal);
}
