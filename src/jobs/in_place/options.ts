import { describe, describeAll } from "../../metadata/describe.ts";
import { assertLayout } from "../plan/change_layout.ts";
import {
  assertConcurrency,
  type ConvertProgress,
} from "../plan/convert_options.ts";
import type { StoreOptions } from "../../stores/store.ts";
import type { LayoutOptions } from "../plan/layout_options.ts";

/**
 * Options of {@linkcode convertInPlace}.
 *
 * @example
 * ```ts
 * import type { ConvertInPlaceOptions } from "@zarr-parts/zarr-parts/jobs";
 *
 * const options: ConvertInPlaceOptions = { suffix: ".shard", parts: ["", ".index"] };
 * ```
 */
export interface ConvertInPlaceOptions
  extends Omit<LayoutOptions, "container">, StoreOptions {
  /** The number of chunks that are changed at once, from 1. Default: 16. */
  readonly concurrency?: number | undefined;
  /**
   * Whether nodes in a group whose documents are not valid are left as they are. By default,
   * such a node is an error.
   */
  readonly keepGoing?: boolean | undefined;
  /** Whether nothing is written: the result then says what would be converted. */
  readonly dryRun?: boolean | undefined;
  /**
   * Called after each step. A chunk takes three of them: its new files are added, its file
   * is made longer or cut, and its old files are removed.
   *
   * @param progress How far the conversion is, in steps.
   */
  readonly onProgress?: ((progress: ConvertProgress) => void) | undefined;
}

/** The options that say which layout is wanted. */
const LAYOUT = [
  ...["keyEncoding", "suffix", "parts", "plain", "metadata"] as const,
];
const KNOWN: readonly string[] = [
  ...LAYOUT,
  ...["where", "concurrency", "keepGoing", "dryRun", "onProgress", "signal"],
];

/** Refuses options that are unknown, out of range or contradict each other. */
export function assertInPlaceOptions(options: ConvertInPlaceOptions): void {
  for (const name of Object.keys(options)) {
    if (KNOWN.includes(name)) continue;
    throw new TypeError(
      `Unknown option ${describe(name)} of a conversion in place; known are ${
        describeAll(KNOWN)
      }`,
    );
  }
  assertConcurrency(options.concurrency);
  assertLayout(options);
}

/** The layout that options say; `undefined` if they say none. */
export function layoutOf(
  options: ConvertInPlaceOptions,
): LayoutOptions | undefined {
  if (LAYOUT.every((name) => options[name] === undefined)) return undefined;
  const names = [...LAYOUT, "where"] as const;
  return Object.fromEntries(names.map((name) => [name, options[name]]));
}
