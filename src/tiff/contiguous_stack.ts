import type { Directory } from "./directory_reader.ts";
import { PageTags } from "./page_tags.ts";
import { MOST_TILES } from "./page_tiles.ts";
import type { TiffPage } from "./tiff_page.ts";

/** The header of NIH Image: its length, and the place of the number of planes, in numbers of 16 bits. */
const [NIH_LENGTH, NIH_PLANES] = [256, 130];

/**
 * Gives the planes of a stack that has one directory for all of them: the planes lie one
 * after another. Such are the stacks of MetaMorph and NIH Image, large stacks of ImageJ,
 * and those of tifffile with `truncate`. Other pages are given as they are.
 *
 * @param pages All pages of a file.
 * @param directories Their directories.
 */
export function withPlanes(
  pages: readonly TiffPage[],
  directories: readonly Directory[],
): readonly TiffPage[] {
  const [page, ...others] = pages;
  if (page === undefined || page.problem !== undefined) return pages;
  const counted = directories[0]!.planes;
  if (others.length > 0 && counted === undefined) return pages;
  const count = counted ?? planesOf(page, new PageTags(directories[0]!.values));
  if (!(count > 1)) return pages;
  const size = contiguousSize(page);
  const isKnown = size !== undefined && Number.isInteger(count) &&
    others.length === 0;
  if (!isKnown || count * page.tiles.length > MOST_TILES) {
    const problem =
      `it counts ${count} planes, of which its directory has one, and the others cannot be found: write a directory for each plane`;
    return [{ ...page, problem }, ...others];
  }
  return Array.from({ length: count }, (_, i) => ({
    ...page,
    tiles: page.tiles.map((tile) =>
      tile && { offset: tile.offset + i * size, length: tile.length }
    ),
  }));
}

/** The number of planes that the description of a page names, or the header of NIH Image. */
function planesOf(
  { description = "", shape }: TiffPage,
  tags: PageTags,
): number {
  const header = tags.list("nihImageHeader");
  if (header?.length === NIH_LENGTH) return header[NIH_PLANES]!;
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
  const isPlain = codecs?.length === 1 && tileShape[x] === shape[x] &&
    codecs[0]!.name !== "imagecodecs_jpeg";
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
