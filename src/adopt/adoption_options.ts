import type { ArrayChunks } from "../arrays/mod.ts";
import { BOOLEAN, FUNCTION, type OptionRules, SIGNAL } from "../errors/mod.ts";
import type { StoreOptions } from "../stores/mod.ts";

/**
 * Options of all functions that adopt files.
 *
 * @example
 * ```ts
 * import type { AdoptionOptions } from "@zarr-parts/zarr-parts/tiff";
 *
 * const options: AdoptionOptions = {
 *   overwrite: true,
 *   onProgress: ({ done, total }) => console.error(`${done} of ${total}`),
 * };
 * ```
 */
export interface AdoptionOptions extends StoreOptions {
  /** Whether a file whose key is not that of its chunk gets that key, too, by a hard link. Defaults to `false`. */
  readonly link?: boolean | undefined;
  /**
   * Whether existing indexes and metadata are replaced. Defaults to `false`, which refuses
   * them, except indexes that are right, such as those that a killed adoption left.
   */
  readonly overwrite?: boolean | undefined;
  /** Whether nothing is written. The report then describes what would be adopted. */
  readonly dryRun?: boolean | undefined;
  /**
   * Called after each file that is read, and after each index that is written or checked.
   *
   * @param progress The number of these steps that are done, and of all steps.
   */
  readonly onProgress?:
    | ((progress: { readonly done: number; readonly total: number }) => void)
    | undefined;
}

/** The rules of the options of all functions that adopt files. */
export const ADOPTION_OPTIONS: OptionRules<AdoptionOptions> = {
  link: BOOLEAN,
  overwrite: BOOLEAN,
  dryRun: BOOLEAN,
  onProgress: FUNCTION,
  signal: SIGNAL,
};

/**
 * The counts of files and inner chunks of an adopted array.
 *
 * @example
 * ```ts
 * import type { AdoptionReport } from "@zarr-parts/zarr-parts/tiff";
 *
 * const report: AdoptionReport = {
 *   files: 12,
 *   missingFiles: 0,
 *   innerChunks: 3072,
 *   indexBytes: 49_584,
 *   notes: [],
 * };
 * ```
 */
export interface AdoptionReport {
  /** The number of files, each of which is a shard. */
  readonly files: number;
  /** The number of shards in the chunk grid that have no file. Their elements have the fill value. */
  readonly missingFiles: number;
  /** The number of inner chunks in all files. Those that a sparse file leaves out do not count. */
  readonly innerChunks: number;
  /** The length of the parts that hold the indexes of all files, in bytes. */
  readonly indexBytes: number;
  /** Notes on unusual properties, such as grid coordinates that do not start at 0. */
  readonly notes: readonly string[];
}

/**
 * An array made of files that were there before.
 *
 * @example
 * ```ts
 * import type { AdoptedArray } from "@zarr-parts/zarr-parts/tiff";
 *
 * const describeArray = ({ chunks, report }: AdoptedArray) =>
 *   `${report.files} files make an array of ${chunks.metadata.shape.join(" × ")}`;
 * ```
 */
export interface AdoptedArray {
  /** The array; its chunks are the files. */
  readonly chunks: ArrayChunks;
  /** The counts, and notes. */
  readonly report: AdoptionReport;
}
