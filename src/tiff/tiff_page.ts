import type { NamedConfiguration } from "../metadata/mod.ts";
import type { ShardIndex } from "../shards/mod.ts";
import type { TiffGeoreference } from "./tiff_options.ts";

/**
 * The tags of GeoTIFF in a page, as they are.
 *
 * Source: OGC GeoTIFF 1.1, https://docs.ogc.org/is/19-008r4/19-008r4.html
 *
 * @example
 * ```ts
 * import type { TiffPlace } from "@zarr-parts/zarr-parts/tiff";
 *
 * const place: TiffPlace = {
 *   modelPixelScale: [30, 30, 0],
 *   modelTiepoint: [0, 0, 0, 399_960, 5_300_040, 0],
 * };
 * ```
 */
export type TiffPlace = Readonly<Omit<TiffGeoreference, "size">>;

/**
 * The meaning of a dimension of a page.
 *
 * @example
 * ```ts
 * import type { TiffAxis } from "@zarr-parts/zarr-parts/tiff";
 *
 * const axes: readonly TiffAxis[] = ["y", "x", "band"];
 * ```
 */
export type TiffAxis = "band" | "y" | "x";

/**
 * A page of a TIFF in the terms of Zarr: an array whose chunks are the tiles of the page.
 *
 * @example
 * ```ts
 * import type { TiffPage } from "@zarr-parts/zarr-parts/tiff";
 *
 * const page: TiffPage = {
 *   kind: "image",
 *   axes: ["y", "x"],
 *   shape: [100, 60],
 *   tileShape: [64, 64],
 *   dataType: "uint8",
 *   fillValue: 0,
 *   codecs: [{ name: "bytes" }, { name: "zstd" }],
 *   tiles: [{ offset: 8, length: 900 }, undefined], // The second tile is sparse.
 * };
 * ```
 */
export interface TiffPage {
  /** What the page is: a picture, a smaller version of one, or a mask of one. */
  readonly kind: "image" | "overview" | "mask";
  /** The place of the page that has this one among its sub-directories (tag SubIFDs). */
  readonly parent?: number;
  /** The meanings of the dimensions. */
  readonly axes: readonly TiffAxis[];
  /** The lengths of the page along its dimensions, in elements. */
  readonly shape: readonly number[];
  /** The lengths of a tile in elements; a strip is a tile as wide as the page. */
  readonly tileShape: readonly number[];
  /** The data type by its Zarr name; `undefined` if Zarr has none for it. */
  readonly dataType: string | undefined;
  /** The value of GDAL_NODATA, or 0; the elements of tiles that the file leaves out have it. */
  readonly fillValue: number | bigint;
  /** The value of GDAL_NODATA, if the page has one of its data type. */
  readonly noData?: number | bigint;
  /** The codecs of a tile in the terms of Zarr; `undefined` if there are none. */
  readonly codecs: readonly NamedConfiguration[] | undefined;
  /** The place of each tile in C order, with `undefined` for tiles that the file leaves out. */
  readonly tiles: ShardIndex;
  /** Why the tiles cannot be chunks of a Zarr array, and what to do; missing if they can be. */
  readonly problem?: string;
  /** Whether `problem` is damage of the file. */
  readonly isDamaged?: boolean;
  /** The tag ImageDescription, unless it has more than 1 MiB, or 16 MiB in the first page. */
  readonly description?: string;
  /** The tag GDAL_METADATA, XML with the scales and units of bands, unless it has more than 1 MiB, or 16 MiB in the first page. */
  readonly gdalMetadata?: string;
  /** The place on the earth, if the page has tags of GeoTIFF. */
  readonly place?: TiffPlace;
}

/**
 * What a TIFF holds.
 *
 * @example
 * ```ts
 * import type { TiffDescription } from "@zarr-parts/zarr-parts/tiff";
 *
 * const overviews = ({ pages }: TiffDescription) =>
 *   pages.filter(({ kind }) => kind === "overview").length;
 * ```
 */
export interface TiffDescription {
  /** The pages in the order of the file, and after them those of sub-directories. */
  readonly pages: readonly TiffPage[];
}

/** A reason why a page cannot be chunks of a Zarr array, and a way out. */
export class PageProblem extends Error {}

/** Damage of a page. */
export class PageDamage extends PageProblem {}

/** What to do with a file of another form. */
export const CONVERT =
  "convert the file, such as by gdal_translate -co TILED=YES -co COMPRESS=DEFLATE";
