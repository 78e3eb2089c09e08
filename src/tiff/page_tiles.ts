import type { ShardIndex } from "../shards/mod.ts";
import { compressionOf } from "./tiff_codecs.ts";
import {
  CONVERT,
  PageDamage,
  PageProblem,
  type TiffAxis,
} from "./tiff_page.ts";
import type { PageTags } from "./tiff_tags.ts";

/** The most tiles of a page. Readers refuse indexes that are longer. */
export const MOST_TILES = 2 ** 20;
/** The most bytes of a decoded tile. Memory for more cannot be had everywhere. */
const LARGEST_TILE = 2 ** 31 - 1;

/** The numbers of pieces into which strips of more bytes are tried to be divided. */
const PIECES_TRIED = 2 ** 12;

/** The dimensions of a page, and the places of its tiles. */
interface PageTiles {
  readonly axes: readonly TiffAxis[];
  readonly shape: readonly number[];
  readonly tileShape: readonly number[];
  readonly tiles: ShardIndex;
}

/** The dimensions of a page. */
export type PageShape = Omit<PageTiles, "tiles">;

/** The properties of a file that are not in the tags of a page. */
export interface TiffFileFacts {
  readonly isBig: boolean;
  /** The length of the file in bytes, if it is known. */
  readonly size: number | undefined;
  /** The offsets of the directories. */
  readonly starts: readonly number[];
}

/**
 * The dimensions of a page and of its tiles or strips. Strips without compression are
 * divided so that their heights divide that of the last one.
 *
 * @throws {PageProblem} If the page has no such dimensions.
 */
export function pageShapeOf(tags: PageTags): PageShape {
  const [width, height] = [tags.number("width", 0), tags.number("height", 0)];
  const bands = tags.number("samplesPerPixel", 1);
  const rowBands = isPlanar(tags) ? 1 : bands;
  const [tileWidth, tileHeight] = isTiled(tags)
    ? [tags.number("tileWidth", 0), tags.number("tileHeight", 0)]
    : [width, stripHeight(tags, height, width * rowBands)];
  const lengths = { width, height, bands, tileWidth, tileHeight };
  for (const [name, length] of Object.entries(lengths)) {
    if (Number.isSafeInteger(length) && length > 0) continue;
    throw new PageDamage(`it has a ${name} of ${length}, expected 1 or more`);
  }
  if (tags.number("imageDepth", 1) > 1 || tags.number("tileDepth", 1) > 1) {
    throw new PageProblem(
      "it has tiles of several planes (tag TileDepth): write one page for each plane",
    );
  }
  const listOf = <T>(y: T, x: T, band: T): T[] =>
    bands === 1 ? [y, x] : isPlanar(tags) ? [band, y, x] : [y, x, band];
  return {
    axes: listOf<TiffAxis>("y", "x", "band"),
    shape: listOf(height, width, bands),
    tileShape: listOf(tileHeight!, tileWidth!, rowBands),
  };
}

/**
 * Finds the places of the tiles of a page.
 *
 * @param bits The number of bits of an element. Rows end with a byte.
 * @throws {PageProblem} If their number or their lengths are wrong.
 */
export function pageTilesOf(
  tags: PageTags,
  { axes, shape, tileShape }: PageShape,
  bits: number,
  file: TiffFileFacts,
): ShardIndex {
  const count = tileShape.reduce(
    (product, length, i) => product * Math.ceil(shape[i]! / length),
    1,
  );
  if (count > MOST_TILES) {
    throw new PageProblem(
      `it has ${count} tiles of ${tileShape}, where ${MOST_TILES} are the most: ${CONVERT} -co BLOCKXSIZE=512 -co BLOCKYSIZE=512`,
    );
  }
  const x = axes.indexOf("x");
  const rowElements = tileShape.slice(x).reduce((product, n) => product * n, 1);
  const rows = tileShape[axes.indexOf("y")]!;
  const tileSize = rows * Math.ceil(rowElements * bits / 8);
  if (Math.max(tileSize, rows * rowElements * bits / 8) > LARGEST_TILE) {
    throw new PageProblem(
      `it has tiles or strips of ${tileSize} bytes, where ${LARGEST_TILE} are the most: ${CONVERT}`,
    );
  }
  const { isNone } = compressionOf(tags);
  if (!isNone || isTiled(tags)) {
    const size = isNone ? tileSize : undefined;
    return extentsOf(tags, count, () => size, file);
  }
  const height = tags.number("height", 0);
  const perStrip = Math.min(tags.number("rowsPerStrip", height), height);
  const strips = Math.ceil(height / perStrip);
  const planes = axes[0] === "band" ? shape[0]! : 1;
  const rowSize = tileSize / rows;
  const rowsOf = (strip: number) =>
    Math.min(perStrip, height - strip % strips * perStrip);
  return dividedRows(
    extentsOf(tags, strips * planes, (i) => rowsOf(i) * rowSize, file),
    { height, perTile: perStrip, count: rows, size: rowSize },
  );
}

/**
 * Divides tiles of rows without compression into tiles of other numbers of rows.
 *
 * @param tiles Those of one or several planes.
 * @param rows The number of rows of a plane, of a tile before and after, and the bytes of a row.
 */
