import { oneOf, type OptionRule } from "../errors/mod.ts";

/**
 * The options of `tiffContainer`.
 *
 * @example
 * ```ts
 * import type { TiffOptions } from "@zarr-parts/zarr-parts/tiff";
 *
 * const options: TiffOptions = {
 *   description: "Elevation in metres",
 *   resolution: { x: 300, y: 300, unit: "inch" },
 * };
 * ```
 */
export interface TiffOptions {
  /**
   * The place of the bands. `"last"`: the last dimension holds them, as in
   * `[y, x, band]`. `"first"`: the dimension before the last two does, as in
   * `[band, y, x]`. `"auto"` decides by the names and the lengths of the dimensions: bands
   * are a dimension with the name of bands or channels behind y and x, one with the name of
   * bands before them, and in arrays without names a first or last one of 3 or 4 elements
   * among three. By default there is one band, and dimensions before the last two are pages
   * of the file.
   */
  bands?: "first" | "last" | "auto" | undefined;
  /**
   * `"rgb"` if the first three bands are red, green and blue; a fourth one is alpha. `"auto"`
   * takes that for a last dimension of 3 or 4 bands of `uint8` or `uint16`. Defaults to
   * `"gray"`.
   */
  colors?: "gray" | "rgb" | "auto" | undefined;
  /** The place of the directories in the file. Defaults to `"start"`, where readers need fewer requests. */
  directory?: "start" | "end" | undefined;
  /** `true` for BigTIFF, `false` for classic TIFF. By default, BigTIFF if the file exceeds 4 GiB. */
  bigTiff?: boolean | undefined;
  /** Whether absent inner chunks take no bytes. By default, they are tiles of the fill value. */
  sparse?: boolean | undefined;
  /** The text of the tag ImageDescription. */
  description?: string | undefined;
  /** Makes each shard an OME-TIFF, whose description is OME-XML. Excludes `description`. */
  ome?: OmeImage | undefined;
  /** The number of pixels per unit of length. */
  resolution?: TiffResolution | undefined;
  /** The place of the array on the earth. Each shard gets its own. */
  georeference?: TiffGeoreference | TiffMapPlace | undefined;
  /** The element that stands for missing data, for the tag GDAL_NODATA. */
  noData?: number | bigint | undefined;
  /** The scale, offset, unit and description of the elements, for the tag GDAL_METADATA. */
  values?: TiffValues | undefined;
}

/**
 * The scale, offset, unit and description of the elements of an array.
 *
 * @example Hundredths of a kelvin, from 273.15 K on
 * ```ts
 * import type { TiffValues } from "@zarr-parts/zarr-parts/tiff";
 *
 * const values: TiffValues = {
 *   scale: 0.01,
 *   offset: 273.15,
 *   unit: "K",
 *   description: "Temperature",
 * };
 * ```
 */
export interface TiffValues {
  /** The number by which elements are multiplied. Defaults to 1. */
  scale?: number | undefined;
  /** The number that is added to elements once they are multiplied. Defaults to 0. */
  offset?: number | undefined;
  /** The unit of the results, such as `"m"`. */
  unit?: string | undefined;
  /** The name of every band, or a list of one name for each band of the array. */
  description?: string | readonly string[] | undefined;
}

/**
 * The number of pixels per unit of length, each from 0 to 2^32−1.
 *
 * @example
 * ```ts
 * import type { TiffResolution } from "@zarr-parts/zarr-parts/tiff";
 *
 * const resolution: TiffResolution = { x: 15384.6, y: 15384.6, unit: "centimeter" }; // 0.65 µm
 * ```
 */
export interface TiffResolution {
  /** Pixels per unit along the last dimension of a picture. */
  x: number;
  /** Pixels per unit along the dimension before. */
  y: number;
  /** The unit. Defaults to `"none"`, where only the ratio of `x` to `y` counts. */
  unit?: "none" | "inch" | "centimeter" | undefined;
}

/**
 * Tags of GeoTIFF, as they are for a file that holds the whole array: either
 * `modelPixelScale` and `modelTiepoint`, or `modelTransformation`. The member `place` of a
 * `TiffPage` has this form.
 *
 * Source: OGC GeoTIFF 1.1, https://docs.ogc.org/is/19-008r4/19-008r4.html
 *
 * @example Pixels of 30 m in UTM zone 32N
 * ```ts
 * import type { TiffGeoreference } from "@zarr-parts/zarr-parts/tiff";
 *
 * const georeference: TiffGeoreference = {
 *   modelPixelScale: [30, 30, 0],
 *   modelTiepoint: [0, 0, 0, 399_960, 5_300_040, 0],
 *   geoKeyDirectory: [1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32632],
 * };
 * ```
 */
