import {
  type FileRecoding,
  LARGEST_FILE,
  parseArray,
  RECODING_RULES,
  type StoredEncoding,
  storedEncoding,
  withoutStorage,
} from "../arrays/mod.ts";
import {
  checkOptions,
  MetadataError,
  type OptionRules,
  sentence,
} from "../errors/mod.ts";
import {
  type ArrayMetadata,
  isWhole,
  type NamedConfiguration,
} from "../metadata/mod.ts";
import {
  type Axes,
  axesOf,
  parseDataType,
  parseTiffArray,
  tryTiffArray,
} from "./tiff_array.ts";
import {
  equivalentOf,
  type TiffDataType,
  tileEncoding,
} from "./tiff_codecs.ts";
import { BANDS, type TiffOptions } from "./tiff_options.ts";

/**
 * The options of {@linkcode fitTiff}. The result has the codecs and shapes that are given here,
 * and `fitTiff` finds the others.
 *
 * @example All slices and channels of a point in time in one file
 * ```ts
 * import type { FitTiffOptions } from "@zarr-parts/zarr-parts/tiff";
 *
 * const options: FitTiffOptions = { bands: "auto", pages: ["c", "z"] };
 * ```
 */
export interface FitTiffOptions extends FileRecoding {
  /** The place of the bands, as `tiffContainer` takes it. */
  readonly bands?: TiffOptions["bands"];
  /**
   * The dimensions before y and x whose elements are pages of one file, by their names or
   * their numbers from 0. Each element of the other dimensions before y and x then has files of
   * its own. By default, the pages of a file are those of a shard or, in an array without
   * shards, those of a chunk and all elements of `z` and `c`, as long as the file stays below
   * 64 MiB. Without names of dimensions, the last two of several dimensions before y and x
   * count as `c` and `z`.
   */
  readonly pages?: readonly (string | number)[] | undefined;
}

const OPTIONS: OptionRules<FitTiffOptions> = {
  bands: BANDS,
  pages: {
    expected: "a list of names or numbers of dimensions",
    isValid: (value) =>
      Array.isArray(value) &&
      value.every((each) => typeof each === "string" || isWhole(each)),
  },
  ...RECODING_RULES,
};

/** Sides of tiles are multiples of this. */
const STEP = 16;
/** The longest side of a tile that is found for an array without shards. */
const LONGEST_TILE = 1024;
/** The most bytes of a tile with several bands. */
const LARGEST_TILE = 2 ** 24;
/** The longest side of a picture to which small chunks are joined. */
const LONGEST_PICTURE = 4096;

/**
 * Finds the encoding with which the shards of an array can be TIFF files by
 * {@linkcode tiffContainer}, the nearest one to that of the array. The result has the form of
 * the option `recode` of `convert`:
 *
 * - Tiles are as large as inner chunks, with sides that are the next multiples of 16, and
 *   have one page. Chunks of several pages are divided into tiles of about as many elements.
 * - Shards keep their shape up to the next multiple of a tile. Arrays without shards get
 *   files of up to 64 MiB and 4096 × 4096 pixels, each with the pages of one chunk.
 * - Codecs that TIFF has are kept. `gzip` becomes `numcodecs.zlib` of the same level, and
 *   every other compression becomes `zstd`, both of which zarr-python and zarrita decode.
 *   Filters, checksums and `transpose` are left out.
 *
 * @param metadata The metadata of the array.
 * @param options The place of the bands, the pages of a file, and codecs and shapes to use.
 * @returns The codecs, and the shapes of inner chunks and shards; `undefined` if the shards
 * of the array can be TIFF files as they are.
 * @throws {MetadataError} If the metadata is not valid.
 * @throws {RangeError} If no TIFF can hold the array, since it has fewer than two dimensions
 * or a data type that TIFF does not have, or if an option does not fit the array.
 * @throws {TypeError} If an option is unknown or of a wrong type.
 *
 * @example
 * ```ts
 * import { arrayMetadata } from "@zarr-parts/zarr-parts";
 * import { fitTiff } from "@zarr-parts/zarr-parts/tiff";
 * import { assertEquals } from "@std/assert";
 *
 * const metadata = arrayMetadata({
 *   shape: [365, 900, 900],
 *   dataType: "float32",
 *   chunkShape: [1, 90, 90],
 *   codecs: [{ name: "gzip", configuration: { level: 5 } }],
 * });
 * assertEquals(fitTiff(metadata), {
 *   codecs: [
 *     { name: "bytes", configuration: { endian: "little" } },
 *     { name: "numcodecs.zlib", configuration: { level: 5 } },
 *   ],
 *   chunks: [1, 96, 96],
 *   shards: [1, 960, 960],
 * });
 * ```
 *
 * @example Any array to TIFF files
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { convert } from "@zarr-parts/zarr-parts/jobs";
 * import { fitTiff, tiffContainer } from "@zarr-parts/zarr-parts/tiff";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const colors = arrayMetadata({
 *   shape: [300, 400, 3],
 *   dataType: "uint8",
 *   chunkShape: [100, 100, 3],
 * });
 * await createArrayChunks(store, "", colors);
 * const { arrays } = await convert(store, new MemoryStore(), {
 *   recode: (metadata) => fitTiff(metadata, { bands: "auto" }),
 *   container: (metadata) =>
 *     tiffContainer(metadata, { bands: "auto", colors: "auto" }),
 *   suffix: ".tiff",
 *   parts: ["", ".index"],
 *   dryRun: true,
 * });
 * assertEquals(arrays[0]?.metadata.chunk_grid.configuration.chunk_shape, [
 *   336,
 *   448,
 *   3,
 * ]);
 * ```
 */