export function dividedRows(
  tiles: ShardIndex,
  { height, perTile, count, size }: {
    readonly height: number;
    readonly perTile: number;
    readonly count: number;
    readonly size: number;
  },
): ShardIndex {
  const [before, after] = [perTile, count].map((n) => Math.ceil(height / n));
  const planes = tiles.length / before!;
  return Array.from({ length: planes * after! }, (_, i) => {
    const row = i % after! * count;
    const plane = Math.floor(i / after!);
    const tile = tiles[plane * before! + Math.floor(row / perTile)];
    return tile && {
      offset: tile.offset + row % perTile * size,
      length: count * size,
    };
  });
}

/** Whether a page has tiles. Some programs write the places of strips into the tags of tiles, or the other way round. */
function isTiled(tags: PageTags): boolean {
  return tags.list("tileWidth") !== undefined ||
    tags.list("tileHeight") !== undefined;
}

function isPlanar(tags: PageTags): boolean {
  return tags.number("planarConfiguration", 1) === 2;
}

/**
 * The number of rows of an inner chunk of strips.
 *
 * @param rowElements The number of elements in a row.
 */
function stripHeight(
  tags: PageTags,
  height: number,
  rowElements: number,
): number {
  const rows = Math.min(tags.number("rowsPerStrip", height), height);
  if (!compressionOf(tags).isNone || !(rows > 0)) return rows;
  const last = height % rows;
  const common = last > 0 ? greatestDivisor(rows, last) : rows;
  const rowSize = Math.ceil(rowElements * tags.number("bitsPerSample", 1) / 8);
  const fewest = Math.ceil(common * rowSize / LARGEST_TILE);
  for (let count = fewest; count < fewest + PIECES_TRIED; count++) {
    if (common % count === 0) return common / count;
  }
  return common; // Which is refused with the tiles.
}

/**
 * The extents of tiles or strips as the directory has them.
 *
 * @param sizeOf The number of bytes of each one, if it is not compressed.
 */
function extentsOf(
  tags: PageTags,
  count: number,
  sizeOf: (place: number) => number | undefined,
  file: TiffFileFacts,
): ShardIndex {
  const [kind, other] = isTiled(tags)
    ? ["tile", "strip"] as const
    : ["strip", "tile"] as const;
  const listed = tags.list(`${kind}Offsets`) ?? tags.list(`${other}Offsets`) ??
    [];
  const sizes = tags.list(`${kind}ByteCounts`) ??
    tags.list(`${other}ByteCounts`);
  // As other programs do, ignores offsets and lengths beyond the number of tiles.
  const isTrimmed = listed.length > count &&
    (sizes === undefined || sizes.length === listed.length);
  const offsets = isTrimmed ? listed.slice(0, count) : listed;
  const stored = isTrimmed ? sizes?.slice(0, count) : sizes;
  const isLsm = tags.list("lsmInfo") !== undefined;
  if (isLsm && !file.isBig && (file.size ?? 0) > 2 ** 32) {
    throw new PageProblem(
      "it is in a file of Zeiss of more than 4 GiB, whose offsets are too short: write it as OME-TIFF",
    );
  }
  // Zeiss stores the lengths before compression.
  const isUseless = stored === undefined || isLsm && sizeOf(0) === undefined ||
    kind === "strip" && count === 1 && stored[0] === 0 && offsets[0] !== 0;
  const lengths = isUseless && offsets.length === count
    ? estimatedLengths(tags, kind, offsets, sizeOf, file)
    : stored ?? [];
  if (offsets.length !== count || lengths.length !== count) {
    throw new PageDamage(
      `it has ${count} ${kind}s, and a directory with the offsets of ${offsets.length} and the lengths of ${lengths.length}`,
    );
  }
  return offsets.map((offset, i) => {
    const [length, size] = [lengths[i]!, sizeOf(i)];
    if (offset === 0 && length === 0) return undefined;
    if (![offset, length].every((n) => Number.isSafeInteger(n) && n >= 0)) {
      throw new PageDamage(
        `its ${kind} ${i} has ${length} bytes at the offset ${offset}, expected whole numbers`,
      );
    }
    if (offset === 0 || length === 0) {
      throw new PageDamage(
        `its ${kind} ${i} has ${length} bytes at the offset ${offset}, where both are 0 for a ${kind} that is left out`,
      );
    }
    // As other programs do, ignores the length of a single strip if it is too short.
    const isOnly = count === 1 && kind === "strip" &&
      offset + size! <= file.size!;
    if (size === undefined || length >= size || isOnly) {
      return { offset, length: size ?? length };
    }
    throw new PageDamage(
      `its ${kind} ${i} has ${length} bytes, where its elements take ${size}`,
    );
  });
}

/**
 * The lengths of tiles or strips of which the directory has none: those of their
 * elements, or else up to the next tile, directory, or the end of the file.
 */
function estimatedLengths(
  tags: PageTags,
  kind: "tile" | "strip",
  offsets: readonly number[],
  sizeOf: (place: number) => number | undefined,
  { size, starts }: TiffFileFacts,
): number[] {
  const all = [...offsets, ...starts, ...size === undefined ? [] : [size]]
    .sort((a, b) => a - b);
  const next = new Map(all.map((start, i) => [start, all[i + 1]]));
  const { isEnded } = compressionOf(tags);
  return offsets.map((offset, i) => {
    const end = isEnded ? next.get(offset) : undefined;
    const length = sizeOf(i) ?? (end === undefined ? undefined : end - offset);
    if (length !== undefined && offset !== 0) return length;
    throw new PageProblem(
      `it has no lengths of its ${kind}s (${
        kind === "tile" ? "TileByteCounts" : "StripByteCounts"
      }), which its compression needs: ${CONVERT}`,
    );
  });
}

/** The greatest number that divides two whole numbers from 0. */
export function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}
