import { DamageError } from "../errors/mod.ts";
import { coreDataType } from "../metadata/mod.ts";
import type { ReadShardRange } from "../shards/mod.ts";
import {
  type Directory,
  MissingFileError,
  readDirectories,
} from "./directory_reader.ts";
import {
  MOST_TILES,
  type PageShape,
  pageShapeOf,
  pageTilesOf,
  type TiffFileFacts,
} from "./page_tiles.ts";
import { codecsOf, dataTypeOf, packedBits } from "./tiff_codecs.ts";
import {
  PageDamage,
  PageProblem,
  type TiffDescription,
  type TiffPage,
  type TiffPlace,
} from "./tiff_page.ts";
import { PageTags, PLACE_TAGS, TiffError } from "./tiff_tags.ts";

/**
 * Describes what a TIFF holds: its pages in the terms of Zarr, with the place of every
 * tile. Reads the directories by few requests, and no tile: one where the directories
 * are at the start of the file, two where they are at its end, and one more for tables
 * of tiles that are long.
 *
 * The member `problem` of a page is the reason why its tiles cannot be chunks of a Zarr
 * array. A stack with one directory for all planes, such as those of MetaMorph, NIH Image,
 * ImageJ and tifffile, has one page for each plane.
 *
 * @param read Reads a range of the file.
 * @param options `key`: the key of the file, for messages; `size`: the length of the
 * file in bytes, which saves a request for long tables at its end, and is needed to find
 * the lengths of compressed strips that the file does not have; `page`: the number of the
 * only page that is needed, from 0, so that damage of other pages is ignored.
 * @returns The pages.
 * @throws {DamageError} If the file is not a TIFF, or its directories are damaged.
 * @throws {Error} If there is no file.
 *
 * @example
 * ```ts
 * import { arrayMetadata, encodeShard, MemoryStore, parseShardLayout } from "@zarr-parts/zarr-parts";
 * import { describeTiff, tiffContainer } from "@zarr-parts/zarr-parts/tiff";
 * import { assertEquals } from "@std/assert";
 *
 * const metadata = arrayMetadata({
 *   shape: [16, 32],
 *   dataType: "uint8",
 *   shardShape: [16, 32],
 *   chunkShape: [16, 16],
 * });
 * const layout = parseShardLayout(metadata.codecs[0], [16, 32]);
 * const container = tiffContainer(metadata)([0, 0]);
 * const tiles = [new Uint8Array(256), new Uint8Array(256)];
 * const store = new MemoryStore([["/a.tiff", encodeShard(tiles, layout, { container })]]);
 *
 * const { pages } = await describeTiff((range) => store.getRange("/a.tiff", range));
 * assertEquals(pages.length, 1);
 * assertEquals(pages[0]?.shape, [16, 32]);
 * assertEquals(pages[0]?.tileShape, [16, 16]);
 * assertEquals(pages[0]?.dataType, "uint8");
 * assertEquals(pages[0]?.codecs, [{ name: "bytes" }]);
 * assertEquals(pages[0]?.tiles[1]?.length, 256);
 * ```
 */
export async function describeTiff(
  read: ReadShardRange,
  { key = "", size, page }: {
    key?: string | undefined;
    size?: number | undefined;
    page?: number | undefined;
  } = {},
): Promise<TiffDescription> {
  const { pages, damage, damagedPages } = await readPages(read, { key, size });
  if (page !== undefined && page < pages.length) {
    const own = damagedPages.get(page);
    if (own !== undefined) throw own;
    return { pages };
  }
  const [first = damage] = damagedPages.values();
  if (first !== undefined) throw first;
  return { pages };
}

/** The directories and pages of a TIFF, some of which may be damaged. */
interface FoundPages extends TiffDescription {
  /** Why the file may have more pages, which cannot be found. */
  readonly damage: DamageError | undefined;
  /** Why pages have no tags, by the places of the pages. */
  readonly damagedPages: ReadonlyMap<number, DamageError>;
}

/**
 * Reads the pages of a TIFF, up to a directory that is damaged. A page whose tags cannot be
 * read has a `problem`.
 *
 * @throws {DamageError} If the file is not a TIFF, or its first directory is damaged.
 * @throws {Error} If there is no file.
 */
export async function readPages(
  read: ReadShardRange,
  { key, size }: { key: string; size: number | undefined },
): Promise<FoundPages> {
  const name = key === "" ? "TIFF" : `TIFF ${JSON.stringify(key)}`;
  const damageOf = (cause: TiffError, advice = "") =>
    new DamageError(`${name} ${cause.message}${advice}`, { key, cause });
  let found: Awaited<ReturnType<typeof readDirectories>>;
  try {
    found = await readDirectories(read, size);
  } catch (cause) {
    if (cause instanceof TiffError) throw damageOf(cause);
    if (cause instanceof MissingFileError) {
      throw new Error(`There is no ${name}`, { cause });
    }
    throw cause;
  }
  const { directories, damage, ...format } = found;
  const starts = directories.map(({ offset }) => offset);
  const file = { ...format, size, starts };
  const pages = directories.map((directory) => describePage(directory, file));
  return {
    pages: withPlanes(pages, directories, size),
    damage: damage && damageOf(
      damage,
      `: choose a page from 0 to ${
        directories.length - 1
      }, which come before, by the option "page"`,
    ),
    damagedPages: new Map(
      directories.flatMap(({ damage }, page) =>
        damage === undefined ? [] : [[page, damageOf(damage)]]
      ),
    ),
  };
}