export function fitTiff(
  metadata: ArrayMetadata,
  options: FitTiffOptions = {},
): FileRecoding | undefined {
  checkOptions(options, OPTIONS, "fitTiff");
  const parsed = parseArray(metadata);
  const array = parsed.metadata;
  const { shape } = array;
  const type = parseDataType(array.data_type);
  const axes = axesOf(array, options.bands);
  const source = storedEncoding(parsed);
  const { codecs, chunks, shards, pages } = options;
  const isAsked = [codecs, chunks, shards, pages]
    .some((each) => each !== undefined);
  const isFitting = !isAsked && source.shard !== undefined &&
    tryTiffArray(withoutStorage(array), options) !== undefined;
  if (isFitting) return undefined;
  for (const given of [chunks, shards]) {
    if (given === undefined || given.length === shape.length) continue;
    throw new RangeError(
      sentence`Expected shapes of as many dimensions as the array, ${shape.length}, found ${given}`,
    );
  }
  const picture: Picture = { shape, axes, source, bytes: type.bits / 8 };
  const tile = chunks ?? tileOf(picture, shards);
  const recoding = {
    codecs: codecs ?? codecsOf(source.codecs, type, axes, shape.length),
    chunks: [...tile],
    shards: [
      ...shards ?? shardOf(picture, tile, pagesOf(array, axes, pages)),
    ],
  };
  assertFits(array, recoding, options);
  return recoding;
}

/** The properties of an array from which the shapes of tiles and files follow. */
interface Picture {
  readonly shape: readonly number[];
  readonly axes: Axes;
  readonly source: StoredEncoding;
  /** The length of an element. */
  readonly bytes: number;
}

/** Throws if shapes that were given do not fit, with the reason of `tiffContainer`. */
function assertFits(
  metadata: ArrayMetadata,
  { chunks, shards, codecs }: {
    readonly chunks: readonly number[];
    readonly shards: readonly number[];
    readonly codecs: FileRecoding["codecs"];
  },
  { bands, codecs: given }: FitTiffOptions,
): void {
  const misfit = shards.findIndex((length, i) => length % chunks[i]! !== 0);
  if (misfit >= 0) {
    const fitting = shards.map((length, i) => upTo(length, chunks[i]!));
    throw new RangeError(
      sentence`Expected shards that are multiples of the tiles ${chunks} in every dimension, found ${shards}: shards of ${fitting} would fit`,
    );
  }
  const document = {
    ...withoutStorage(metadata),
    chunk_grid: { name: "regular", configuration: { chunk_shape: shards } },
    codecs: [{
      name: "sharding_indexed",
      configuration: {
        chunk_shape: chunks,
        // Codecs by short names, such as "zstd:5", are checked with the metadata of the target.
        codecs: given === undefined ? codecs : [BYTES],
        index_codecs: [BYTES, { name: "crc32c" }],
      },
    }],
  };
  try {
    parseTiffArray(document, { bands });
  } catch (error) {
    if (!(error instanceof MetadataError)) throw error;
    throw new RangeError(
      `${error.problem}: give the shape of smaller shards`,
      { cause: error },
    );
  }
}

const BYTES = { name: "bytes", configuration: { endian: "little" } };

/** Rounds up to a multiple. */
function upTo(length: number, step: number): number {
  return Math.ceil(length / step) * step;
}

function product(lengths: readonly number[]): number {
  return lengths.reduce((result, length) => result * length, 1);
}

/** The number of bands that a tile has. */
function samplesOf({ shape, axes }: Picture): number {
  return axes.bands === axes.x + 1 ? Math.max(1, shape[axes.bands]!) : 1;
}

/** The dimensions along which a tile has one element. */
function thinAxes({ pages, bands, x }: Axes): number[] {
  return [...pages, ...bands === x - 2 ? [bands] : []];
}

/** The shape of the tiles nearest to chunks. */
function tileOf(
  picture: Picture,
  shards: readonly number[] | undefined,
): number[] {
  const { shape, axes, source, bytes } = picture;
  const samples = samplesOf(picture);
  const thin = thinAxes(axes);
  const planes = product(
    thin.map((axis) => Math.min(source.chunk[axis]!, shape[axis]! || 1)),
  );
  // A tile has about as many elements as a chunk of several planes, up to the longest useful side.
  const growth = Math.sqrt(planes);
  const widest = Math.max(
    STEP,
    Math.floor(Math.sqrt(LARGEST_TILE / (samples * bytes)) / STEP) * STEP,
  );
  return shape.map((length, axis) => {
    if (thin.includes(axis)) return 1;
    if (axis === axes.bands) return samples;
    const chunk = Math.min(source.chunk[axis]!, Math.max(1, length));
    const isKept = source.shard !== undefined && planes === 1;
    const wanted = isKept ? chunk : Math.max(
      chunk,
      Math.min(Math.round(chunk * growth), length, LONGEST_TILE),
    );
    const longest = Math.min(isKept ? Infinity : LONGEST_TILE, widest);
    const side = upTo(wanted / Math.ceil(wanted / longest), STEP);
    const asked = shards?.[axis];
    return asked === undefined ? side : divisorOf(asked, side);
  });
}

