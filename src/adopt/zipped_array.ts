import {
  type ArrayChunks,
  arrayRoot,
  openArrayChunks,
  parseArray,
} from "../arrays/mod.ts";
import { crc32 } from "../checksum/mod.ts";
import { describe, MetadataError } from "../errors/mod.ts";
import type { ArrayMetadata } from "../metadata/mod.ts";
import {
  type Extent,
  placeInShard,
  type ShardIndex,
  type ShardLayout,
} from "../shards/mod.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/mod.ts";
import { storedEntries, type StoredEntry, ZipStore } from "../zip/mod.ts";

const DOCUMENT = "/zarr.json";

/** An array inside a zip. */
export interface ZippedArray {
  /** The length of the zip in bytes. */
  readonly size: number;
  /** The metadata of the array, written out. */
  readonly metadata: ArrayMetadata;
  /** The shape of its chunks in elements. */
  readonly chunkShape: readonly number[];
  /** The extents of the chunks in the zip, with their grid coordinates. */
  readonly extents: readonly (StoredEntry & {
    readonly coordinates: readonly number[];
  })[];
}

/**
 * Reads where the chunks of an array lie in a zip.
 *
 * @param array The path of the array inside the zip, or the number that
 * {@linkcode contentsOf} gives for the path.
 * @throws {DamageError} If the file is not a zip, or is damaged.
 * @throws {RangeError} If there is no file, an entry of the array is compressed, encrypted
 * or there twice, or the chunks of the array are in parts.
 * @throws {MetadataError} If no array of Zarr v3 is at the path.
 */
export async function readZippedArray(
  store: Store,
  key: StoreKey,
  array: string | number,
  options: StoreOptions,
): Promise<ZippedArray> {
  const path = typeof array === "string"
    ? array
    : await pathOf(new ZipStore(store, key), array, key, options);
  const zip = new ZipStore(store, key, { path });
  const { size } = await zip.describe(options);
  const chunks = await openInside(zip, options);
  if ((chunks.metadata.storage_transformers ?? []).length > 0) {
    throw new RangeError(
      `File ${
        describe(key)
      } has an array with storage transformers, of which a chunk may be several entries: adopt arrays without them`,
    );
  }
  const { metadata } = parseArray(chunks.metadata, { isNew: true });
  const coordinates: number[][] = [];
  for await (const chunk of chunks.list(options)) coordinates.push(chunk);
  if (coordinates.length === 0) {
    throw new RangeError(
      `File ${describe(key)} has no chunk of its array, such as the entry ${
        describe(chunks.keyEncoding.encode(chunks.gridShape.map(() => 0)))
      } beside its zarr.json, so that all elements would have the fill value: leave it out, or correct the names of its entries`,
    );
  }
  const keys = coordinates.map((c) => chunks.key(c));
  const extents = await storedEntries(zip, keys, options);
  return {
    size,
    metadata,
    chunkShape: chunks.chunkShape,
    extents: extents.map((extent, i) => ({
      coordinates: coordinates[i]!,
      ...extent,
    })),
  };
}

/** Opens the array that a zip shows. If another node is there, the error advises how to name the array. */
async function openInside(
  zip: ZipStore,
  options: StoreOptions,
): Promise<ArrayChunks> {
  try {
    return await openArrayChunks(zip, "", options);
  } catch (cause) {
    const isMissing = cause instanceof MetadataError &&
      ["", "/node_type"].includes(cause.path);
    if (!isMissing) throw cause;
    for await (const key of zip.list("/", options)) {
      if (!key.endsWith(DOCUMENT) || key === DOCUMENT) continue;
      throw new MetadataError(
        `${cause.message}: name the array by the option "array", such as ${
          describe(key.slice(1, -DOCUMENT.length))
        }`,
        "",
        { cause },
      );
    }
    throw cause;
  }
}

/** Makes the index of a zip as a shard. */
export function indexOf(
  { extents }: ZippedArray,
  layout: ShardLayout,
): ShardIndex {
  const count = layout.chunksPerShard.reduce((product, n) => product * n, 1);
  const index = new Array<Extent | undefined>(count).fill(undefined);
  for (const { coordinates, extent } of extents) {
    index[placeInShard(coordinates, layout)] = extent;
  }
  return index;
}

/** Finds the path of an array by its number, which may count from the root of the archive or from the folder that is shown. */
async function pathOf(
  zip: ZipStore,
  contents: number,
  key: StoreKey,
  options: StoreOptions,
): Promise<string> {
  const { folder } = await zip.describe(options);
  for await (const entry of zip.list("/", options)) {
    if (!entry.endsWith(DOCUMENT)) continue;
    const path = entry.slice(1, -DOCUMENT.length);
    const paths = [path, path === "" ? folder : `${folder}/${path}`];
    const found = paths.find((each) => contentsOf(each) === contents);
    if (found !== undefined) return found;
  }
  throw new RangeError(
    `File ${describe(key)} has no array at the path that was adopted`,
  );
}

/** Writes a member of metadata for messages, with whole numbers of more than 53 bits as texts. */
export function memberText(member: unknown): string {
  return JSON.stringify(
    member,
    (_, value) => typeof value === "bigint" ? String(value) : value,
  );
}

/** The number that stands for the path of an array in the record of a file: a CRC-32, which is 0 for the root. */
export function contentsOf(path: string): number {
  return crc32(new TextEncoder().encode(arrayRoot(path).slice(1)));
}
