import { assertShare, type Share } from "../../arrays/mod.ts";
import type { CodecRegistry } from "../../codecs/mod.ts";
import {
  BOOLEAN,
  checkExclusive,
  checkOptions,
  FUNCTION,
  objectRule,
  type OptionRule,
  type OptionRules,
  SIGNAL,
  wholeFrom,
} from "../../errors/mod.ts";
import type { ArrayMetadata } from "../../metadata/mod.ts";
import type { StoreKey, StoreOptions } from "../../stores/mod.ts";
import { NODE_OPTIONS, type NodeSelection } from "../../hierarchy/mod.ts";
import { type ThreadPool, THREADS } from "../../threads/mod.ts";
import {
  assertLayout,
  LAYOUT_OPTIONS,
  type LayoutOptions,
} from "./change_layout.ts";

/**
 * Options of {@linkcode convert}.
 *
 * @example The second of four shares of the work
 * ```ts
 * import type { ConvertOptions } from "@zarr-parts/zarr-parts/jobs";
 *
 * const options: ConvertOptions = {
 *   suffix: ".shard",
 *   parts: ["", ".index"],
 *   share: { index: 1, count: 4 },
 *   onProgress: ({ done, total }) => console.error(`${done} of ${total}`),
 * };
 * ```
 */
export interface ConvertOptions
  extends LayoutOptions, NodeSelection, StoreOptions {
  /** The number of chunks that are copied at once, from 1. Default: 4. */
  readonly concurrency?: number | undefined;
  /**
   * The threads that decode and encode chunks with `recode`: a pool, or their number from 0;
   * with 0, the calling thread does all work. Defaults to one for each processor, for arrays
   * of 16 MiB or more.
   */
  readonly threads?: ThreadPool | number | undefined;
  /**
   * The approximate limit of the memory for chunks with `recode`, in bytes: half of it for
   * elements, half for encoded chunks. Threads need memory for two chunks each in addition,
   * and single chunks, and shards in a `container`, may need more. With less memory, chunks may
   * be decoded several times. Default: 256 MiB or, for larger chunks, four of them for each
   * thread, up to 2 GiB, but at least four of them.
   */
  readonly memory?: number | undefined;
  /**
   * A registry of codecs for `recode`, such as `zarr.registry` of zarrita, for arrays with
   * codecs that this package does not have.
   */
  readonly codecs?: Pick<CodecRegistry, "get"> | undefined;
  /**
   * Whether a conversion that was not finished is continued. Chunks that the target has with
   * all parts and the length of the source's chunk are skipped; with `recode`, those that it has
   * with all parts, since stores write a chunk whole or not at all. A conversion that was begun
   * with `overwrite` makes all chunks again.
   */
  readonly resume?: boolean | undefined;
  /**
   * Whether the Zarr node, or the unfinished conversion, at the target is replaced: its
   * documents, its chunks, and files that the source has, too. Each chunk stays until its
   * replacement is stored; what is left over is removed at the end. Any other file at the
   * target is an error, and nothing is changed. The target must be able to list.
   */
  readonly overwrite?: boolean | undefined;
  /**
   * Whether the other nodes of a group are converted where some cannot be: nodes whose documents
   * are not valid are left out, with their chunks and files, and arrays that cannot get the
   * layout, such as arrays without shards if there is a container, are copied as they are.
   * By default, such a node is an error.
   */
  readonly keepGoing?: boolean | undefined;
  /** Whether nothing is written. The result then describes what would be converted. */
  readonly dryRun?: boolean | undefined;
  /**
   * Copies one share of the chunks and files, and leaves out the metadata. Programs with
   * all shares may run at the same time or one after another, and each may run again. A run
   * with `resume` and without a share comes last: it copies what is missing, and writes the
   * metadata.
   */
  readonly share?: Share | undefined;
  /**
   * Called after each chunk and each other file.
   *
   * @param progress The counts of finished and of all chunks and files.
   */
  readonly onProgress?: ((progress: ConvertProgress) => void) | undefined;
}

/**
 * The progress of a conversion.
 *
 * @example
 * ```ts
 * import type { ConvertProgress } from "@zarr-parts/zarr-parts/jobs";
 *
 * const percent = ({ done, total }: ConvertProgress) => `${Math.floor(100 * done / total)} %`;
 * ```
 */