export interface TiffGeoreference {
  /** ModelPixelScaleTag: the size of a pixel in x, y and z. */
  modelPixelScale?: readonly number[] | undefined;
  /** ModelTiepointTag: the column, row and depth of a pixel, and the x, y and z of its place. */
  modelTiepoint?: readonly number[] | undefined;
  /** ModelTransformationTag: the 4 × 4 matrix from column, row and depth to x, y and z, row by row. */
  modelTransformation?: readonly number[] | undefined;
  /** GeoKeyDirectoryTag: numbers from 0 to 65535. */
  geoKeyDirectory?: readonly number[] | undefined;
  /** GeoDoubleParamsTag, to which the directory refers. */
  geoDoubleParams?: readonly number[] | undefined;
  /** GeoAsciiParamsTag, to which the directory refers. */
  geoAsciiParams?: string | undefined;
  /** The height and the width of the array that the tags are meant for, in elements. An array of another size is refused. */
  size?: readonly number[] | undefined;
}

/**
 * The place of an array on the earth in numbers, from which the tags of GeoTIFF follow.
 *
 * @example
 * ```ts
 * import type { TiffMapPlace } from "@zarr-parts/zarr-parts/tiff";
 *
 * const place: TiffMapPlace = {
 *   bbox: [399_960, 5_190_240, 509_760, 5_300_040],
 *   crs: "EPSG:32632",
 * };
 * ```
 */
export interface TiffMapPlace {
  /**
   * The numbers [a, b, c, d, e, f] by which a column and a row have the coordinates
   * x = a·column + b·row + c and y = d·column + e·row + f. The corner of the first element is
   * at column 0 and row 0.
   */
  transform?: readonly number[] | undefined;
  /** The bounding box [xmin, ymin, xmax, ymax] of the array in place of `transform`, whose first row has the greatest y. */
  bbox?: readonly number[] | undefined;
  /**
   * The coordinate reference system: a code of EPSG such as `"EPSG:32632"`, or well-known
   * text or PROJJSON with such a code.
   */
  crs?: string | Readonly<Record<string, unknown>> | undefined;
  /** Whether elements are values at points, whose places `transform` and `bbox` give, and not those of areas. */
  isPoint?: boolean | undefined;
  /** The height and the width of the array that the place is meant for, in elements. An array of another size is refused. */
  size?: readonly number[] | undefined;
}

/**
 * The description of an array in OME-XML. Its lists have one member for each dimension.
 *
 * @example Two channels of slices, 0.65 µm × 0.65 µm × 2 µm
 * ```ts
 * import type { OmeImage } from "@zarr-parts/zarr-parts/tiff";
 *
 * const ome: OmeImage = {
 *   axes: ["c", "z", "y", "x"],
 *   scale: [1, 2, 0.65, 0.65],
 *   units: [undefined, "micrometer", "micrometer", "micrometer"],
 *   channels: [{ label: "DAPI", color: "0000FF" }, { label: "GFP", color: "00FF00" }],
 * };
 * ```
 */
export interface OmeImage {
  /** The dimensions: `"t"`, `"c"`, `"z"`, `"y"` and `"x"`, each at most once. The last ones are `"y"` and `"x"`, and maybe a `"c"` of bands. */
  axes: readonly string[];
  /** The name of the image. */
  name?: string | undefined;
  /** The distance of two elements along each dimension, in its unit. */
  scale?: readonly number[] | undefined;
  /** The place of the first element along each dimension, in its unit. */
  translation?: readonly number[] | undefined;
  /** The units of the dimensions by their names in OME-Zarr, such as `"micrometer"`. */
  units?: readonly (string | undefined)[] | undefined;
  /** The channels of the array in their order. */
  channels?: readonly OmeChannel[] | undefined;
}

/**
 * A channel of an image.
 *
 * @example
 * ```ts
 * import type { OmeChannel } from "@zarr-parts/zarr-parts/tiff";
 *
 * const channel: OmeChannel = { label: "DAPI", color: "0000FF" };
 * ```
 */
export interface OmeChannel {
  /** The name of the channel. */
  label?: string | undefined;
  /** Red, green and blue in six hexadecimal digits. */
  color?: string | undefined;
}

/** The rule for the place of the bands. */
export const BANDS: OptionRule = /* @__PURE__ */ oneOf("first", "last", "auto");
