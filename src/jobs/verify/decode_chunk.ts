import {
  CHECKSUM_SIZE,
  verifyChecksum,
} from "../../checksum/stored_checksum.ts";
import { DamageError } from "../../errors/damage_error.ts";
import type { ChunkLevel } from "../chunks/chunk_levels.ts";
import { decoderOf } from "./decoders.ts";

/**
 * Decodes a chunk as far as its codecs are at hand: `crc32c`, `gzip`, `zlib`, those of
 * TIFF, and `zstd` where the runtime has it.
 *
 * @param what The name of the chunk in messages, at the start of a sentence.
 * @throws {DamageError} If a codec refuses the bytes, or they have a wrong length.
 */
export async function decodeChunk(
  bytes: Uint8Array,
  level: ChunkLevel,
  what: string,
  key: string,
): Promise<void> {
  if (level.size !== undefined && bytes.length !== level.size) {
    throw new DamageError(
      `${what} is ${bytes.length} bytes long, where its elements take ${level.size}`,
      { key },
    );
  }
  let decoded = bytes;
  for (const codec of level.codecs.toReversed()) {
    if (codec.name === "crc32c") {
      if (decoded.length < CHECKSUM_SIZE) {
        throw new DamageError(
          `${what} is ${decoded.length} bytes long, where its checksum takes ${CHECKSUM_SIZE}`,
          { key },
        );
      }
      decoded = verifyChecksum(decoded, what, key);
      continue;
    }
    const decoder = await decoderOf(codec, level);
    const result = await decoder?.decode(decoded);
    if (!(result instanceof Uint8Array)) return;
    decoded = result;
  }
}
