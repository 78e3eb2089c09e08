import {
  type ArrayChunks,
  arrayRoot,
  chunksOfGrid,
  openArrayChunks,
  parsedArrayOf,
  shardOf,
} from "../arrays/mod.ts";
import { describe, MetadataError } from "../errors/mod.ts";
import {
  type ArrayMetadata,
  isSameJson,
  type NamedConfiguration,
} from "../metadata/mod.ts";
import { runConcurrently } from "../runtime/mod.ts";
import type { ShardIndex } from "../shards/mod.ts";
import {
  readRange,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import {
  bandsFirst,
  decodeSelection,
  readShard,
  stacked,
  type TiffShard,
  withRows,
} from "../tiff/mod.ts";
import { FILES_AT_ONCE } from "./adopt_files.ts";
import {
  INDEX_SUFFIX,
  isAboutFile,
  MismatchError,
  readAdopted,
} from "./adopted_index.ts";
import { wrongEntries, ZipStore } from "../zip/mod.ts";
import { indexOf, metadataOf } from "./tiff_files.ts";
import {
  differentMember,
  indexOf as zipIndexOf,
  memberText,
  readZippedArray,
  type ZippedArray,
} from "./zipped_array.ts";

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
  return await verifyFiles(store, path, options, makeTiffIndex);
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
  return await verifyFiles(store, path, options, makeZipIndex);
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
  // A zip may start with any bytes.
  const isZip = !await isTiff(store, key, options);
  const reason = await mismatchOf(
    store,
    chunks,
    coordinates,
    isZip ? makeZipIndex : makeTiffIndex,
    options,
  );
  if (reason !== undefined) {
    const message = `File ${
      describe(key)
    } is not the one that was adopted: ${reason}; restore it, or adopt the files again with the option "overwrite"`;
    yield { kind: "file", message };
    return;
  }
  if (!isZip || !isDeep) return;
  const adopted = await readAdopted(store, chunks, coordinates, options);
  if (adopted === undefined) return;
  const { contents } = adopted;
  const zip = await readZippedArray(store, key, contents, options);
  const names = new Set(zip.extents.map(({ name }) => name));
  const problems = wrongEntries(
    new ZipStore(store, key),
    { ...options, isSelected: (name) => names.has(name) },
  );
  for await (const { message } of problems) yield { kind: "entry", message };
}

/** The length of the number at the start of each TIFF. */
const START_SIZE = 4;

async function isTiff(
  store: Store,
  key: StoreKey,
  options: StoreOptions,
): Promise<boolean> {
  const range = { offset: 0, length: START_SIZE };
  const start = await readRange(store, key, range, options);
  return /^(?:II[*+]\0|MM\0[*+])$/.test(String.fromCharCode(...start ?? []));
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
interface FileToVerify {
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
async function mismatchOf(
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

/** Makes the index of an adopted TIFF anew. */
async function makeTiffIndex(
  store: Store,
  file: FileToVerify,
  options: StoreOptions,
): Promise<ShardIndex> {
  const { contents, chunks: { chunkShape, innerChunkShape } } = file;
  const selection = decodeSelection(contents);
  const shard = fitted(await readShard(store, file, selection, options), file);
  assertSameTiff(shard, file);
  const chunksPerShard = chunkShape.map((n, i) => n / innerChunkShape![i]!);
  return indexOf(shard, chunksPerShard);
}

/** Gives a shard the dimensions and the rows that `adoptTiffs` gave it. */
function fitted(
  shard: TiffShard,
  { chunks: { metadata, chunkShape, innerChunkShape } }: FileToVerify,
): TiffShard {
  const count = chunkShape.length - shard.shape.length;
  const placed = stacked(shard, Math.max(count, 0));
  const y = placed.dimensionNames.indexOf("y");
  // No codec of a TIFF is `transpose`, which puts bands before rows.
  const areBandsFirst = placed.dimensionNames.at(-1) === "band" &&
    innerCodecsOf(metadata)[0]?.name === "transpose";
  const rows = innerChunkShape?.[areBandsFirst ? y + 1 : y] ?? 0;
  const fitted = withRows(placed, rows) ?? placed;
  return areBandsFirst ? bandsFirst(fitted) ?? fitted : fitted;
}

/** The codecs of inner chunks. */
function innerCodecsOf(
  { codecs: [sharding] }: ArrayMetadata,
): readonly { readonly name?: string }[] {
  const { codecs } = Object(Object(sharding).configuration);
  return Array.isArray(codecs) ? codecs : [];
}

/** Refuses a file that is not a shard of its array any more. */
function assertSameTiff(
  shard: TiffShard,
  { coordinates, chunks }: FileToVerify,
): void {
  const { metadata, chunkShape, innerChunkShape, keyEncoding } = chunks;
  const shape = metadata.shape.map((length, i) =>
    Math.min(chunkShape[i]!, length - coordinates[i]! * chunkShape[i]!)
  );
  const same = (what: string, found: unknown, expected: unknown) => {
    if (isSameJson(found, expected)) return;
    throw new MismatchError(
      `the file has the ${what} ${describe(found)}, where the array has ${
        describe(expected)
      }`,
    );
  };
  same("shape", shard.shape, shape);
  same("shape of tiles", shard.tileShape, innerChunkShape);
  const chunksPerShard = chunkShape.map((n, i) => n / innerChunkShape![i]!);
  const mosaic = { shape: chunkShape, shardShape: chunkShape, chunksPerShard };
  const expected = metadataOf(shard, mosaic, keyEncoding, {});
  same("data type", expected.data_type, metadata.data_type);
  if (!isSameJson(expected.codecs, metadata.codecs)) {
    throw new MismatchError(
      "the file has tiles of other codecs than the array",
    );
  }
  if (shard.tiles.includes(undefined)) {
    same("fill value", expected.fill_value, metadata.fill_value);
  }
}

/** Makes the index of an adopted zip anew. */
async function makeZipIndex(
  store: Store,
  file: FileToVerify,
  options: StoreOptions,
): Promise<ShardIndex> {
  const { key, contents, chunks } = file;
  const zip = await readZippedArray(store, key, contents, options)
    .catch((error) => {
      if (!(error instanceof MetadataError)) throw error;
      throw new MismatchError(error.message, { cause: error });
    });
  assertSameZip(zip, file);
  return zipIndexOf(zip, shardOf(parsedArrayOf(chunks)).layout);
}

/** Refuses a file that is not a shard of its array any more. */
function assertSameZip(
  { metadata }: ZippedArray,
  { coordinates, chunks }: FileToVerify,
): void {
  const { metadata: array, chunkShape, innerChunkShape } = chunks;
  const shape = chunkShape.map((length, i) =>
    Math.min(length, array.shape[i]! - coordinates[i]! * length)
  );
  if (!isSameJson(metadata.shape, shape)) {
    throw new MismatchError(
      `the file has an array of the shape ${
        describe(metadata.shape)
      }, where its shard has ${describe(shape)}`,
    );
  }
  const [sharding] = array.codecs as readonly NamedConfiguration[];
  const expected = {
    ...array,
    chunk_grid: {
      name: "regular",
      configuration: { chunk_shape: innerChunkShape! },
    },
    codecs: sharding!.configuration!.codecs as ArrayMetadata["codecs"],
  };
  const different = differentMember(metadata, expected);
  if (different === undefined) return;
  throw new MismatchError(
    `the file has an array with the ${different} ${
      memberText(metadata[different])
    }, where the array has ${memberText(expected[different])}`,
  );
}
