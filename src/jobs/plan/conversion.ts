import type { StoreKey } from "../../stores/store.ts";
import type { ArrayMetadata } from "../../metadata/array_metadata.ts";

/**
 * The result of {@linkcode convert} and {@linkcode convertInPlace}: what was done, or
 * would be done.
 *
 * @example
 * ```ts
 * import type { Conversion } from "@zarr-parts/zarr-parts/jobs";
 *
 * const text = ({ copied, skipped, bytes }: Conversion) =>
 *   `${copied} copied, ${skipped} skipped, ${bytes} bytes`;
 * ```
 */
export interface Conversion {
  /** The arrays, with their new metadata. */
  readonly arrays: readonly ConvertedArray[];
  /** The number of chunks and other files: those of the share, if there is one. */
  readonly total: number;
  /** The number of chunks and other files that were copied. */
  readonly copied: number;
  /** The number of those that the target had already. */
  readonly skipped: number;
  /** The number of chunks of the grid that the source does not have, if it cannot list. */
  readonly absent: number;
  /** The number of bytes that were copied. */
  readonly bytes: number;
  /** Whether the target is finished, with its metadata. */
  readonly isFinished: boolean;
  /**
   * The keys of Zarr v2 metadata beside a `zarr.json`, which says where chunks were before:
   * it is not copied or, in place, removed.
   */
  readonly v2Documents: readonly StoreKey[];
  /**
   * The paths of Zarr v2 nodes below the converted node, whose files are copied or, in
   * place, left as they are.
   */
  readonly v2Nodes: readonly string[];
  /** The nodes that were left out since their documents are not valid, with `keepGoing`. */
  readonly leftOut: readonly LeftOutNode[];
}

/**
 * A node whose document is not valid or not understood.
 *
 * @example
 * ```ts
 * import type { LeftOutNode } from "@zarr-parts/zarr-parts/jobs";
 *
 * const line = ({ path, message }: LeftOutNode) => `/${path}: ${message}`;
 * ```
 */
export interface LeftOutNode {
  /** The node's path below the outermost one. */
  readonly path: string;
  /** The problem, with the key of the document. */
  readonly message: string;
}

/**
 * An array that is converted.
 *
 * @example
 * ```ts
 * import type { ConvertedArray } from "@zarr-parts/zarr-parts/jobs";
 *
 * const line = ({ path, chunks }: ConvertedArray) => `/${path}: ${chunks ?? "?"} chunks`;
 * ```
 */
export interface ConvertedArray {
  /** The array's path below the converted node; empty for that node. */
  readonly path: string;
  /** The metadata of the source. */
  readonly from: ArrayMetadata;
  /** The metadata of the target. */
  readonly metadata: ArrayMetadata;
  /** The number of stored chunks, or `undefined` if the source cannot list. */
  readonly chunks: number | undefined;
}
