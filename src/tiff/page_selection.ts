import type { TiffDescription, TiffPage } from "./tiff_page.ts";

/** Which pages of a file are adopted. */
export interface PageSelection {
  /** The place of a page. By default, all pages that are pictures. */
  readonly page?: number | undefined;
  /** The overview of the page: 0 for the page itself, 1 for the largest smaller version, and so on. */
  readonly overview?: number | undefined;
}

/** A selection as a number below 2^32, for the record of a file. */
const PAGE_BITS = 22;
export const MOST_PAGES = 2 ** PAGE_BITS - 2;
export const MOST_OVERVIEWS = 2 ** (32 - PAGE_BITS) - 1;

export function encodeSelection(
  { page = -1, overview = 0 }: PageSelection,
): number {
  return page + 1 + overview * 2 ** PAGE_BITS;
}

export function decodeSelection(contents: number): PageSelection {
  const page = contents % 2 ** PAGE_BITS - 1;
  const overview = Math.floor(contents / 2 ** PAGE_BITS);
  return { ...page >= 0 && { page }, overview };
}

/**
 * Selects pages of a file.
 *
 * @param name The file, for messages.
 * @throws {RangeError} If the file does not have them.
 */
export function selectPages(
  { pages }: TiffDescription,
  { page, overview = 0 }: PageSelection,
  name: string,
): TiffPage[] {
  const selected = page === undefined ? picturesOf(pages) : [pages[page]];
  if (selected.length === 0 || selected[0] === undefined) {
    throw new RangeError(
      page === undefined
        ? `${name} has no page that is a picture of its own, among ${pages.length}: choose one by the option "page"`
        : `${name} has no page ${page}, since it has ${pages.length}`,
    );
  }
  return (selected as TiffPage[]).map((picture) => {
    if (overview === 0) return picture;
    const overviews = overviewsOf(pages, picture);
    const found = overviews[overview - 1];
    if (found !== undefined) return found;
    throw new RangeError(
      `${name} has no overview ${overview} of page ${
        pages.indexOf(picture)
      }, since it has ${overviews.length}`,
    );
  });
}

/** The pages that are pictures: those of the chain, or else of sub-directories, or else the only page, whatever it says. */
function picturesOf(pages: readonly TiffPage[]): TiffPage[] {
  const pictures = pages.filter(({ kind }) => kind === "image");
  const inChain = pictures.filter(({ parent }) => parent === undefined);
  if (inChain.length > 0) return inChain;
  return pictures.length > 0 || pages.length > 1 ? pictures : [...pages];
}

/** The smaller versions of a page, the largest first: among its sub-directories, and after it in the chain. */
function overviewsOf(
  pages: readonly TiffPage[],
  picture: TiffPage,
): TiffPage[] {
  const place = pages.indexOf(picture);
  const next = pages.findIndex(({ kind, parent }, i) =>
    i > place && kind === "image" && parent === undefined
  );
  return pages
    .filter(({ kind, parent }, i) =>
      parent === place && kind !== "mask" ||
      parent === undefined && kind === "overview" && i > place &&
        (next < 0 || i < next)
    )
    .toSorted((a, b) => areaOf(b) - areaOf(a));
}

function areaOf({ shape }: TiffPage): number {
  return shape.reduce((product, length) => product * length, 1);
}
