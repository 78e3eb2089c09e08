import { ChecksumError } from "../../kernel/checksum_error.ts";
import { crc32c } from "../../kernel/crc32c.ts";
import { keyOf, noteKey } from "../read_keys.ts";
import { chunkAt } from "./chunk_at.ts";
import { parseCodecConfiguration } from "./codec_configuration.ts";

const CHECKSUM_SIZE = 4;

/** Zarr's codec `crc32c`: bytes, and after them their CRC32C, the lowest byte first. */
export class Crc32cCodec {
  readonly kind = "bytes_to_bytes";

  static fromConfig(configuration: unknown): Crc32cCodec {
    parseCodecConfiguration("crc32c", {}, configuration);
    return new Crc32cCodec();
  }

  encode(bytes: Uint8Array): Uint8Array {
    const encoded = new Uint8Array(this.computeEncodedSize(bytes.length));
    encoded.set(bytes);
    new DataView(encoded.buffer).setUint32(bytes.length, crc32c(bytes), true);
    return encoded;
  }

  decode(encoded: Uint8Array): Uint8Array {
    const { buffer, byteOffset } = encoded;
    const size = encoded.length - CHECKSUM_SIZE;
    if (size < 0) {
      throw new RangeError(
        `The ${
          chunkAt(encoded)
        } is ${encoded.length} bytes long, where its CRC32C alone takes ${CHECKSUM_SIZE}`,
      );
    }
    const bytes = new Uint8Array(buffer, byteOffset, size);
    const expected = new DataView(buffer, byteOffset).getUint32(size, true);
    const actual = crc32c(bytes);
    const key = keyOf(encoded);
    if (actual !== expected) {
      throw new ChecksumError(
        `The ${chunkAt(encoded)} has the CRC32C ${hexadecimal(actual)}, where ${
          hexadecimal(expected)
        } is stored in its last ${CHECKSUM_SIZE} bytes`,
        { key, expected, actual },
      );
    }
    if (key !== "") noteKey(bytes, key); // For the codecs that come after this one.
    return bytes;
  }

  computeEncodedSize(decodedSize: number): number {
    return decodedSize + CHECKSUM_SIZE;
  }
}

function hexadecimal(crc: number): string {
  return `0x${crc.toString(16).padStart(8, "0")}`;
}