export interface ConvertProgress {
  /** The number of chunks and other files that are copied, skipped or absent. */
  readonly done: number;
  /**
   * The number of chunks and other files: those of the share, if there is one. If the
   * source cannot list, all chunks of the grid count.
   */
  readonly total: number;
  /** The number of bytes that were copied. */
  readonly bytes: number;
}

/** The rule for the number of chunks that a job works on at once. */
export const CONCURRENCY: OptionRule = {
  ...wholeFrom(1),
  outOfRange: "all",
};

const OPTIONS: OptionRules<ConvertOptions> = {
  ...LAYOUT_OPTIONS,
  ...NODE_OPTIONS,
  concurrency: CONCURRENCY,
  threads: THREADS,
  memory: wholeFrom(1),
  codecs: objectRule("a registry of codecs"),
  resume: BOOLEAN,
  overwrite: BOOLEAN,
  keepGoing: BOOLEAN,
  dryRun: BOOLEAN,
  share: objectRule("a share"),
  onProgress: FUNCTION,
  signal: SIGNAL,
};

/** Throws if an option is unknown or out of range, or options contradict each other. */
export function assertConvertOptions(options: ConvertOptions): void {
  checkOptions(options, OPTIONS, "convert");
  checkExclusive(options, [
    ["resume", "overwrite"],
    ["share", "overwrite"],
  ]);
  assertShare(options.share);
  assertLayout(options);
}

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
  /**
   * The number of chunks and other files: those of the share, if there is one. With `recode`,
   * the chunks of the target count.
   */
  readonly total: number;
  /** The number of chunks and other files that were copied or made. */
  readonly copied: number;
  /** The number of those that the target had already. */
  readonly skipped: number;
  /**
   * The number of chunks of the grid that the source does not have, if it cannot list, and
   * of chunks with `recode` of which all elements have the fill value.
   */
  readonly absent: number;
  /** The number of bytes that were copied, or stored with `recode`. */
  readonly bytes: number;
  /** Whether the target is finished, with its metadata. */
  readonly isFinished: boolean;
  /**
   * The keys of Zarr v2 metadata beside a `zarr.json`. This metadata names the earlier keys of
   * chunks, so that it is not copied, or is removed in place.
   */
  readonly v2Documents: readonly StoreKey[];
  /**
   * The paths of the nodes of Zarr v2, which become nodes of Zarr v3 or, in place, are left
   * as they are.
   */
  readonly v2Nodes: readonly string[];
  /** The nodes that were left out since their documents are not valid, with `keepGoing`. */
  readonly leftOut: readonly LeftOutNode[];
  /** The paths of the nodes that `only` and `exclude` leave out. */
  readonly excluded: readonly string[];
  /** The arrays that cannot get the layout and were copied as they are, with `keepGoing`. */
  readonly others: readonly OtherArray[];
}

/**
 * An array that cannot get the layout of a conversion.
 *
 * @example
 * ```ts
 * import type { OtherArray } from "@zarr-parts/zarr-parts/jobs";
 *
 * const line = ({ path, message }: OtherArray) => `/${path} is as it was: ${message}`;
 * ```
 */
export interface OtherArray {
  /** The array's path below the outermost node. */
  readonly path: string;
  /** Why the array cannot get the layout. */
  readonly message: string;
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
  /** The counts of a recoding; `undefined` for an array whose encoded chunks are copied. */
  readonly recoded?: RecodedChunks | undefined;
}

/**
 * The chunks of an array that gets another encoding.
 *
 * @example
 * ```ts
 * import type { RecodedChunks } from "@zarr-parts/zarr-parts/jobs";
 *
 * const isOften = ({ decodes }: RecodedChunks) => decodes > 2;
 * ```
 */
export interface RecodedChunks {
  /** The number of stored chunks that are made: those of the share, if there is one. */
  readonly chunks: number;
  /**
   * How often a chunk of the source is decoded, on average; 0 if chunks stay encoded and
   * only their shards change. More `memory` lowers numbers above 1.
   */
  readonly decodes: number;
}
