import { describe, describeAll } from "../../metadata/describe.ts";
import type { StoreOptions } from "../../stores/store.ts";
import { assertLayout } from "./change_layout.ts";
import type { LayoutOptions } from "./layout_options.ts";
import { assertShare, type Share } from "../../arrays/share.ts";

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
export interface ConvertOptions extends LayoutOptions, StoreOptions {
  /** The number of chunks that are copied at once, from 1. Default: 4. */
  readonly concurrency?: number | undefined;
  /**
   * Continues a conversion that was not finished. Chunks that the target has with all
   * parts and the length of the source's chunk are skipped; `"compare"` compares all
   * their bytes instead.
   */
  readonly resume?: boolean | "compare" | undefined;
  /**
   * Whether the Zarr node, or the unfinished conversion, at the target is removed first:
   * its documents and chunks, and files that the source has, too. Any other file at the
   * target is an error, and nothing is removed. The target must be able to list.
   */
  readonly overwrite?: boolean | undefined;
  /**
   * Whether nodes in a group whose documents are not valid are left out, with their chunks
   * and files. By default, such a node is an error.
   */
  readonly keepGoing?: boolean | undefined;
  /** Whether nothing is written: the result then says what would be converted. */
  readonly dryRun?: boolean | undefined;
  /**
   * Copies one share of the chunks and files, and leaves out the metadata. Programs with
   * all shares may run at the same time or one after another, and each may run again.
   * `finish` comes last.
   */
  readonly share?: Share | undefined;
  /** Whether only the metadata is written, after checking that the target has all chunks and files. */
  readonly finish?: boolean | undefined;
  /**
   * Called after each chunk and each other file.
   *
   * @param progress How far the conversion is.
   */
  readonly onProgress?: ((progress: ConvertProgress) => void) | undefined;
}

/**
 * How far a conversion is.
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

const KNOWN = [
  "keyEncoding",
  "suffix",
  "parts",
  "plain",
  "metadata",
  "container",
  "where",
  "concurrency",
  "resume",
  "overwrite",
  "keepGoing",
  "dryRun",
  "share",
  "finish",
  "onProgress",
  "signal",
];

/** Pairs of options of which only one makes sense. */
const EXCLUSIVE = [
  ["resume", "overwrite"],
  ["share", "finish"],
  ["share", "overwrite"],
  ["finish", "overwrite"],
] as const;

/** Refuses options that are unknown, out of range or contradict each other. */
export function assertConvertOptions(options: ConvertOptions): void {
  for (const name of Object.keys(options)) {
    if (KNOWN.includes(name)) continue;
    throw new TypeError(
      `Unknown option ${describe(name)}; known are ${describeAll(KNOWN)}`,
    );
  }
  for (const [one, other] of EXCLUSIVE) {
    if (!options[one] || !options[other]) continue;
    throw new TypeError(
      `Expected one of the options ${describe(one)} and ${
        describe(other)
      }, found both`,
    );
  }
  assertConcurrency(options.concurrency);
  assertShare(options.share);
  assertLayout(options);
}

/** Refuses a number of tasks at once that is none. */
export function assertConcurrency(concurrency: number | undefined): void {
  const isNumber = concurrency === undefined ||
    Number.isSafeInteger(concurrency) && concurrency >= 1;
  if (isNumber) return;
  throw new RangeError(
    `Expected concurrency to be a whole number from 1, found ${
      describe(concurrency)
    }`,
  );
}
