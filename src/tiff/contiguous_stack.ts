import { MOST_TILES } from "./page_tiles.ts";
import type { TiffPage } from "./tiff_page.ts";

/**
 * Gives the planes of a stack that has one directory for all of them, as ImageJ writes
 * large stacks and tifffile does with `truncate`: the planes lie one after another, and
 * the description has their number. Other pages are given as they are.
 *
 * @param pages All pages of a file.
 */
export function withPlanes(pages: readonly TiffPage[]): readonly TiffPage[] {
  const [page] = pages;
  if (pages.length !== 1 || page!.problem !== undefined) return pages;
  const count = planesOf(page!);
  if (!(count > 1)) return pages;
  const size = contiguousSize(page!);
  const isKnown = size !== undefined && Number.isInteger(count);
  if (!isKnown || count * page!.tiles.length > MOST_TILES) {
    const problem =
      `its description names ${count} planes, of which the directory has one, and the others cannot be found: write a directory for each plane`;
    return [{ ...page!, problem }];
  }
  return Array.from({ length: count }, (_, i) => ({
    ...page!,
    tiles: page!.tiles.map((tile) =>
      tile && { offset: tile.offset + i * size, length: tile.length }
    ),
  }));
}

/** The number of planes that the description of a page names. */
function planesOf({ description = "", shape }: TiffPage): number {
  const [, images] = /^ImageJ=[^\n]*\n(?:.*\n)*?images=(\d+)/.exec(
    description,
  ) ?? [];
  if (images !== undefined) return Number(images);
  if (!description.startsWith("{")) return 1;
  try {
    const { truncated, shape: whole } = JSON.parse(description);
    if (truncated !== true || !Array.isArray(whole)) return 1;
    const elements = shape.reduce((product, n) => product * n, 1);
    return whole.reduce((product: number, n) => product * Number(n), 1) /
      elements;
  } catch {
    return 1;
  }
}

/** The number of bytes of a page whose tiles lie one after another without compression; else `undefined`. */
function contiguousSize(
  { tiles, codecs, shape, tileShape, axes }: TiffPage,
): number | undefined {
  const x = axes.indexOf("x");
  const isPlain = codecs?.length === 1 && tileShape[x] === shape[x];
  const isContiguous = tiles.every((tile, i) => {
    const before = tiles[i - 1];
    return tile !== undefined &&
      (i === 0 || before !== undefined &&
          before.offset + before.length === tile.offset);
  });
  return isPlain && isContiguous
    ? tiles.reduce((sum, tile) => sum + tile!.length, 0)
    : undefined;
}
