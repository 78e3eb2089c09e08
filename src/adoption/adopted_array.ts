import type { ArrayChunks } from "../arrays/array_chunks.ts";

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
