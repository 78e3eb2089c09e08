import { coreDataType } from "../metadata/mod.ts";
import { copyBytes } from "../runtime/mod.ts";
import { blockEngine } from "./block_engine.ts";
import { type CodecEntry, Configuration } from "./codec.ts";
import { bytesCodec, decodedLength } from "./decoded_length.ts";

/**
 * The codec `numcodecs.shuffle`. Its `elementsize` is that of the data type if the
 * configuration has none, as in zarr-python.
 *
 * Source: https://numcodecs.readthedocs.io/en/stable/filter/shuffle.html
 */
export const SHUFFLE: CodecEntry = {
  fromConfig(configuration, metadata) {
    const name = "numcodecs.shuffle";
    const bits = coreDataType(metadata.dataType)?.bits ?? 32;
    const size = new Configuration(name, ["elementsize"], configuration)
      .whole("elementsize", 0, Infinity, bits / 8);
    const change = (bytes: Uint8Array, direction: "order" | "restore") => {
      if (size <= 1) return copyBytes(bytes);
      const changed = new Uint8Array(bytes.length);
      blockEngine().reorder(bytes, changed, direction, "shuffle", size);
      return changed;
    };
    return bytesCodec(name, decodedLength(name, metadata), {
      encode(bytes) {
        if (size <= 1 || bytes.length % size === 0) {
          return change(bytes, "order");
        }
        throw new RangeError(
          `Expected a multiple of ${size} bytes, the elementsize of ${name}, found ${bytes.length}`,
        );
      },
      decode(encoded) {
        if (size <= 1 || encoded.length % size === 0) {
          return change(encoded, "restore");
        }
        throw new SyntaxError(
          `It has ${encoded.length} bytes, no multiple of its elementsize, ${size}`,
        );
      },
    });
  },
};

/**
 * The codec `zarr-parts.bitorder`: bytes whose lowest bit is stored first, as in TIFFs with
 * FillOrder 2. It has a name of its own, since `imagecodecs_bitorder` changes elements, and
 * compressed bytes have none.
 */
export const BIT_ORDER: CodecEntry = {
  fromConfig(configuration, metadata) {
    const name = "zarr-parts.bitorder";
    new Configuration(name, [], configuration);
    const length = decodedLength(name, metadata);
    const reverse = (bytes: Uint8Array) => bytes.map(reversed);
    return bytesCodec(name, length, { encode: reverse, decode: reverse });
  },
};

/** Reverses the bits of a byte. */
function reversed(byte: number): number {
  // Swaps halves, then pairs, then neighbours.
  const pairs = byte >> 4 | byte << 4;
  const neighbours = pairs >> 2 & 0x33 | (pairs & 0x33) << 2;
  return neighbours >> 1 & 0x55 | (neighbours & 0x55) << 1;
}
