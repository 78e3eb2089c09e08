import { describe } from "../../metadata/describe.ts";
import type { StoreKey } from "../../stores/store.ts";

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
 * - `part-missing`, `part-size`: a part that is absent, or has another length than its size
 * - `chunk-unfinished`: a chunk whose writer was killed, or that is being written
 * - `chunk-size`: an uncompressed chunk of a wrong length, or a shard shorter than its index
 * - `chunk-checksum`, `chunk-decoding`: a chunk with a wrong CRC32C, or that is not decoded
 * - `chunk-undecoded`: chunks or inner chunks that a deep verification did not decode,
 *   since a codec is not known
 * - `index-checksum`, `index-extents`: the index of a shard with a wrong CRC32C, or with
 *   inner chunks outside of the shard or over one another
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
  | "part-missing"
  | "part-size"
  | "chunk-unfinished"
  | "chunk-size"
  | "chunk-checksum"
  | "chunk-decoding"
  | "chunk-undecoded"
  | "index-checksum"
  | "index-extents"
  | "inner-chunk-checksum"
  | "inner-chunk-decoding"
  | "adopted-file-changed"
  | "adopted-file-record"
  | "values-unexplained"
  | "chunk-misplaced"
  | "chunk-outside-grid"
  | "stray-object"
  | "unknown-file";

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

/** How bad each kind of finding is. */
const SEVERITIES: Readonly<Record<Rule, Finding["severity"]>> = {
  "metadata-invalid": "error",
  "unreadable": "error",
  "metadata-not-json": "warning",
  "v2-metadata": "warning",
  "consolidated-metadata-differs": "warning",
  "conversion-unfinished": "error",
  "part-missing": "error",
  "part-size": "error",
  "chunk-unfinished": "error",
  "chunk-size": "error",
  "chunk-checksum": "error",
  "chunk-decoding": "error",
  "chunk-undecoded": "warning",
  "index-checksum": "error",
  "index-extents": "error",
  "inner-chunk-checksum": "error",
  "inner-chunk-decoding": "error",
  "adopted-file-changed": "error",
  "adopted-file-record": "warning",
  "values-unexplained": "error",
  "chunk-misplaced": "error",
  "chunk-outside-grid": "warning",
  "stray-object": "warning",
  "unknown-file": "note",
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
    severity: SEVERITIES[rule],
    key: key as StoreKey,
    message: message.includes(key) ? message : `${describe(key)}: ${message}`,
    ...coordinates && { coordinates },
  };
}
