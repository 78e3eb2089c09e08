import type { NamedConfiguration } from "../metadata/array_metadata.ts";
import type { ChunkKeyEncoding } from "./chunk_key_encoding.ts";
import { parseChunkKeyEncoding } from "./parse_chunk_key_encoding.ts";

/**
 * Returns a chunk key encoding that is given by its name, its metadata or as an
 * instance.
 *
 * @throws {MetadataError} If the metadata is not valid.
 */
export function toChunkKeyEncoding(
  given: string | NamedConfiguration | ChunkKeyEncoding,
): ChunkKeyEncoding {
  const isEncoding = typeof (given as ChunkKeyEncoding)?.encode === "function";
  return isEncoding ? given as ChunkKeyEncoding : parseChunkKeyEncoding(given);
}