/** The value of PhotometricInterpretation for masks. */
const MASK = 4;

/** Describes a page in the terms of Zarr. */
function describePage(
  { parent, values, damage }: Directory,
  file: TiffFileFacts & { readonly isLittleEndian: boolean },
): TiffPage {
  const tags = new PageTags(values);
  let problem = damage && `the file ${damage.message}`;
  let isDamaged = damage !== undefined;
  const attempt = <T>(task: () => T): T | undefined => {
    try {
      return problem === undefined ? task() : undefined;
    } catch (error) {
      if (!(error instanceof PageProblem)) throw error;
      problem = error.message;
      isDamaged = error instanceof PageDamage;
    }
  };
  const shape: PageShape = attempt(() => pageShapeOf(tags)) ?? {
    axes: [],
    shape: [],
    tileShape: [],
  };
  const dataType = attempt(() => dataTypeOf(tags, file.isLittleEndian));
  const codecs = attempt(() =>
    codecsOf(tags, dataType!, file.isLittleEndian, shape)
  );
  const bits = packedBits(tags, file.isLittleEndian) ??
    coreDataType(dataType ?? "")?.bits;
  const tiles = attempt(() => pageTilesOf(tags, shape, bits!, file));
  const [description, gdalMetadata] = (["description", "gdalMetadata"] as const)
    .map((name) => tags.text(name));
  const place = placeOf(tags);
  const noData = noDataOf(tags.text("gdalNoData"), dataType);
  return {
    kind: kindOf(tags),
    ...parent !== undefined && { parent },
    ...shape,
    dataType,
    fillValue: noData ?? 0,
    ...noData !== undefined && { noData },
    codecs,
    tiles: tiles ?? [],
    ...problem !== undefined && { problem },
    ...isDamaged ? { isDamaged } : {},
    ...description !== undefined && { description },
    ...gdalMetadata !== undefined && { gdalMetadata },
    ...place && { place },
  };
}

function kindOf(tags: PageTags): TiffPage["kind"] {
  const flags = tags.number("newSubfileType", 0);
  if ((flags & 4) !== 0 || tags.number("photometric", 1) === MASK) {
    return "mask";
  }
  const isReduced = (flags & 1) !== 0 || tags.number("subfileType", 1) === 2;
  return isReduced ? "overview" : "image";
}

function placeOf(tags: PageTags): TiffPlace | undefined {
  const geoAsciiParams = tags.text("geoAsciiParams");
  const place = {
    ...Object.fromEntries(
      PLACE_TAGS.map((name) => [name, tags.list(name)])
        .filter(([, values]) => values !== undefined),
    ),
    ...geoAsciiParams !== undefined && { geoAsciiParams },
  };
  return Object.keys(place).length > 0 ? place : undefined;
}

/** Returns the number in GDAL_NODATA; `undefined` if the data type does not have the number, since no element can then be missing. */
function noDataOf(
  text: string | undefined,
  dataType: string | undefined,
): number | bigint | undefined {
  const trimmed = text?.trim() ?? "";
  if (dataType === undefined || trimmed === "") return undefined;
  const [, kind, digits] = /^(u?int|float|complex)(\d+)$/.exec(dataType)!;
  if (kind === "float" || kind === "complex") {
    const [, sign, infinite, none] = /^([+-]?)(?:(inf)|(nan))/i.exec(trimmed) ??
      [];
    const number = none
      ? NaN
      : infinite
      ? Number(`${sign}Infinity`)
      : Number(trimmed);
    if (Number.isNaN(number) && !none) return undefined;
    const bits = Number(digits) / (kind === "complex" ? 2 : 1);
    return bits === 32 ? Math.fround(number) : number;
  }
  // Programs also write integers as `255.0` or `1e3`.
  const isPlain = /^[+-]?\d+$/.test(trimmed);
  if (!isPlain && !Number.isInteger(Number(trimmed))) return undefined;
  const number = BigInt(isPlain ? trimmed.replace("+", "") : Number(trimmed));
  const fit = kind === "int" ? BigInt.asIntN : BigInt.asUintN;
  if (fit(Number(digits), number) !== number) return undefined;
  const isSafe = BigInt.asIntN(53, number) === number;
  return isSafe ? Number(number) : number;
}

/** The header of NIH Image: its length, and the place of the number of planes, in numbers of 16 bits. */
const [NIH_LENGTH, NIH_PLANES] = [256, 130];

/**
 * Gives the planes of a stack that has one directory for all of them: the planes lie one
 * after another. Such are the stacks of MetaMorph and NIH Image, large stacks of ImageJ,
 * and those of tifffile with `truncate`. Other pages are given as they are.
 *
 * @param pages All pages of a file.
 * @param directories Their directories.
 * @param fileSize The length of the file in bytes, if it is known.
 */
function withPlanes(
  pages: readonly TiffPage[],
  directories: readonly Directory[],
  fileSize = Infinity,
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
  // Of planes beyond the end of the file, one shows the damage.
  const end = fileSize - page.tiles[0]!.offset;
  const present = Math.min(count, Math.max(Math.floor(end / size), 0) + 1);
  return Array.from({ length: present }, (_, i) => ({
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
