import {
  BOOLEAN,
  checkOptions,
  oneOf,
  type OptionRules,
} from "../../errors/mod.ts";

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
   * `[band, y, x]`. By default there is one band, and dimensions before the last two
   * are pages of the file.
   */
  bands?: "first" | "last" | undefined;
  /** `"rgb"` if the first three bands are red, green and blue; a fourth one is alpha. Defaults to `"gray"`. */
  colors?: "gray" | "rgb" | undefined;
  /** The place of the directories in the file. Defaults to `"start"`, where readers need fewer requests. */
  directory?: "start" | "end" | undefined;
  /** `true` for BigTIFF, `false` for classic TIFF. By default, BigTIFF if the file exceeds 4 GiB. */
  bigTiff?: boolean | undefined;
  /** Whether absent inner chunks take no bytes. By default, they are tiles of the fill value. */
  sparse?: boolean | undefined;
  /** The text of the tag ImageDescription. */
  description?: string | undefined;
  /** The number of pixels per unit of length. */
  resolution?: TiffResolution | undefined;
  /** The place of the array on the earth. Each shard gets its own. */
  georeference?: TiffGeoreference | undefined;
  /** The element that stands for missing data, for the tag GDAL_NODATA. */
  noData?: number | bigint | undefined;
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
 * Tags of GeoTIFF, as they are for a file that holds the whole array.
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
  modelPixelScale: readonly [number, number, number];
  /** ModelTiepointTag: the column, row and depth of a pixel, and the x, y and z of its place. */
  modelTiepoint: readonly [number, number, number, number, number, number];
  /** GeoKeyDirectoryTag: numbers from 0 to 65535. */
  geoKeyDirectory?: readonly number[] | undefined;
  /** GeoDoubleParamsTag, to which the directory refers. */
  geoDoubleParams?: readonly number[] | undefined;
  /** GeoAsciiParamsTag, to which the directory refers. */
  geoAsciiParams?: string | undefined;
}

const OPTIONS: OptionRules<TiffOptions> = {
  bands: oneOf("first", "last"),
  colors: oneOf("gray", "rgb"),
  directory: oneOf("start", "end"),
  bigTiff: BOOLEAN,
  sparse: BOOLEAN,
  description: {
    expected: "a text without the character NUL",
    isValid: isText,
  },
  resolution: {
    expected:
      'x and y from 0 to 2^32−1, and maybe the unit "none", "inch" or "centimeter"',
    isValid: isResolution,
  },
  georeference: {
    expected:
      "modelPixelScale of 3 numbers, modelTiepoint of 6 numbers, and maybe geoKeyDirectory, geoDoubleParams and geoAsciiParams",
    isValid: isGeoreference,
  },
  noData: {
    expected: "a number or a bigint",
    isValid: (value) => typeof value === "number" || typeof value === "bigint",
  },
};

/** Refuses options that are unknown or of a wrong type. */
export function assertTiffOptions(options: TiffOptions): void {
  checkOptions(options, OPTIONS, "tiffContainer");
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
  const {
    modelPixelScale,
    modelTiepoint,
    geoKeyDirectory = [],
    geoDoubleParams = [],
    geoAsciiParams = "",
  } = Object(value);
  return areNumbers(modelPixelScale, 3) && areNumbers(modelTiepoint, 6) &&
    areNumbers(geoKeyDirectory) &&
    geoKeyDirectory.every((n: number) =>
      Number.isInteger(n) && n >= 0 && n <= 0xffff
    ) && areNumbers(geoDoubleParams) && isText(geoAsciiParams);
}

function areNumbers(value: unknown, count?: number): boolean {
  return Array.isArray(value) &&
    value.every((n) => typeof n === "number" && Number.isFinite(n)) &&
    (count === undefined || value.length === count);
}
