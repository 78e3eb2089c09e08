import { assertShare, isInShare, type Share } from "../../arrays/mod.ts";
import type { CodecRegistry } from "../../codecs/mod.ts";
import {
  BOOLEAN,
  checkOptions,
  describe,
  FUNCTION,
  objectRule,
  type OptionRules,
  SIGNAL,
} from "../../errors/mod.ts";
import type { StoreKey, StoreOptions } from "../../stores/mod.ts";
import { type ThreadPool, THREADS } from "../../threads/mod.ts";
import { CONCURRENCY } from "../convert/convert_options.ts";
import { NODE_OPTIONS, type NodeSelection } from "../../hierarchy/mod.ts";

/**
 * The stable name of a kind of finding.
 *
 * - `metadata-invalid`: a `zarr.json` that is not valid or not understood
 * - `unreadable`: a document or a chunk that the store fails to read, with `keepGoing`
 * - `metadata-not-json`: a `zarr.json` with `NaN` or an infinity, which JSON does not have,
 *   so that some programs cannot read it
 * - `v2-metadata`: Zarr v2 metadata beside a `zarr.json`, which some readers take instead
 * - `consolidated-metadata-differs`: consolidated metadata of a group that is not what
 *   the node's own document says, or describes a node without a document
 * - `conversion-unfinished`: the file of a conversion that was not finished
 * - `journal-unreadable`: the record of a write of several objects that cannot be read, so that
 *   the chunk cannot be written any more
 * - `part-missing`, `part-size`: a part that is absent, or has another length than its size
 * - `chunk-unfinished`: a chunk whose writer was killed, or that is being written
 * - `chunk-size`: an uncompressed chunk of a wrong length, or a shard shorter than its index
 * - `chunk-checksum`, `chunk-decoding`: a chunk with a wrong CRC32C, or that is not decoded
 * - `chunk-undecoded`: chunks or inner chunks that a deep verification did not decode,
 *   since a codec is not known
 * - `index-checksum`, `index-extents`: the index of a shard with a wrong CRC32C, or with
 *   inner chunks outside of the shard or over one another
 * - `shard-file`: a shard in the form of a TIFF or a zip whose directories do not fit the
 *   array and the index, if the verification is deep
 * - `inner-chunk-checksum`, `inner-chunk-decoding`: likewise for an inner chunk, if the
 *   verification is deep
 * - `adopted-file-changed`: an adopted file that has another length than its index was made
 *   for, inner chunks at other places, or another array
 * - `adopted-file-record`: the index of an adopted file that does not tell the file's length
 * - `chunk-outside-grid`: a chunk that no reader asks for
 * - `values-unexplained`: values below a document that is not valid, or values like chunks
 *   where there is no document, which are not verified
 * - `chunk-misplaced`: an absent chunk for which a value has the key of another chunk key
 *   encoding or of other parts, so that readers get the fill value
 * - `stray-object`: an object at the key of a chunk that is stored in other parts
 * - `unknown-file`: a file in an array that belongs to no chunk
 * - `archive-entry`: an entry of a zip archive that is damaged, has a local header that
 *   contradicts the directory, or cannot be read
 * - `archive-layout`: an archive of OME-Zarr that contradicts RFC-9 of NGFF
 * - `archive-leftovers`: entries of a zip archive that nobody reads
 * - `archive-deflated`: deflated entries in a zip archive
 *
 * @example
 * ```ts
 * import type { Rule } from "@zarr-parts/zarr-parts/jobs";
 *
 * const ignored: Rule[] = ["unknown-file", "chunk-outside-grid"];
 * ```
 */
export type Rule =
  | "metadata-invalid"
  | "unreadable"
  | "metadata-not-json"
  | "v2-metadata"
  | "consolidated-metadata-differs"
  | "conversion-unfinished"
  | "journal-unreadable"
  | "part-missing"
  | "part-size"
  | "chunk-unfinished"
  | "chunk-size"
  | "chunk-checksum"
  | "chunk-decoding"
  | "chunk-undecoded"
  | "index-checksum"
  | "index-extents"
  | "shard-file"
  | "inner-chunk-checksum"
  | "inner-chunk-decoding"
  | "adopted-file-changed"
  | "adopted-file-record"
  | "values-unexplained"
  | "chunk-misplaced"
  | "chunk-outside-grid"
  | "stray-object"
  | "unknown-file"
  | "archive-entry"
  | "archive-layout"
  | "archive-leftovers"
  | "archive-deflated";

/**
 * Something that {@linkcode verify} has found.
 *
 * @example
 * ```ts
 * import type { Finding } from "@zarr-parts/zarr-parts/jobs";
 *
 * const line = ({ severity, rule, key, message }: Finding) =>
 *   `${severity} ${rule} ${key}: ${message}`;
 * ```
 */
export interface Finding {
  /** The stable name of the kind of finding. */
  readonly rule: Rule;
  /** `"error"` for data that is not readable or wrong, `"warning"` and `"note"` for leftovers. */
  readonly severity: "error" | "warning" | "note";
  /** The key of the document, the chunk, the part or the file. */
  readonly key: StoreKey;
  /** A sentence that names the error, the key and the expected state. */
  readonly message: string;
  /** The grid coordinates, for findings about chunks. */
  readonly coordinates?: readonly number[];
}

