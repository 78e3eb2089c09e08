import {
  BOOLEAN,
  checkExclusive,
  checkOptions,
  objectRule,
  oneOf,
  type OptionRules,
  sentence,
} from "../errors/mod.ts";
import { joinBytes } from "../runtime/mod.ts";
import type { ArrayMetadata } from "../metadata/mod.ts";
import type { ShardContainer, ShardIndex } from "../shards/mod.ts";
import { assertShardInGrid, withFileRecord } from "../arrays/mod.ts";
import { isMapPlace, tagsOf } from "./georeference.ts";
import { assertOme, omeXml } from "./ome_xml.ts";
import {
  numberText,
  pageFields,
  type PageOptions,
  parseTiffArray,
  pictureOf,
  type TiffArray,
  tilePlaces,
} from "./tiff_array.ts";
import { compressStored, refuseFirst } from "./tiff_codecs.ts";
import { BANDS, type TiffMapPlace, type TiffOptions } from "./tiff_options.ts";
import {
  encodeField,
  type PageFields,
  type TiffFormat,
  type WrittenTag,
} from "./tiff_tags.ts";

/** The most bytes of a classic TIFF, whose offsets have 32 bits. */
const MOST_CLASSIC = 2 ** 32 - 1;
/** Room for what an alignment adds before the first inner chunk. */
const MARGIN = 2 ** 24;
/** The extent of an absent tile that takes no bytes. */
const SPARSE: Tile = { offset: 0, length: 0 };

/**
 * Makes each shard of an array a complete TIFF file, whose tiles are the inner chunks.
 * Pass the result to `setSharded` as `container`. At the edge of the array, the picture
 * ends where the array ends.
 *
 * The array has the codec `sharding_indexed` with its index at the end, and inner
 * chunks of whole multiples of 16 elements along y and x, the last two dimensions.
 * The index comes after the TIFF in the same object, or in a part of its own: `parts:
 * ["", ".index"]`. Of the codecs, `bytes` with either byte order, `numcodecs.zlib`,
 * `zlib`, `zstd`, `imagecodecs_lzw` and `imagecodecs_packbits` have equivalents in
 * TIFF, as have the predictors `imagecodecs_delta` and `imagecodecs_floatpred`.
 *
 * Other dimensions are pages, or bands by the option `bands`. Inner chunks have one element
 * along them, except that a last dimension of bands is whole. {@linkcode fitTiff} finds the
 * nearest such encoding of any array.
 *
 * Sources: TIFF 6.0, https://www.itu.int/itudoc/itu-t/com16/tiff-fx/docs/tiff6.pdf;
 * BigTIFF, http://bigtiff.org; GeoTIFF, https://docs.ogc.org/is/19-008r4/19-008r4.html
 *
 * @param metadata The metadata of the array.
 * @param options The form of the files, and the tags that describe the pictures.
 * @returns A function that gives the container of a shard by its grid coordinates. It
 * throws a `RangeError` for coordinates outside the chunk grid. The container throws a
 * `RangeError` if a classic TIFF that is asked for would exceed 4 GiB.
 * @throws {MetadataError} If the metadata is not valid.
 * @throws {RangeError} If TIFF cannot hold such shards, with the reason and a way out,
 * or if an option is out of range.
 * @throws {TypeError} If an option is unknown or of a wrong type.
 *
 * @example Shards of 1024 × 1024 pixels as TIFF files, with the index beside each
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { tiffContainer } from "@zarr-parts/zarr-parts/tiff";
 * import { setSharded, withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
 * import { assertEquals } from "@std/assert";
 * import * as zarr from "zarrita";
 *
 * const store = new MemoryStore();
 * const metadata = arrayMetadata({
 *   shape: [1500, 2000],
 *   dataType: "uint16",
 *   shardShape: [1024, 1024],
 *   chunkShape: [256, 256],
 *   codecs: ["zstd"],
 *   suffix: ".tiff",
 *   parts: ["", ".index"],
 * });
 * await createArrayChunks(store, "", metadata);
 * const array = await zarr.open(withZarrParts(store), { kind: "array" });
 * const container = tiffContainer(metadata, { description: "A gradient" });
 * const pixels = Uint16Array.from({ length: 1500 * 2000 }, (_, i) => i % 2000);
 * await setSharded(zarr, array, null, pixels, { container });
 *
 * const tiff = await store.get("/c/1/1.tiff"); // 976 × 476 pixels
 * assertEquals(tiff?.subarray(0, 4), new Uint8Array([0x49, 0x49, 42, 0]));
 * ```
 */
