import {
  type ArrayChunks,
  chunksOfGrid,
  compareChunks,
  openArrayChunks,
  parsedArrayOf,
  shardOf,
} from "../arrays/mod.ts";
import { DamageError, MetadataError, sentence } from "../errors/mod.ts";
import { type ArrayMetadata, isSameJson } from "../metadata/mod.ts";
import { runConcurrently } from "../runtime/mod.ts";
import {
  assertFileSize,
  decodeFileRecord,
  decodeShardIndex,
  FILE_RECORD_SIZE,
  type ShardIndex,
  shardIndexSize,
} from "../shards/mod.ts";
import {
  backendOf,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import {
  bandsFirst,
  decodeSelection,
  isTiff,
  readTiff,
  type TiffShard,
  withRows,
} from "../tiff/mod.ts";
import { wrongEntries, ZipStore } from "../zip/mod.ts";
import { FILES_AT_ONCE } from "./adopt_files.ts";
import { arrayOfShard, metadataOf, stacked } from "./adopt_tiffs.ts";
import { readZippedArray } from "./adopt_zip.ts";
import {
  adoptedSharding,
  type FileArray,
  INDEX_SUFFIX,
  shardIndexOf,
} from "./adopted_array.ts";

/**
 * Reads the directories of all files of an adopted array again, and compares them with
 * the indexes that `adoptTiffs` wrote.
 *
 * A file that was written anew needs a new index, since its tiles may lie elsewhere.
 * Readers notice most files of another length by themselves. This function also finds
 * files of the same length whose tiles lie elsewhere. Files whose tiles have the same
 * places have the right index, whatever the tiles hold.
 *
 * @param store The store that holds the array.
 * @param path The array's path in the store; empty for the root.
 * @param options `signal` aborts the reading.
 * @returns The files whose indexes are not right. `adoptTiffs` with `overwrite: true`
 * makes new ones.
 * @throws {MetadataError} If there is no array, or its metadata is not valid.
 *
 * @example
 * ```ts
 * import { MemoryStore } from "@zarr-parts/zarr-parts";
 * import { adoptTiffs, verifyAdopted } from "@zarr-parts/zarr-parts/tiff";
 * import { assertEquals } from "@std/assert";
 *
 * // A TIFF of 1 × 2 bytes in one strip, at byte 8.
 * const entries = [[256, 2], [257, 1], [258, 8], [273, 8], [279, 2]];
 * const tiff = new Uint8Array(12 + 2 + entries.length * 12 + 4);
 * const view = new DataView(tiff.buffer);
 * tiff.set([0x49, 0x49, 42, 0, 12]);
 * view.setUint16(12, entries.length, true);
 * entries.forEach(([tag, value], i) => {
 *   view.setUint16(14 + i * 12, tag!, true);
 *   view.setUint16(16 + i * 12, 4, true);
 *   view.setUint32(18 + i * 12, 1, true);
 *   view.setUint32(22 + i * 12, value!, true);
 * });
 *
 * const store = new MemoryStore([["/c/0/0.tif", tiff]]);
 * await adoptTiffs(store, "");
 * assertEquals((await verifyAdopted(store, "")).mismatches, []);
 *
 * view.setUint32(22 + 3 * 12, 10, true); // Another program writes the strip elsewhere.
 * await store.set("/c/0/0.tif", tiff);
 * assertEquals((await verifyAdopted(store, "")).mismatches, [{
 *   key: "/c/0/0.tif",
 *   reason: "inner chunk 0 has 2 bytes from 10 on, where its index has 2 bytes from 8 on",
 * }]);
 * ```
 */
export async function verifyAdopted(
  store: Store,
  path: string,
  options: StoreOptions = {},
): Promise<AdoptedVerification> {
  return await verifyFiles(store, path, options, readTiffAgain);
}

/**
 * Reads the directories of all files of an adopted array again, and compares them with
 * the indexes that `adoptZip` wrote.
 *
 * A file that was written anew needs a new index, since its entries may lie elsewhere.
 * Readers notice a file of another length by themselves, except over HTTP. This
 * function also finds files of the same length whose entries lie elsewhere, or whose
 * array has become another one. Files whose entries have the same places have the right
 * index, whatever the entries hold.
 *
 * @param store The store that holds the array.
 * @param path The array's path in the store; empty for the root.
 * @param options `signal` aborts the reading.
 * @returns The files whose indexes are not right. `adoptZip` with `overwrite: true`
 * makes new ones.
 * @throws {MetadataError} If there is no array, or its metadata is not valid.
 *
 * @example
 * ```ts
 * import { arrayMetadata, encodeShard, MemoryStore, parseShardLayout } from "@zarr-parts/zarr-parts";
 * import { adoptZip, verifyAdoptedZip, zipContainer } from "@zarr-parts/zarr-parts/zip";
 * import { assertEquals } from "@std/assert";
 *
 * const metadata = arrayMetadata({ shape: [4], dataType: "uint8", shardShape: [4], chunkShape: [2] });
 * const layout = parseShardLayout(metadata.codecs[0], [4]);
 * const makeZip = (...chunks: number[][]) =>
 *   encodeShard(chunks.map((chunk) => new Uint8Array(chunk)), layout, {
 *     container: zipContainer(metadata, { zarrJson: "first" })([0]),
 *   });
 *
 * const store = new MemoryStore([["/c/0.zip", makeZip([1], [2, 3])]]);
 * await adoptZip(store, "");
 * assertEquals((await verifyAdoptedZip(store, "")).mismatches, []);
 *
 * await store.set("/c/0.zip", makeZip([1, 2], [3])); // Another program writes it anew.
 * const { mismatches } = await verifyAdoptedZip(store, "");
 * assertEquals(mismatches.map(({ key }) => key), ["/c/0.zip"]);
 * ```
 */
export async function verifyAdoptedZip(
  store: Store,
  path: string,
  options: StoreOptions = {},
): Promise<AdoptedVerification> {
  return await verifyFiles(store, path, options, readZippedArray);
}

/** A way in which an adopted file is not the one that was adopted. */
interface AdoptedFileProblem {
  /** `"file"` if the index does not fit the file, `"entry"` if one entry of a zip was changed. */
  readonly kind: "file" | "entry";
  /** The difference, in a sentence. */
  readonly message: string;
}

/**
 * Makes the index of an adopted file of any format anew, and compares the index with the
 * stored one.
 *
 * @param isDeep Whether the checksums of the entries of zips are compared, too.
 */
export async function* verifyAdoptedFile(
  store: Store,
  chunks: ArrayChunks,
  coordinates: readonly number[],
  isDeep: boolean,
  options: StoreOptions,
): AsyncGenerator<AdoptedFileProblem> {
  const key = chunks.key(coordinates);
  const { reason, entries } = await compareFile(
    store,
    chunks,
    coordinates,
    // A zip may start with any bytes.
    await isTiff((range) => backendOf(store).getRange(key, range, options))
      ? readTiffAgain
      : readZippedArray,
    options,
  );
  if (reason !== undefined) {
    const message = sentence`File ${key} is not the one that was adopted: ` +
      `${reason}; restore it, or adopt the files again with the option "overwrite"`;
    yield { kind: "file", message };
  } else if (isDeep && entries !== undefined) {
    const problems = wrongEntries(
      new ZipStore(store, key),
      { ...options, isSelected: (name) => entries.has(name) },
    );
    for await (const { message } of problems) yield { kind: "entry", message };
  }
}

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
async function verifyFiles(
  store: Store,
  path: string,
  options: StoreOptions,
  readAgain: ReadAgain,
): Promise<AdoptedVerification> {
  const chunks = await openArrayChunks(store, path, options);
  // A store that cannot list is asked for each file.
  const listed: number[][] = [];
  if (store.list !== undefined) {
    for await (const shard of chunks.list(options)) listed.push(shard);
  }
  const shards = store.list === undefined
    ? chunksOfGrid(chunks.gridShape)
    : listed.sort(compareChunks);
  let files = 0;
  const mismatches: AdoptedMismatch[] = [];
  await runConcurrently(shards, FILES_AT_ONCE, async (shard) => {
    const place = files++;
    const { reason } = await compareFile(
      store,
      chunks,
      shard,
      readAgain,
      options,
    );
    if (reason !== undefined) {
      mismatches[place] = { key: chunks.key(shard), reason };
    }
  }, options.signal);
  return { files, mismatches: mismatches.filter(() => true) };
}

/** An adopted file, read again. */
interface FileAgain extends FileArray {
  readonly metadata: ArrayMetadata;
  /** The names of the entries of a zip. */
  readonly entries?: ReadonlySet<string>;
}

/**
 * Reads a file as it is adopted.
 *
 * @throws {RangeError | MetadataError} If the file cannot be adopted.
 * @throws {DamageError} If the file cannot be read.
 */
type ReadAgain = (
  store: Store,
  key: StoreKey,
  contents: number,
  options: StoreOptions,
  chunks: ArrayChunks,
) => Promise<FileAgain>;

/**
 * Reads an adopted file again, and compares it with the array and with its stored index.
 *
 * @returns The difference, if there is one. Nothing if there is neither file nor index.
 */
async function compareFile(
  store: Store,
  chunks: ArrayChunks,
  coordinates: readonly number[],
  readAgain: ReadAgain,
  options: StoreOptions,
): Promise<{ reason?: string | undefined; entries?: FileAgain["entries"] }> {
  const key = chunks.key(coordinates);
  const partKey: StoreKey = `${key}${INDEX_SUFFIX}`;
  const [size, part] = await Promise.all([
    backendOf(store).size(key, options),
    backendOf(store).get(partKey, options),
  ]);
  if (size === undefined && part === undefined) return {};
  const { layout } = shardOf(parsedArrayOf(chunks));
  const length = FILE_RECORD_SIZE + shardIndexSize(layout);
  const record = part && decodeFileRecord(part.subarray(0, FILE_RECORD_SIZE));
  if (size === undefined || part?.length !== length || record === undefined) {
    const reason = size === undefined
      ? "the file is missing, and its index is there"
      : part === undefined
      ? "the file has no index"
      : part.length !== length
      ? `the index has ${part.length} bytes, expected ${length} with a record of its file`
      : "the index starts with other bytes, expected an index with a record of its file";
    return { reason };
  }
  try {
    assertFileSize(record, key, size);
    const stored = part.subarray(FILE_RECORD_SIZE);
    const index = decodeShardIndex(stored, layout, partKey);
    const { contents } = record;
    const file = await readAgain(store, key, contents, options, chunks);
    const reason = difference(file, chunks, coordinates, index);
    return { reason, entries: file.entries };
  } catch (error) {
    const isAboutFile = error instanceof RangeError ||
      error instanceof DamageError || error instanceof MetadataError;
    if (isAboutFile) return { reason: error.message };
    throw error;
  }
}

/** Says in what a file differs first from a shard of an array. */
function difference(
  file: FileAgain,
  { metadata: array, chunkShape: shardShape, innerChunkShape }: ArrayChunks,
  coordinates: readonly number[],
  index: ShardIndex,
): string | undefined {
  const { shape, chunkShape, chunks, metadata, entries } = file;
  const expected = shardShape.map((length, i) =>
    Math.min(length, array.shape[i]! - coordinates[i]! * length)
  );
  const differs = (what: string, found: unknown, expected: unknown) =>
    isSameJson(found ?? null, expected ?? null)
      ? undefined
      : `the file has the ${what} ` +
        sentence`${found}, where the array has ${expected}`;
  // The fill value of TIFFs without sparse tiles may be another one by an option.
  const hasFill = entries !== undefined || chunks.includes(undefined);
  const codecs = [adoptedSharding(chunkShape, metadata.codecs)];
  return differs("shape", shape, expected) ??
    differs("shape of inner chunks", chunkShape, innerChunkShape) ??
    differs("data type", metadata.data_type, array.data_type) ??
    (hasFill
      ? differs("fill value", metadata.fill_value, array.fill_value)
      : undefined) ??
    differs("codecs", codecs, array.codecs) ??
    differentExtent(
      index,
      shardIndexOf(file, shardShape.map((n, i) => n / innerChunkShape![i]!)),
    );
}

/** Says where two indexes differ first. */
function differentExtent(
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

/** Reads a TIFF with the dimensions and the rows that `adoptTiffs` gave it. */
async function readTiffAgain(
  store: Store,
  key: StoreKey,
  contents: number,
  options: StoreOptions,
  chunks: ArrayChunks,
): Promise<FileAgain> {
  const selection = decodeSelection(contents);
  const { levels: [level] } = await readTiff(store, key, selection, options);
  const shard = fitted(level!.shard, chunks);
  return { ...arrayOfShard(shard), metadata: metadataOf(shard) };
}

/** Gives a shard the dimensions and the rows that `adoptTiffs` gave it. */
function fitted(shard: TiffShard, chunks: ArrayChunks): TiffShard {
  const { chunkShape, innerChunkShape } = chunks;
  const count = chunkShape.length - shard.shape.length;
  const placed = stacked(shard, Math.max(count, 0));
  const y = placed.dimensionNames.indexOf("y");
  // No codec of a TIFF is `transpose`, which puts bands before rows.
  const { inner } = shardOf(parsedArrayOf(chunks));
  const areBandsFirst = placed.dimensionNames.at(-1) === "band" &&
    inner.codecs[0]?.name === "transpose";
  const rows = innerChunkShape?.[areBandsFirst ? y + 1 : y] ?? 0;
  const fitted = withRows(placed, rows) ?? placed;
  return areBandsFirst ? bandsFirst(fitted) ?? fitted : fitted;
}