/** The greatest multiple of 16 that divides the side of a shard and does not exceed that of a tile; 16 if there is none. */
function divisorOf(shard: number, side: number): number {
  for (let divisor = side; divisor > STEP; divisor -= STEP) {
    if (shard % divisor === 0) return divisor;
  }
  return STEP;
}

/** How many elements of each dimension before y and x are pages of one file; `"chunk"` for as many as a chunk has, and `"all"` for as many as fit. */
type Pages = readonly ("chunk" | "all" | number)[];

/** Dimensions of one picture in several planes, by their usual names. */
const PLANES = /^(?:z|c|channels?)$/i;

function pagesOf(
  { shape, dimension_names }: ArrayMetadata,
  { pages }: Axes,
  given: FitTiffOptions["pages"],
): Pages {
  if (given === undefined) {
    const hasNames = dimension_names?.some((name) => name !== null);
    // Images of Zarr v2, whose dimensions have no names, end in c, z, y and x.
    const firstPlane = hasNames || pages.length < 2
      ? Infinity
      : pages.length - 2;
    return pages.map((axis) =>
      axis >= firstPlane || PLANES.test(dimension_names?.[axis] ?? "")
        ? "all"
        : "chunk"
    );
  }
  const chosen = given.map((each) => {
    const axis = typeof each === "number"
      ? each
      : dimension_names?.indexOf(each) ?? -1;
    if (pages.includes(axis)) return axis;
    const known = pages.map((page) => dimension_names?.[page] ?? page);
    throw new RangeError(
      sentence`Expected the dimensions of pages among ${known}, those before y and x, found ${each}`,
    );
  });
  return pages.map((axis) => chosen.includes(axis) ? shape[axis]! || 1 : 1);
}

/** The shape of shards of whole tiles nearest to the shards, or around the chunks of an array without them. */
function shardOf(
  picture: Picture,
  tile: readonly number[],
  pages: Pages,
): number[] {
  const { shape, axes, source, bytes } = picture;
  const shard = (source.shard ?? source.chunk).map((given, axis) => {
    const most = upTo(Math.max(1, shape[axis]!), tile[axis]!);
    // No shard needs to be longer than the array.
    const length = Math.min(given, most);
    const page = pages[axis];
    if (typeof page === "number") return page;
    if (axis === axes.bands) {
      return source.shard && axis < axes.y ? length : most;
    }
    return upTo(length, tile[axis]!);
  });
  if (source.shard !== undefined) return shard;
  const size = () => product(shard) * bytes;
  const limits = shape.map((length, axis) =>
    upTo(
      Math.max(
        Math.min(length, LONGEST_PICTURE - LONGEST_PICTURE % tile[axis]!),
        shard[axis]!,
        1,
      ),
      tile[axis]!,
    )
  );
  // The shorter side grows first, so that pictures are about as wide as they are high.
  let growing = [axes.y, axes.x];
  while (growing.length > 0) {
    const [axis] = growing.toSorted((a, b) => shard[a]! - shard[b]!) as [
      number,
    ];
    const before = shard[axis]!;
    shard[axis] = Math.min(2 * before, limits[axis]!);
    const hasGrown = shard[axis] > before && size() <= LARGEST_FILE;
    if (hasGrown) continue;
    shard[axis] = before;
    growing = growing.filter((each) => each !== axis);
  }
  for (const axis of axes.pages.toReversed()) {
    if (pages[axis] !== "all") continue;
    const length = shape[axis]!;
    const most = Math.floor(LARGEST_FILE / (size() / shard[axis]!));
    if (most <= shard[axis]!) continue;
    shard[axis] = Math.ceil(length / Math.ceil(length / most)) || 1;
  }
  return shard;
}

/** The nearest codecs that TIFF has. */
function codecsOf(
  codecs: readonly NamedConfiguration[],
  type: TiffDataType,
  axes: Axes,
  rank: number,
): NamedConfiguration[] {
  try {
    tileEncoding(codecs, type, { xAxis: axes.x, rank });
    return [...codecs];
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  const endian = codecs.find(({ name }) => name === "bytes")?.configuration
    ?.endian;
  const compressing = codecs.map(equivalentOf)
    .filter((codec) => codec !== undefined);
  return [
    type.bits === 8 ? { name: "bytes" } : {
      name: "bytes",
      configuration: { endian: endian === "big" ? "big" : "little" },
    },
    ...compressing.slice(0, 1),
  ];
}
