import { arrayMetadata, arrayRoot } from "../../arrays/mod.ts";
import {
  type ChunkKeyEncoding,
  SuffixChunkKeyEncoding,
  toChunkKeyEncoding,
} from "../../chunk_key_encoding/mod.ts";
import {
  BOOLEAN,
  checkOptions,
  DamageError,
  describe,
  objectRule,
  type OptionRules,
  wholeFrom,
} from "../../errors/mod.ts";
import type { ArrayMetadata, NamedConfiguration } from "../../metadata/mod.ts";
import { mapConcurrently } from "../../runtime/mod.ts";
import type { ShardIndex } from "../../shards/mod.ts";
import {
  assertStore,
  assertWritable,
  describeStore,
  readSize,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../../stores/mod.ts";
import {
  adoptFiles,
  FILES_AT_ONCE,
  type FileToAdopt,
} from "../adoption/adopt_files.ts";
import { adoptedLayout, adoptedParts } from "../adoption/adopted_index.ts";
import {
  type AdoptedArray,
  ADOPTION_OPTIONS,
  type AdoptionOptions,
  assertAdoption,
} from "../adoption/adoption_options.ts";
import {
  countSteps,
  filesOfShare,
  findFiles,
  type SharedFile,
} from "../adoption/files_to_adopt.ts";
import {
  type Mosaic,
  type MosaicFile,
  mosaicOf,
  notesOnStarts,
} from "../adoption/mosaic.ts";
import { assertJpeg } from "./jpeg_tiles.ts";
import { MOST_TILES } from "./page_tiles.ts";
import {
  commonRows,
  differenceOf,
  encodeSelection,
  MOST_OVERVIEWS,
  MOST_PAGES,
  readShard,
  stacked,
  type TiffShard,
  withRows,
} from "./tiff_shard.ts";

/**
 * Makes a Zarr array of TIFF files, each of which becomes a shard with its tiles, or its
 * strips, as inner chunks. The files are not changed: an index is written beside each
 * file, under the file's key and `.index`, and then the array's `zarr.json`. Only the
 * directories of the files are read.
 *
 * Files at neighbouring grid coordinates make a mosaic. All have one data type, one
 * shape of tiles, one compression and one fill value, and all but the last ones along
 * a dimension have one length. `stack` puts each file at one place of a new first
 * dimension.
 *
 * A file that is written anew after it was adopted needs a new index: call `adoptTiffs`
 * again with `overwrite: true`. `verifyAdopted` finds such files.
 *
 * @param store The store that holds the files, and takes the indexes and the metadata.
 * @param path The array's path in the store; empty for the root.
 * @param options The names of the files, and what of them is adopted.
 * @returns The array, and a report about its files.
 * @throws {RangeError} If there are no files, or they cannot be one array: the message
 * names a file, the reason, and what to do.
 * @throws {DamageError} If a file is not a TIFF, or its directories are damaged.
 * @throws {MetadataError} If a node or another index is there already, without
 * `overwrite`.
 * @throws {Error} If `finish` is set, and a file has not its index.
 * @throws {TypeError} If an option is unknown or of a wrong type, or the store is
 * read-only, or it cannot list or link files where it has to.
 *
 * @example Two files of a mosaic, beside each other
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { adoptTiffs, tiffContainer } from "@zarr-parts/zarr-parts/tiff";
 * import { setSharded, withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
 * import { assertEquals } from "@std/assert";
 * import * as zarr from "zarrita";
 *
 * // Two TIFFs, each of 32 × 32 pixels in tiles of 16 × 16.
 * const store = new MemoryStore();
 * const metadata = arrayMetadata({
 *   shape: [32, 64],
 *   dataType: "uint8",
 *   shardShape: [32, 32],
 *   chunkShape: [16, 16],
 *   keyEncoding: { name: "template", configuration: { format: "row{0}_column{1}.tif" } },
 * });
 * await createArrayChunks(store, "", metadata);
 * const pixels = Uint8Array.from({ length: 2048 }, (_, i) => i % 251);
 * const written = await zarr.open(zarr.root(withZarrParts(store)), { kind: "array" });
 * await setSharded(zarr, written, null, pixels, { container: tiffContainer(metadata) });
 * await store.delete("/zarr.json"); // Two files, and nothing that says what they are.
 *
 * const { chunks, report } = await adoptTiffs(store, "", {
 *   chunkKeyEncoding: { name: "template", configuration: { format: "row{0}_column{1}.tif" } },
 * });
 * assertEquals(chunks.metadata.shape, [32, 64]);
 * assertEquals(report.files, 2);
 * assertEquals(report.innerChunks, 8);
 *
 * const array = await zarr.open(zarr.root(withZarrParts(store)), { kind: "array" });
 * assertEquals((await zarr.get(array)).data, pixels);
 * ```
 */
export async function adoptTiffs(
  store: Store,
  path: string,
  options: AdoptTiffsOptions = {},
): Promise<AdoptedArray> {
  assertStore(store);
  assertAdoptOptions(options);
  const root = arrayRoot(path);
  assertWritable(store, `${root}/zarr.json`);
  const { signal } = options;
  const storeOptions: StoreOptions = signal ? { signal } : {};
  const { encoding, files } = await findTiffs(
    store,
    root,
    options,
    storeOptions,
  );
  const toRead = filesOfShare(files, options);
  const own = toRead.filter(({ isOwn }) => isOwn).length;
  const onStep = countSteps(
    toRead.length,
    options.finish ? files.length : own,
    options,
  );
  const read = await mapConcurrently(toRead, FILES_AT_ONCE, async (file) => {
    const found = await readFile(store, file, options, storeOptions);
    onStep();
    return found;
  }, signal);
  const placed = fitted(read);
  const mosaic = mosaicOfTiffs(placed);
  const metadata = metadataOf(placed[0]!.shard, mosaic, encoding, options);
  const contents = encodeSelection(options);
  return await adoptFiles(
    store,
    path,
    metadata,
    placed.filter(({ isOwn }) => isOwn).map(
      ({ key, coordinates, size, shard }): FileToAdopt => {
        const index = indexOf(shard, mosaic.chunksPerShard);
        return { key, coordinates, size, index, contents };
      },
    ),
    { ...options, notes: notesOnStarts(files), all: files, onStep },
  );
}

/**
 * A file and its place in an array.
 *
 * @example
 * ```ts
 * import type { TiffFile } from "@zarr-parts/zarr-parts/tiff";
 *
 * const file: TiffFile = { coordinates: [0, 2], key: "/S2A_T32TMT_B04.tif" };
 * ```
 */
export interface TiffFile {
  /** The grid coordinates of the shard that the file becomes. */
  readonly coordinates: readonly number[];
  /** The key of the file in the store. */
  readonly key: StoreKey;
}

/**
 * Options of {@linkcode adoptTiffs}.
 *
 * @example
 * ```ts
 * import type { AdoptTiffsOptions } from "@zarr-parts/zarr-parts/tiff";
 *
 * const options: AdoptTiffsOptions = {
 *   chunkKeyEncoding: { name: "template", configuration: { format: "tile_{0}_{1}.tif" } },
 *   attributes: { source: "survey of 2019" },
 * };
 * ```
 */
export interface AdoptTiffsOptions extends AdoptionOptions {
  /**
   * The names of the files below the path of the array. By default, `default` keys with
   * the suffix `.tiff` or `.tif`, such as `c/0/1.tiff`.
   */
  readonly chunkKeyEncoding?:
    | string
    | NamedConfiguration
    | ChunkKeyEncoding
    | undefined;
  /** The files, for a store that cannot list, or for names that follow no encoding. By default, those that the encoding names. */
  readonly files?: readonly TiffFile[] | undefined;
  /** Whether each file is one element along a new first dimension. */
  readonly stack?: boolean | undefined;
  /**
   * The place of the page that is adopted, as `describeTiff` lists them. By default, all
   * pages that are pictures; several of them make a dimension before those of a page.
   */
  readonly page?: number | undefined;
  /** The overview that is adopted in place of the page: 1 for the largest one, and so on. Defaults to 0, the page itself. */
  readonly overview?: number | undefined;
  /** The value of elements that no file has. By default, GDAL_NODATA of the files, or 0. */
  readonly fillValue?: number | bigint | undefined;
  /** A name for each dimension, or `null`. By default, `y`, `x`, `band`, `page` and `stack`. */
  readonly dimensionNames?: readonly (string | null)[] | undefined;
  /** The user's own metadata. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
}

/** A file that was read. */
interface ReadFile extends PlacedShard {
  readonly key: StoreKey;
  readonly size: number;
  readonly isOwn: boolean;
}

async function readFile(
  store: Store,
  { key, coordinates, isOwn }: SharedFile<TiffFile>,
  { stack = false, fillValue, ...options }: AdoptTiffsOptions,
  storeOptions: StoreOptions,
): Promise<ReadFile> {
  const name = `File ${describe(key)}`;
  const size = await readSize(store, key, storeOptions);
  if (size === undefined) {
    throw new Error(`There is no ${name} in ${describeStore(store)}`);
  }
  const shard = await readShard(store, { key, size }, options, storeOptions);
  const end = shard.tiles.reduce(
    (most, tile) => tile ? Math.max(most, tile.offset + tile.length) : most,
    0,
  );
  if (end > size) {
    throw new DamageError(
      `${name} is ${size} bytes long, where its tiles end at ${end}: it is cut short, so get it anew${
        shard.dimensionNames[0] === "page"
          ? ', or choose a page that it has, by the option "page"'
          : ""
      }`,
      { key },
    );
  }
  if (!shard.tiles.some((tile) => tile !== undefined)) {
    throw new RangeError(
      `${name} adds no chunk to the array, since all its tiles are left out (sparse): leave out the file, whose elements have the fill value then`,
    );
  }
  if (shard.codecs[0]!.name === "imagecodecs_jpeg") {
    await assertJpeg(store, key, shard, storeOptions);
  }
  const placed = stack ? stacked(shard) : shard;
  const { dimensionNames } = placed;
  if (coordinates.length !== dimensionNames.length) {
    throw new RangeError(
      `${name} is at ${
        describe(coordinates)
      }, where an array of it has the dimensions ${
        describe(dimensionNames)
      }: give one coordinate for each${
        coordinates.length > dimensionNames.length && !stack
          ? ", or set stack: true for a new first dimension"
          : ""
      }`,
    );
  }
  const isSparse = shard.tiles.includes(undefined);
  if (
    fillValue !== undefined && isSparse &&
    !Object.is(fillValue, shard.fillValue)
  ) {
    throw new RangeError(
      `${name} leaves out tiles whose elements are ${shard.fillValue}, which the fill value ${fillValue} would change: leave out the option "fillValue"`,
    );
  }
  return {
    name,
    key,
    size,
    isOwn,
    coordinates,
    shape: placed.shape,
    shard: fillValue === undefined ? placed : { ...placed, fillValue },
  };
}

/** Refuses files that differ. Tiles of rows without compression are divided, so that all files have as many rows in a tile. */
function fitted(files: readonly ReadFile[]): ReadFile[] {
  const rows = commonRows(files.map(({ shard }) => shard));
  const fitted = rows === undefined ? [...files] : files.map((file) => ({
    ...file,
    shard: withRows(file.shard, rows),
  }));
  const [first, ...others] = fitted;
  for (const { name, shard } of others) {
    const difference = differenceOf(first!.shard, shard);
    if (difference === undefined) continue;
    throw new RangeError(
      `${
        first!.name
      } and ${name} have ${difference}: files of one array agree in these; adopt them as several arrays, or convert some of them`,
    );
  }
  return fitted;
}

/** Matches keys of TIFFs. */
const EXTENSION = /\.(?:tiff?|btf|tf8)$/i;

/** The files of an array, and the encoding of their keys. */
interface FoundTiffs {
  readonly encoding: ChunkKeyEncoding;
  readonly files: readonly TiffFile[];
}

/**
 * Finds the files of an array: those that are given, or those below its root whose keys
 * the encoding decodes.
 *
 * @param root The prefix of the array's keys, without a last `/`.
 * @throws {RangeError} If there are none, or their keys are of several encodings.
 * @throws {TypeError} If the store cannot list and no files are given.
 */
async function findTiffs(
  store: Store,
  root: "" | StoreKey,
  { chunkKeyEncoding, files }: AdoptTiffsOptions,
  options: StoreOptions,
): Promise<FoundTiffs> {
  const encodings = chunkKeyEncoding === undefined
    ? [".tiff", ".tif"].map((suffix) => new SuffixChunkKeyEncoding(suffix))
    : [toChunkKeyEncoding(chunkKeyEncoding)];
  if (files === undefined) {
    return await findFiles(store, root, encodings, EXTENSION, options);
  }
  if (files.length === 0) throw new RangeError("Expected files, found none");
  const isShort = files[0]!.key.toLowerCase().endsWith(".tif");
  return { encoding: (isShort && encodings[1]) || encodings[0]!, files };
}

/** The metadata of an array whose files are like a shard. */
export function metadataOf(
  shard: TiffShard,
  { shape, shardShape, chunksPerShard }: Mosaic,
  keyEncoding: ChunkKeyEncoding,
  { dimensionNames = shard.dimensionNames, attributes }: AdoptTiffsOptions,
): ArrayMetadata {
  const { dataType, fillValue, tileShape, codecs } = shard;
  return arrayMetadata({
    shape,
    dataType,
    shardShape,
    chunkShape: tileShape,
    codecs,
    fillValue: dataType.startsWith("complex") ? [fillValue, 0] : fillValue,
    keyEncoding,
    parts: adoptedParts(adoptedLayout(chunksPerShard)),
    dimensionNames,
    attributes,
  });
}

/** A file at its place in the grid. */
interface PlacedShard extends MosaicFile {
  readonly shard: TiffShard;
}

/**
 * Finds the shape of the array that files make, which agree in all but their shapes.
 *
 * @throws {RangeError} If the files do not fit together.
 */
function mosaicOfTiffs(files: readonly PlacedShard[]): Mosaic {
  const mosaic = mosaicOf(files, files[0]!.shard.tileShape, "tiles");
  const count = mosaic.chunksPerShard.reduce((product, n) => product * n, 1);
  if (count <= MOST_TILES) return mosaic;
  throw new RangeError(
    `Expected files of at most ${MOST_TILES} tiles, found ${count} in a file: adopt one page at a time by the option "page"`,
  );
}

/** The index of a file as a shard, which may be larger than the file. */
export function indexOf(
  { shape, tileShape, tiles }: TiffShard,
  chunksPerShard: readonly number[],
): ShardIndex {
  const counts = shape.map((length, i) => Math.ceil(length / tileShape[i]!));
  if (counts.every((count, i) => count === chunksPerShard[i])) return tiles;
  const size = chunksPerShard.reduce((product, n) => product * n, 1);
  const index: ShardIndex[number][] = new Array(size).fill(undefined);
  tiles.forEach((tile, n) => {
    let place = 0;
    let step = 1;
    for (let i = counts.length - 1; i >= 0; i--) {
      place += (n % counts[i]!) * step;
      n = Math.floor(n / counts[i]!);
      step *= chunksPerShard[i]!;
    }
    index[place] = tile;
  });
  return index;
}

const OPTIONS: OptionRules<AdoptTiffsOptions> = {
  ...ADOPTION_OPTIONS,
  chunkKeyEncoding: {
    expected: "a chunk key encoding",
    isValid: (value) => typeof value === "string" || typeof value === "object",
  },
  files: { expected: "a list of { coordinates, key }", isValid: isFiles },
  stack: BOOLEAN,
  page: wholeFrom(0, MOST_PAGES),
  overview: wholeFrom(0, MOST_OVERVIEWS),
  fillValue: {
    expected: "a number or a bigint",
    isValid: (value) => typeof value === "number" || typeof value === "bigint",
  },
  dimensionNames: { expected: "a list of names", isValid: Array.isArray },
  attributes: objectRule(),
};

/** Refuses options that are unknown or of a wrong type. */
function assertAdoptOptions(options: AdoptTiffsOptions): void {
  checkOptions(options, OPTIONS, "adoptTiffs");
  assertAdoption(options);
}

function isFiles(value: unknown): boolean {
  return Array.isArray(value) &&
    value.every((file) =>
      Array.isArray(file?.coordinates) && typeof file.key === "string"
    );
}
