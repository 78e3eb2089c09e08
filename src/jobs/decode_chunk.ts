import { CHECKSUM_SIZE, verifyChecksum } from "../checksum/stored_checksum.ts";
import { DamageError } from "../errors/damage_error.ts";
import type { NamedConfiguration } from "../metadata/array_metadata.ts";
import { MetadataError } from "../metadata/metadata_error.ts";
import { nativeZlib } from "../runtime/native_zlib.ts";
import { deflateEntry } from "../zarrita/codecs/deflate_codec.ts";
import { zstdEntry } from "../zarrita/codecs/zstd_codec.ts";
import type { ChunkLevel } from "./chunk_levels.ts";

/**
 * Decodes a chunk as far as its codecs are at hand: `crc32c`, `gzip`, `zlib`, and `zstd`
 * where the runtime has it.
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
    const decoder = decoderOf(codec, level);
    if (decoder === undefined) return;
    decoded = await decoder.decode(decoded);
  }
}

/** The names under which formats of deflated data are known. */
const DEFLATED = new Map(
  [
    ["gzip", "gzip"],
    ["zlib", "zlib"],
    ["numcodecs.zlib", "zlib"],
  ] as const,
);

function decoderOf(
  { name, configuration }: NamedConfiguration,
  { codecs, shape, dataType }: ChunkLevel,
): { decode(bytes: Uint8Array): Promise<Uint8Array> } | undefined {
  const metadata = { dataType, shape, codecs };
  const format = DEFLATED.get(name as "gzip");
  try {
    if (format !== undefined) {
      return deflateEntry(name, format).fromConfig(configuration, metadata);
    }
    const native = nativeZlib();
    if (name !== "zstd" || !native?.zstdDecompressSync) return undefined;
    const noPeer = () => undefined;
    return zstdEntry(name, noPeer, native).fromConfig(configuration, metadata);
  } catch (error) {
    if (error instanceof MetadataError) return undefined;
    throw error;
  }
}
