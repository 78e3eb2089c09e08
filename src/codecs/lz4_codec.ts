import { blockEngine, decodedMemory } from "./block_engine.ts";
import { type CodecEntry, Configuration } from "./codec.ts";
import { bytesCodec, decodedLength, TooLong } from "./decoded_length.ts";

/** The bytes before the block: the length of what it decodes to, little-endian. */
const HEADER_SIZE = 4;

/** The longest input of LZ4. Source: LZ4_MAX_INPUT_SIZE in lz4.h */
const LARGEST_INPUT = 0x7e000000;

/** A block holds at most this many bytes for each of its own. */
const MOST_EXPANSION = 255;

/**
 * The codec `numcodecs.lz4`: the length of the bytes, and a block of LZ4.
 *
 * Sources: https://numcodecs.readthedocs.io/en/stable/compression/lz4.html and
 * https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md
 *
 * @param name `numcodecs.lz4`, or `lz4` as zarrita calls it.
 */
export function lz4Entry(name: string): CodecEntry {
  return {
    fromConfig(configuration, metadata) {
      const acceleration = new Configuration(
        name,
        ["acceleration"],
        configuration,
      ).whole("acceleration", -Infinity, Infinity, 1);
      const length = decodedLength(name, metadata);
      // LZ4 limits the acceleration to 1 to 65537.
      const speed = Math.min(Math.max(acceleration, 1), 65537);
      return bytesCodec("lz4", length, {
        encode(bytes) {
          if (bytes.length > LARGEST_INPUT) {
            throw new RangeError(
              `Expected at most ${LARGEST_INPUT} bytes for lz4, found ${bytes.length}`,
            );
          }
          const block = blockEngine().encodeLz4(bytes, speed);
          const encoded = new Uint8Array(HEADER_SIZE + block.length);
          new DataView(encoded.buffer).setUint32(0, bytes.length, true);
          encoded.set(block, HEADER_SIZE);
          return encoded;
        },
        decode(encoded) {
          if (encoded.length <= HEADER_SIZE) {
            throw new SyntaxError("The data is cut short");
          }
          const view = new DataView(encoded.buffer, encoded.byteOffset);
          const size = view.getUint32(0, true);
          if (size > length.limit) throw new TooLong();
          const block = encoded.subarray(HEADER_SIZE);
          if (size > MOST_EXPANSION * block.length) {
            throw new SyntaxError(
              `Its ${block.length} bytes cannot decode to the ${size} bytes that its header states`,
            );
          }
          const { reusesMemory = false } = metadata;
          const decoded = decodedMemory(size, reusesMemory, encoded);
          blockEngine().decodeLz4(block, decoded);
          return decoded;
        },
      });
    },
  };
}
