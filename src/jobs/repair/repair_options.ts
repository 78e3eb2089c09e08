import { describe, describeAll } from "../../metadata/describe.ts";
import type { StoreOptions } from "../../stores/store.ts";
import { assertConcurrency } from "../plan/convert_options.ts";
import type { CodecRegistry } from "../../zarrita/register_codecs.ts";
import type { Finding } from "../verify/finding.ts";

/**
 * Something that {@linkcode repair} leaves as it is.
 *
 * @example
 * ```ts
 * import type { Unrepaired } from "@zarr-parts/zarr-parts/jobs";
 *
 * const line = ({ finding, reason }: Unrepaired) => `${finding.message}: ${reason}`;
 * ```
 */
export interface Unrepaired {
  /** The finding of `verify`. */
  readonly finding: Finding;
  /** Why it is not repaired, and what to do. */
  readonly reason: string;
}

/**
 * Options of {@linkcode repair}.
 *
 * @example What would be done
 * ```ts
 * import type { RepairOptions } from "@zarr-parts/zarr-parts/jobs";
 *
 * const options: RepairOptions = {
 *   dryRun: true,
 *   onUnrepaired: ({ finding, reason }) => console.error(`${finding.message}: ${reason}`),
 * };
 * ```
 */
export interface RepairOptions extends StoreOptions {
  /** Whether nothing is changed: the result then says what would be repaired. */
  readonly dryRun?: boolean | undefined;
  /** Whether all chunks and inner chunks are decoded, as by `verify`. */
  readonly deep?: boolean | undefined;
  /** Further codecs for `deep`, as those of `verify`. */
  readonly codecs?: Pick<CodecRegistry, "get"> | undefined;
  /** The number of chunks that are verified at once, from 1. Default: 4. */
  readonly concurrency?: number | undefined;
  /** Called with each finding that is repaired. */
  readonly onRepaired?: ((finding: Finding) => void) | undefined;
  /** Called with each finding that is not repaired. */
  readonly onUnrepaired?: ((unrepaired: Unrepaired) => void) | undefined;
  /**
   * Called after each chunk.
   *
   * @param progress The number of chunks that are verified or absent, and of all chunks.
   */
  readonly onProgress?:
    | ((progress: { readonly done: number; readonly total: number }) => void)
    | undefined;
}

const KNOWN = [
  "dryRun",
  "deep",
  "codecs",
  "concurrency",
  "onRepaired",
  "onUnrepaired",
  "onProgress",
  "signal",
];

/** Refuses options that are unknown or out of range. */
export function assertRepairOptions(options: RepairOptions): void {
  for (const name of Object.keys(options)) {
    if (KNOWN.includes(name)) continue;
    throw new TypeError(
      `Unknown option ${describe(name)}; known are ${describeAll(KNOWN)}`,
    );
  }
  assertConcurrency(options.concurrency);
}
