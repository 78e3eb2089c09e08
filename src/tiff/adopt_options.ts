import {
  ADOPTION_OPTIONS,
  type AdoptionOptions,
  assertAdoption,
  isBoolean,
} from "../adoption/adoption_options.ts";
import type { ChunkKeyEncoding } from "../chunk_key_encoding/chunk_key_encoding.ts";
import type { NamedConfiguration } from "../metadata/array_metadata.ts";
import { describe, describeAll } from "../metadata/describe.ts";
import type { StoreKey } from "../stores/store.ts";
import { MOST_OVERVIEWS, MOST_PAGES } from "./page_selection.ts";

/**
 * A file and its place in an array.
 *
 * @example
 * ```ts
 * import type { TiffFile } from "@zarr-parts/zarr-parts/tiff";
 *
 * const file: TiffFile = { coordinates: [0, 2], key: "/S2A_T32TMT_B04.tif" };
 * ```
 */
export interface TiffFile {
  /** The grid coordinates of the shard that the file becomes. */
  readonly coordinates: readonly number[];
  /** The key of the file in the store. */
  readonly key: StoreKey;
}

/**
 * Options of {@linkcode adoptTiffs}.
 *
 * @example
 * ```ts
 * import type { AdoptTiffsOptions } from "@zarr-parts/zarr-parts/tiff";
 *
 * const options: AdoptTiffsOptions = {
 *   chunkKeyEncoding: { name: "template", configuration: { format: "tile_{0}_{1}.tif" } },
 *   attributes: { source: "survey of 2019" },
 * };
 * ```
 */
export interface AdoptTiffsOptions extends AdoptionOptions {
  /**
   * The names of the files below the path of the array. By default, `default` keys with
   * the suffix `.tiff` or `.tif`, such as `c/0/1.tiff`.
   */
  readonly chunkKeyEncoding?:
    | string
    | NamedConfiguration
    | ChunkKeyEncoding
    | undefined;
  /** The files, for a store that cannot list, or for names that follow no encoding. By default, those that the encoding names. */
  readonly files?: readonly TiffFile[] | undefined;
  /** Whether each file is one element along a new first dimension. */
  readonly stack?: boolean | undefined;
  /**
   * The place of the page that is adopted, as `describeTiff` lists them. By default, all
   * pages that are pictures; several of them make a dimension before those of a page.
   */
  readonly page?: number | undefined;
  /** The overview that is adopted in place of the page: 1 for the largest one, and so on. Defaults to 0, the page itself. */
  readonly overview?: number | undefined;
  /** The value of elements that no file has. By default, GDAL_NODATA of the files, or 0. */
  readonly fillValue?: number | bigint | undefined;
  /** A name for each dimension, or `null`. By default, `y`, `x`, `band`, `page` and `stack`. */
  readonly dimensionNames?: readonly (string | null)[] | undefined;
  /** The user's own metadata. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
}

/** For each option: what it must be, and whether a value is that. */
const OPTIONS: Readonly<
  Record<
    keyof AdoptTiffsOptions,
    readonly [string, (value: unknown) => boolean]
  >
> = {
  ...ADOPTION_OPTIONS,
  chunkKeyEncoding: [
    "a chunk key encoding",
    (value) => typeof value === "string" || typeof value === "object",
  ],
  files: ["a list of { coordinates, key }", isFiles],
  stack: isBoolean(),
  page: isPlace(MOST_PAGES),
  overview: isPlace(MOST_OVERVIEWS),
  fillValue: [
    "a number or a bigint",
    (value) => typeof value === "number" || typeof value === "bigint",
  ],
  dimensionNames: ["a list of names", Array.isArray],
  attributes: ["an object", (value) => typeof value === "object"],
};

/** Refuses options that are unknown or of a wrong type. */
export function assertAdoptOptions(options: AdoptTiffsOptions): void {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(
      `Expected the options of adoptTiffs as an object, found ${
        describe(options)
      }`,
    );
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(OPTIONS, name)) {
      throw new TypeError(
        `Unknown option ${describe(name)} of adoptTiffs; known are ${
          describeAll(Object.keys(OPTIONS))
        }`,
      );
    }
    const [expected, isValid] = OPTIONS[name as keyof AdoptTiffsOptions];
    if (value === undefined || isValid(value)) continue;
    throw new TypeError(
      `Expected the option "${name}" to be ${expected}, found ${
        describe(value)
      }`,
    );
  }
  assertAdoption(options);
}

function isPlace(most: number): [string, (value: unknown) => boolean] {
  return [
    `a whole number from 0 to ${most}`,
    (value) =>
      Number.isInteger(value) && value as number >= 0 &&
      value as number <= most,
  ];
}

function isFiles(value: unknown): boolean {
  return Array.isArray(value) &&
    value.every((file) =>
      Array.isArray(file?.coordinates) && typeof file.key === "string"
    );
}
