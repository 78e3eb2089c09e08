import type { ChunkKeyEncoding } from "./chunk_key_encoding.ts";
import { parseEncoding } from "./parse_encoding.ts";
import { useAllEncodings } from "./use_all_encodings.ts";

/**
 * Parses the `chunk_key_encoding` of an array's metadata: `default`, `v2`, `suffix`,
 * `template`, `fanout` or a registered encoding.
 *
 * @param metadata The encoding's name, or an object with the name and a configuration.
 * @returns The encoding. Missing members of the configuration have their defaults.
 * @throws {MetadataError} If the metadata is not valid, has an unknown name or
 *   member, has `must_understand: false`, allows keys outside the array's folder or
 *   of metadata documents, or nests more than 32 encodings.
 *
 * @example
 * ```ts
 * import { MetadataError, parseChunkKeyEncoding } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const encoding = parseChunkKeyEncoding({
 *   name: "suffix",
 *   configuration: { suffix: ".tiff", base_encoding: "v2" },
 * });
 * assertEquals(encoding.encode([1, 2]), "1.2.tiff");
 * assertThrows(() => parseChunkKeyEncoding("v3"), MetadataError, "known are");
 * ```
 */
export function parseChunkKeyEncoding(metadata: unknown): ChunkKeyEncoding {
  useAllEncodings();
  return parseEncoding(metadata);
}
