import {
  appendChecksum,
  CHECKSUM_SIZE,
  verifyChecksum,
} from "../checksum/mod.ts";
import { copyBytes } from "../runtime/mod.ts";
import {
  chunkAt,
  damaged,
  keyOf,
  parseCodecConfiguration,
  passNotes,
} from "./codec.ts";

/** Zarr's codec `crc32c`: bytes, followed by their CRC32C in little-endian order. */
export class Crc32cCodec {
  readonly kind = "bytes_to_bytes";

  static fromConfig(configuration: unknown): Crc32cCodec {
    parseCodecConfiguration("crc32c", [], configuration);
    return new Crc32cCodec();
  }

  encode(bytes: Uint8Array): Uint8Array {
    return appendChecksum(bytes);
  }

  decode(encoded: Uint8Array): Uint8Array {
    if (encoded.length < CHECKSUM_SIZE) {
      throw damaged(
        encoded,
        `is ${encoded.length} bytes long, fewer than the ${CHECKSUM_SIZE} bytes of its CRC32C`,
      );
    }
    // A copy, since zarrita encodes all of the memory that elements lie in.
    const bytes = copyBytes(
      verifyChecksum(encoded, () => `The ${chunkAt(encoded)}`, keyOf(encoded)),
    );
    passNotes(encoded, bytes);
    return bytes;
  }

  computeEncodedSize(decodedSize: number): number {
    return decodedSize + CHECKSUM_SIZE;
  }
}
