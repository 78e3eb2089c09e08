import { describe, describeAll } from "../../metadata/describe.ts";
import type { StoreOptions } from "../../stores/store.ts";
import { assertConcurrency } from "../plan/convert_options.ts";
import type { Finding } from "./finding.ts";
import type { CodecRegistry } from "../../zarrita/register_codecs.ts";
import { assertShare, type Share } from "../../arrays/share.ts";

/**
 * Options of {@linkcode verify}.
 *
 * @example Every byte, and each finding as it comes
 * ```ts
 * import type { VerifyOptions } from "@zarr-parts/zarr-parts/jobs";
 *
 * const options: VerifyOptions = {
 *   deep: true,
 *   onFinding: ({ rule, message }) => console.error(`${rule}: ${message}`),
 * };
 * ```
 */
export interface VerifyOptions extends StoreOptions {
  /**
   * Whether all chunks and inner chunks are decoded. Codecs at hand are `bytes`, `crc32c`,
   * `gzip`, `zlib`, those of TIFF, `zstd` where the runtime has it, and those in `codecs`.
   * Chunks that are not decoded are a finding, `chunk-undecoded`.
   */
  readonly deep?: boolean | undefined;
  /** Further codecs for `deep`: the `registry` of zarrita, or any other with its `get`. */
  readonly codecs?: Pick<CodecRegistry, "get"> | undefined;
  /** The number of chunks that are verified at once, from 1. Default: 4. */
  readonly concurrency?: number | undefined;
  /** Verifies one share of the chunks and documents. */
  readonly share?: Share | undefined;
  /**
   * Whether a document or a chunk that the store fails to read is a finding. By default, it
   * is an error that ends the verification.
   */
  readonly keepGoing?: boolean | undefined;
  /** Called with each finding. */
  readonly onFinding?: ((finding: Finding) => void) | undefined;
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
  "deep",
  "codecs",
  "concurrency",
  "share",
  "keepGoing",
  "onFinding",
  "onProgress",
  "signal",
];

/** Refuses options that are unknown or out of range. */
export function assertVerifyOptions(options: VerifyOptions): void {
  for (const name of Object.keys(options)) {
    if (KNOWN.includes(name)) continue;
    throw new TypeError(
      `Unknown option ${describe(name)}; known are ${describeAll(KNOWN)}`,
    );
  }
  assertConcurrency(options.concurrency);
  assertShare(options.share);
}