export function tiffContainer(
  metadata: ArrayMetadata,
  options: TiffOptions = {},
): (shard: readonly number[]) => ShardContainer {
  checkOptions(options, OPTIONS, "tiffContainer");
  checkExclusive(options, [["description", "ome"]]);
  const array = parseTiffArray(metadata, options);
  assertPixels(array, options);
  if (options.ome) assertOme(array, options.ome);
  const georeference = options.georeference &&
    tagsOf(array, options.georeference);
  let filled: Uint8Array | undefined;
  const fill = () =>
    filled ??= compressStored(
      predictedFill(array),
      array.compression,
    );
  return (shard) => {
    assertShardInGrid(shard, array.gridShape);
    const container = containerOf(array, [...shard], {
      ...options,
      georeference,
      fill,
    });
    return withFileRecord(container, array);
  };
}

const OPTIONS: OptionRules<TiffOptions> = {
  bands: BANDS,
  colors: oneOf("gray", "rgb", "auto"),
  directory: oneOf("start", "end"),
  bigTiff: BOOLEAN,
  sparse: BOOLEAN,
  description: {
    expected: "a text without the character NUL",
    isValid: isText,
  },
  ome: objectRule("an object with axes"),
  resolution: {
    expected:
      'x and y from 0 to 2^32−1, and maybe the unit "none", "inch" or "centimeter"',
    isValid: isResolution,
  },
  georeference: {
    expected:
      "modelPixelScale of 3 numbers and modelTiepoint of 6 numbers, or modelTransformation of 16 numbers, and maybe geoKeyDirectory, geoDoubleParams and geoAsciiParams; or transform of 6 numbers or bbox of 4, and maybe crs",
    isValid: isGeoreference,
  },
  noData: {
    expected: "a number or a bigint",
    isValid: (value) => typeof value === "number" || typeof value === "bigint",
  },
  values: {
    expected:
      "scale and offset as finite numbers, and unit and description as texts without the character NUL, where description may be a list",
    isValid: areValues,
  },
};

function areValues(value: unknown): boolean {
  const { scale = 1, offset = 0, unit = "", description = "", ...others } =
    Object(value);
  const names = Array.isArray(description) ? description : [description];
  return typeof value === "object" && value !== null &&
    areNumbers([scale, offset]) && isText(unit) && names.every(isText) &&
    Object.keys(others).length === 0;
}

function isText(value: unknown): boolean {
  return typeof value === "string" && !value.includes("\0");
}

function isResolution(value: unknown): boolean {
  const { x, y, unit } = Object(value);
  return [x, y].every((n) =>
    typeof n === "number" && n >= 0 && n <= 2 ** 32 - 1
  ) && [undefined, "none", "inch", "centimeter"].includes(unit);
}

function isGeoreference(value: unknown): boolean {
  const { size = [1, 1] } = Object(value);
  return areNumbers(size, 2) &&
    (isMapPlace(value) ? hasPlace(value) : hasTags(value));
}

function hasPlace(
  { transform, bbox, crs = "", isPoint = false, ...others }: TiffMapPlace,
): boolean {
  const isOne = transform === undefined
    ? areNumbers(bbox, 4)
    : areNumbers(transform, 6) && bbox === undefined;
  const isSystem = typeof crs === "string" ||
    typeof crs === "object" && crs !== null;
  return isOne && isSystem && typeof isPoint === "boolean" &&
    Object.keys(others).every((name) => name === "size");
}

function hasTags(value: unknown): boolean {
  const {
    modelPixelScale,
    modelTiepoint,
    modelTransformation,
    geoKeyDirectory = [],
    geoDoubleParams = [],
    geoAsciiParams = "",
  } = Object(value);
  const isPlace = modelTransformation === undefined
    ? areNumbers(modelPixelScale, 3) && areNumbers(modelTiepoint, 6)
    : areNumbers(modelTransformation, 16) && modelPixelScale === undefined &&
      modelTiepoint === undefined;
  return isPlace && areNumbers(geoKeyDirectory) &&
    geoKeyDirectory.every((n: number) =>
      Number.isInteger(n) && n >= 0 && n <= 0xffff
    ) && areNumbers(geoDoubleParams) && isText(geoAsciiParams);
}

function areNumbers(value: unknown, count?: number): boolean {
  return Array.isArray(value) &&
    value.every((n) => typeof n === "number" && Number.isFinite(n)) &&
    (count === undefined || value.length === count);
}