/** The kinds of findings about leftovers and about what other programs may not read; all others are errors. */
const SEVERITIES: Partial<Record<Rule, Finding["severity"]>> = {
  "metadata-not-json": "warning",
  "v2-metadata": "warning",
  "consolidated-metadata-differs": "warning",
  "chunk-undecoded": "warning",
  "adopted-file-record": "warning",
  "chunk-outside-grid": "warning",
  "stray-object": "warning",
  "unknown-file": "note",
  "archive-layout": "warning",
  "archive-leftovers": "note",
  "archive-deflated": "note",
};

/** Creates a finding, whose message names the key. */
export function finding(
  rule: Rule,
  key: string,
  message: string,
  coordinates?: readonly number[],
): Finding {
  return {
    rule,
    severity: SEVERITIES[rule] ?? "error",
    key: key as StoreKey,
    message: message.includes(key) ? message : `${describe(key)}: ${message}`,
    ...coordinates && { coordinates },
  };
}

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
export interface VerifyOptions extends NodeSelection, StoreOptions {
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
  /**
   * The threads that decode chunks for `deep`: a pool of `./zarrita`, or their number from
   * 0; with 0, the calling thread decodes. They decode chunks of 32 KiB or more with codecs
   * of this package that compress; the findings are the same. Defaults to one for each
   * processor, which start once 16 MiB of such chunks are decoded.
   */
  readonly threads?: ThreadPool | number | undefined;
  /** Verifies one share of the chunks and documents. */
  readonly share?: Share | undefined;
  /**
   * Whether a document or a chunk that the store fails to read is a finding. By default, it
   * is an error that ends the verification.
   */
  readonly keepGoing?: boolean | undefined;
  /** Called with each finding. Those about chunks come in the order of the chunks. */
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

/** The rules of the options of {@linkcode verify}. */
export const VERIFY_OPTIONS: OptionRules<VerifyOptions> = {
  deep: BOOLEAN,
  codecs: objectRule("a registry of codecs"),
  concurrency: CONCURRENCY,
  threads: THREADS,
  ...NODE_OPTIONS,
  share: objectRule("a share"),
  keepGoing: BOOLEAN,
  onFinding: FUNCTION,
  onProgress: FUNCTION,
  signal: SIGNAL,
};

/** Throws if an option is unknown or out of range. */
export function assertVerifyOptions(options: VerifyOptions): void {
  checkOptions(options, VERIFY_OPTIONS, "verify");
  assertShare(options.share);
}

/** The greatest number of findings in a result. */
export const MOST_FINDINGS = 1000;

/** Collects findings, and what could not be decoded. */
export class Findings {
  readonly #options: VerifyOptions;
  readonly #kept: Finding[] = [];
  readonly #counts: Partial<Record<Rule, number>> = {};
  readonly #undecoded = new Map<
    string,
    { key: StoreKey; unit: string; unknown: string; count: number }
  >();
  #isSound = true;

  constructor(options: VerifyOptions) {
    this.#options = options;
  }

  add(found: Finding): void {
    const { rule, severity } = found;
    this.#counts[rule] = (this.#counts[rule] ?? 0) + 1;
    if (severity === "error") this.#isSound = false;
    if (this.#kept.length < MOST_FINDINGS) this.#kept.push(found);
    this.#options.onFinding?.(found);
  }

  /**
   * Notes chunks that were not decoded.
   *
   * @param key The key of the array's document.
   * @param unit The kind of chunks.
   * @param unknown What could not be decoded.
   */
  addUndecoded(
    key: StoreKey,
    unit: string,
    unknown: string,
    count: number,
  ): void {
    const name = `${key} ${unknown}`;
    const before = this.#undecoded.get(name)?.count ?? 0;
    this.#undecoded.set(name, { key, unit, unknown, count: before + count });
  }

  /** Adds a finding for each array and each codec of it that could not be decoded. */
  finish(): void {
    for (const { key, unit, unknown, count } of this.#undecoded.values()) {
      const units = count === 1 ? `1 ${unit} was` : `${count} ${unit}s were`;
      this.add(finding(
        "chunk-undecoded",
        key,
        `${units} not decoded, since the ${unknown} in ${
          describe(key)
        } is not known here: damage of them is not noticed`,
      ));
    }
  }

  /** Adds a finding about no chunk, if its key belongs to the share. */
  addShared(found: Finding): void {
    const { share } = this.#options;
    if (share === undefined || isInShare(share, found.key)) this.add(found);
  }

  result() {
    const undecoded: Record<string, number> = {};
    for (const { unknown, count } of this.#undecoded.values()) {
      undecoded[unknown] = (undecoded[unknown] ?? 0) + count;
    }
    return {
      findings: this.#kept,
      counts: this.#counts,
      undecoded,
      isSound: this.#isSound && this.#undecoded.size > 0 ? null : this.#isSound,
    };
  }
}
