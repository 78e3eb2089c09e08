import type { ShardIndex } from "../shards/shard_index.ts";
import { CONVERT, PageProblem } from "./page_codecs.ts";
import type { PageTags } from "./page_tags.ts";
import { COMPRESSION } from "./tiff_codecs.ts";
import { greatestDivisor } from "./greatest_divisor.ts";
import type { TiffAxis } from "./tiff_page.ts";

/** The most tiles of a page. Readers refuse indexes that are longer. */
export const MOST_TILES = 2 ** 20;

/** The dimensions of a page, and the places of its tiles. */
export interface PageTiles {
  readonly axes: readonly TiffAxis[];
  readonly shape: readonly number[];
  readonly tileShape: readonly number[];
  readonly tiles: ShardIndex;
}

/** The dimensions of a page. */
export type PageShape = Omit<PageTiles, "tiles">;

/**
 * The dimensions of a page and of its tiles or strips. Strips without compression are
 * divided so that their heights divide that of the last one.
 *
 * @throws {PageProblem} If the page has no such dimensions.
 */
export function pageShapeOf(tags: PageTags): PageShape {
  const [width, height] = [tags.number("width", 0), tags.number("height", 0)];
  const bands = tags.number("samplesPerPixel", 1);
  const [tileWidth, tileHeight] = isTiled(tags)
    ? [tags.number("tileWidth", 0), tags.number("tileHeight", 0)]
    : [width, stripHeight(tags, height)];
  const lengths = { width, height, bands, tileWidth, tileHeight };
  for (const [name, length] of Object.entries(lengths)) {
    if (Number.isSafeInteger(length) && length > 0) continue;
    throw new PageProblem(`it has a ${name} of ${length}, expected 1 or more`);
  }
  if (tags.number("imageDepth", 1) > 1 || tags.number("tileDepth", 1) > 1) {
    throw new PageProblem(
      "it has tiles of several planes (tag TileDepth): write one page for each plane",
    );
  }
  if (bands === 1) {
    return {
      axes: ["y", "x"],
      shape: [height, width],
      tileShape: [tileHeight!, tileWidth!],
    };
  }
  return isPlanar(tags)
    ? {
      axes: ["band", "y", "x"],
      shape: [bands, height, width],
      tileShape: [1, tileHeight!, tileWidth!],
    }
    : {
      axes: ["y", "x", "band"],
      shape: [height, width, bands],
      tileShape: [tileHeight!, tileWidth!, bands],
    };
}

/**
 * Finds the places of the tiles of a page.
 *
 * @param elementSize The size of an element in bytes.
 * @throws {PageProblem} If their number or their lengths are wrong.
 */
export function pageTilesOf(
  tags: PageTags,
  { axes, shape, tileShape }: PageShape,
  elementSize: number,
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
  const tileSize = tileShape.reduce((product, n) => product * n, elementSize);
  const isCompressed = tags.number("compression", 1) !== COMPRESSION.none;
  if (isTiled(tags)) {
    return extentsOf(tags, "tile", count, () => isCompressed ? 0 : tileSize);
  }
  if (isCompressed) return extentsOf(tags, "strip", count, () => 0);
  return dividedStrips(tags, {
    height: tags.number("height", 0),
    planes: axes[0] === "band" ? shape[0]! : 1,
    rows: tileShape[axes.indexOf("y")]!,
    tileSize,
  });
}

function isTiled(tags: PageTags): boolean {
  return tags.list("tileWidth") !== undefined ||
    tags.list("tileOffsets") !== undefined;
}

function isPlanar(tags: PageTags): boolean {
  return tags.number("planarConfiguration", 1) === 2;
}

/** The number of rows of an inner chunk of strips. */
function stripHeight(tags: PageTags, height: number): number {
  const rows = Math.min(tags.number("rowsPerStrip", height), height);
  const last = height % rows;
  if (!(last > 0)) return rows;
  if (tags.number("compression", 1) === COMPRESSION.none) {
    return greatestDivisor(rows, last);
  }
  throw new PageProblem(
    `its last strip has ${last} rows, where the others have ${rows}, and Zarr has chunks of one shape: ${CONVERT}`,
  );
}

/**
 * The extents of tiles or strips as the directory has them.
 *
 * @param sizeOf The number of bytes that each one needs, if it is not compressed; else 0.
 */
function extentsOf(
  tags: PageTags,
  kind: "tile" | "strip",
  count: number,
  sizeOf: (place: number) => number,
): ShardIndex {
  const offsets = tags.list(`${kind}Offsets`) ?? [];
  const lengths = tags.list(`${kind}ByteCounts`) ??
    offsets.map((_, i) => sizeOf(i));
  if (offsets.length !== count || lengths.length !== count) {
    throw new PageProblem(
      `it has ${count} ${kind}s, and a directory with the offsets of ${offsets.length} and the lengths of ${lengths.length}`,
    );
  }
  return offsets.map((offset, i) => {
    const [length, size] = [lengths[i]!, sizeOf(i)];
    if (offset === 0 || length === 0) return undefined;
    if (length >= size) return { offset, length: size || length };
    throw new PageProblem(
      `its ${kind} ${i} has ${length} bytes, where its elements take ${size}`,
    );
  });
}

/** The extents of the inner chunks in strips without compression. */
function dividedStrips(
  tags: PageTags,
  { height, planes, rows, tileSize }: {
    height: number;
    planes: number;
    /** The number of rows of an inner chunk, which divides that of each strip. */
    rows: number;
    tileSize: number;
  },
): ShardIndex {
  const most = Math.min(tags.number("rowsPerStrip", height), height);
  const perPlane = Math.ceil(height / most);
  const chunksIn = (strip: number) =>
    Math.min(most, height - (strip % perPlane) * most) / rows;
  const strips = extentsOf(
    tags,
    "strip",
    perPlane * planes,
    (strip) => chunksIn(strip) * tileSize,
  );
  return strips.flatMap((strip, i) =>
    Array.from(
      { length: chunksIn(i) },
      (_, j) =>
        strip && { offset: strip.offset + j * tileSize, length: tileSize },
    )
  );
}