function containerOf(
  array: TiffArray,
  shard: readonly number[],
  { fill, ome, bigTiff, ...others }:
    & Omit<PageOptions, "omeXml">
    & Pick<TiffOptions, "ome">
    & { fill: () => Uint8Array },
): ShardContainer {
  const picture = pictureOf(array, shard);
  const places = tilePlaces(array, picture);
  const fields = pageFields(
    array,
    picture,
    { ...others, omeXml: ome && omeXml(array, picture, ome) },
    places.length,
  );
  const { isLittleEndian } = array;
  /** Encodes the directories of tiles. Their length does not depend on the tiles. */
  const encodePages = (
    start: number,
    format: TiffFormat,
    tileOf: (place: number) => Tile = () => SPARSE,
  ) => {
    const pages = places.map((page, i) => {
      const tiles = page.map(tileOf);
      return {
        ...fields[i],
        tileOffsets: tiles.map(({ offset }) => offset),
        tileByteCounts: tiles.map(({ length }) => length),
      };
    });
    return encodeDirectories(pages, start, format);
  };
  const sizes: Partial<Record<"big" | "classic", number>> = {};
  const sizeOf = (format: TiffFormat) =>
    sizes[format.isBig ? "big" : "classic"] ??= encodePages(0, format).length;
  /** The tile that absent inner chunks share, after the directories. */
  const sharedTile = (index: ShardIndex) => {
    const isShared = !others.sparse &&
      places.some((page) => page.some((place) => index[place] === undefined));
    return isShared ? fill() : undefined;
  };
  const formatOf = (index: ShardIndex): TiffFormat => {
    if (bigTiff !== undefined) return { isLittleEndian, isBig: bigTiff };
    const classic = { isLittleEndian, isBig: false };
    const { first, end } = extentOf(index);
    // No term depends on the place of the inner chunks, which lie elsewhere when the head is
    // asked for the second time.
    const size = end - first + sizeOf(classic) +
      (sharedTile(index)?.length ?? 0);
    return { isLittleEndian, isBig: size + MARGIN > MOST_CLASSIC };
  };
  const encodeAt = (start: number, index: ShardIndex): Uint8Array => {
    const format = formatOf(index);
    const tile = sharedTile(index);
    const absent = tile === undefined
      ? SPARSE
      : { offset: start + sizeOf(format), length: tile.length };
    const directories = encodePages(
      start,
      format,
      (place) => index[place] ?? absent,
    );
    return tile === undefined ? directories : joinBytes([directories, tile]);
  };
  const assertSize = (size: number, index: ShardIndex) => {
    if (formatOf(index).isBig || size <= MOST_CLASSIC) return;
    throw new RangeError(
      sentence`Expected at most ${MOST_CLASSIC} bytes in the classic TIFF of shard ${shard}, found ${size}: set bigTiff to true`,
    );
  };
  if (others.directory === "end") {
    return {
      head(index) {
        const format = formatOf(index);
        const end = Math.max(extentOf(index).end, headerSize(format));
        return encodeHeader(format, even(end));
      },
      tail(index, offset) {
        const start = even(offset);
        const bytes = encodeAt(start, index);
        assertSize(start + bytes.length, index);
        return joinBytes([new Uint8Array(start - offset), bytes]);
      },
    };
  }
  return {
    head(index) {
      const format = formatOf(index);
      const start = headerSize(format);
      assertSize(extentOf(index).end, index);
      return joinBytes([encodeHeader(format, start), encodeAt(start, index)]);
    },
  };
}

/** Where the inner chunks of a shard begin and end. */
function extentOf(index: ShardIndex): { first: number; end: number } {
  let [first, end] = [Infinity, 0];
  for (const entry of index) {
    if (entry === undefined) continue;
    first = Math.min(first, entry.offset);
    end = Math.max(end, entry.offset + entry.length);
  }
  return { first: Math.min(first, end), end };
}

/** The value of the tag SampleFormat for complex numbers. */
const COMPLEX = 6;

/** Refuses options that contradict the array. */
function assertPixels(
  { axes, shape, shardShape, bits, sampleFormat, fillBytes, fillValue }:
    TiffArray,
  { colors, sparse, noData, values }: TiffOptions,
): void {
  const count = axes.bands === undefined ? 1 : shape[axes.bands]!;
  const perShard = axes.bands === undefined ? 1 : shardShape[axes.bands]!;
  const names = values?.description;
  const isRgb = colors === "rgb";
  const isZero = fillBytes.every((byte) => byte === 0);
  const isOther = noData !== undefined &&
    numberText(noData) !== numberText(fillValue);
  refuseFirst([
    [
      Array.isArray(names) && names.length !== count,
      `values.description with one name for each of the ${count} bands, found ${names?.length}`,
    ],
    [
      isRgb && (count < 3 || sampleFormat !== 1 || bits > 16),
      `three or more bands of uint8 or uint16 for colors: "rgb", found ${count} of ${bits} bits: leave out colors, or name the dimension of the bands by bands: "first" or "last"`,
    ],
    [
      isRgb && perShard < count,
      `shards with all ${count} bands for colors: "rgb", found shards of ${perShard} bands: leave out colors`,
    ],
    [
      sparse === true && sampleFormat === COMPLEX && !isZero,
      "the fill value 0 for sparse tiles of complex numbers, since readers fill such tiles with zeros: leave out sparse",
    ],
    [
      sparse === true && isOther && !isZero,
      `sparse tiles or noData where the fill value is not 0, found both, and noData ${
        numberText(noData)
      }: readers fill sparse tiles with noData, so leave out noData, or --nodata none, to have it set to the fill value`,
    ],
  ]);
}

/** A tile of fill values, after the predictor of the array. */
function predictedFill(
  { tileShape, axes, fillBytes, predictor }: TiffArray,
): Uint8Array {
  const size = fillBytes.length;
  const samples = axes.bands === axes.x + 1 ? tileShape[axes.bands]! : 1;
  const rowSize = tileShape[axes.x]! * samples * size;
  const row = new Uint8Array(rowSize);
  for (let at = 0; at < rowSize; at++) {
    if (predictor === 3) {
      // Bytes of the same weight lie together, the highest first.
      row[at] = fillBytes[size - 1 - Math.floor(at * size / rowSize)]!;
    } else if (predictor === 1 || at < samples * size) {
      row[at] = fillBytes[at % size]!; // All other differences are 0.
    }
  }
  if (predictor === 3) {
    for (let at = rowSize - 1; at >= samples; at--) {
      row[at] = row[at]! - row[at - samples]!;
    }
  }
  const tile = new Uint8Array(rowSize * tileShape[axes.y]!);
  for (let at = 0; at < tile.length; at += rowSize) tile.set(row, at);
  return tile;
}

/** The size of the header of a TIFF. */
function headerSize({ isBig }: TiffFormat): number {
  return isBig ? 16 : 8;
}

/**
 * Encodes the header of a TIFF.
 *
 * @param first The offset of the first directory.
 */
function encodeHeader(format: TiffFormat, first: number): Uint8Array {
  const { isLittleEndian, isBig } = format;
  const bytes = new Uint8Array(headerSize(format));
  const view = new DataView(bytes.buffer);
  view.setUint16(0, isLittleEndian ? 0x4949 : 0x4d4d);
  view.setUint16(2, isBig ? 43 : 42, isLittleEndian);
  if (isBig) view.setUint16(4, 8, isLittleEndian);
  writeOffset(view, isBig ? 8 : 4, first, format);
  return bytes;
}

/** The extent of a tile in a file; offset and length are 0 for a sparse tile. */
interface Tile {
  readonly offset: number;
  readonly length: number;
}

/**
 * Encodes directories, one for each page, and after each the values that do not fit into it.
 *
 * @param start The even offset of the first directory.
 */
function encodeDirectories(
  pages: readonly PageFields[],
  start: number,
  format: TiffFormat,
): Uint8Array {
  const { isLittleEndian, isBig } = format;
  const [countSize, entrySize, offsetSize] = isBig ? [8, 20, 8] : [2, 12, 4];
  const pieces: Uint8Array[] = [];
  let end = start;
  for (const [page, fields] of pages.entries()) {
    const entries = Object.entries(fields)
      .flatMap(([name, values]) =>
        values === undefined
          ? []
          : [encodeField(name as WrittenTag, values, format)]
      )
      .sort((a, b) => a.tag - b.tag);
    const table = new Uint8Array(
      countSize + entrySize * entries.length + offsetSize,
    );
    const view = new DataView(table.buffer);
    pieces.push(table);
    end += table.length;
    if (isBig) writeOffset(view, 0, entries.length, format);
    else view.setUint16(0, entries.length, isLittleEndian);
    let at = countSize;
    for (const { tag, type, count, bytes } of entries) {
      view.setUint16(at, tag, isLittleEndian);
      view.setUint16(at + 2, type, isLittleEndian);
      writeOffset(view, at + 4, count, format);
      const place = at + 4 + offsetSize;
      if (bytes.length <= offsetSize) table.set(bytes, place);
      else {
        writeOffset(view, place, end, format);
        pieces.push(bytes, new Uint8Array(bytes.length % 2));
        end += even(bytes.length);
      }
      at += entrySize;
    }
    if (page + 1 < pages.length) writeOffset(view, at, end, format);
  }
  return joinBytes(pieces);
}

function writeOffset(
  view: DataView,
  at: number,
  offset: number,
  { isLittleEndian, isBig }: TiffFormat,
): void {
  if (isBig) view.setBigUint64(at, BigInt(offset), isLittleEndian);
  else view.setUint32(at, offset, isLittleEndian);
}

/** Rounds up to an even number, as offsets in a TIFF are. */
function even(size: number): number {
  return size + size % 2;
}
