import { describe, MetadataError } from "../errors/mod.ts";
import { coreDataType } from "../metadata/mod.ts";
import { copyBytes } from "../runtime/mod.ts";
import {
  type Chunk,
  type ChunkMetadata,
  type CodecEntry,
  Configuration,
  damaged,
  neededLength,
} from "./codec.ts";
import { elementBytes, stridesOf } from "./element_bytes.ts";

const PACKINTS = "imagecodecs_packints";

/**
 * The codec `imagecodecs_packints`: unsigned integers of any number of bits without gaps,
 * from the highest bit on, in rows that end with a byte, as TIFF has them.
 *
 * Source: https://github.com/cgohlke/imagecodecs, `imagecodecs/zarr.py`
 */
export const PACKINTS_CODEC: CodecEntry = {
  fromConfig(configuration, metadata) {
    const packing = parsePacking(configuration, metadata);
    const { ElementArray, bits, row, count, rowSize } = packing;
    const { shape } = metadata;
    const size = count * rowSize;
    return {
      kind: "array_to_bytes",
      encode(chunk: Chunk): Uint8Array {
        // A copy, since elements have to start at a multiple of their size.
        const bytes = copyBytes(
          elementBytes(chunk, ElementArray.BYTES_PER_ELEMENT),
        );
        const elements = new ElementArray(bytes.buffer as ArrayBuffer);
        const encoded = new Uint8Array(size);
        for (let y = 0; y < count; y++) {
          for (let x = 0, bit = 8 * y * rowSize; x < row; x++) {
            const element = elements[y * row + x]!;
            for (let left = bits; left > 0; bit++) {
              const value = element >>> --left & 1;
              encoded[bit >>> 3]! |= value << 7 - (bit & 7);
            }
          }
        }
        return encoded;
      },
      decode(encoded: Uint8Array): Chunk {
        const needed = neededLength(encoded, size);
        if (encoded.length < needed || encoded.length > size) {
          throw damaged(
            encoded,
            `is ${encoded.length} bytes long, where its integers of ${bits} bits take ${size}`,
          );
        }
        const data = new ElementArray(count * row);
        const rows = Math.floor(encoded.length / rowSize);
        for (let y = 0; y < rows; y++) {
          let at = y * rowSize;
          let held = 0;
          let heldBits = 0;
          for (let x = 0; x < row; x++) {
            let element = 0;
            for (let left = bits; left > 0;) {
              if (heldBits === 0) {
                held = encoded[at++]!;
                heldBits = 8;
              }
              const taken = Math.min(left, heldBits);
              heldBits -= taken;
              left -= taken;
              element = element * 2 ** taken +
                (held >> heldBits & (1 << taken) - 1);
            }
            data[y * row + x] = element;
          }
        }
        return { data, shape, stride: stridesOf(shape) };
      },
    };
  },
};

const ARRAYS = { 8: Uint8Array, 16: Uint16Array, 32: Uint32Array } as const;

/** How integers are packed. */
interface Packing {
  readonly ElementArray: typeof ARRAYS[keyof typeof ARRAYS];
  /** The number of bits of an integer. */
  readonly bits: number;
  /** The number of integers in a row, which ends with a byte. */
  readonly row: number;
  /** The number of rows of a chunk. */
  readonly count: number;
  /** The length of a row in bytes. */
  readonly rowSize: number;
}

/** Parses the configuration of `imagecodecs_packints`, for chunks of a data type and a shape. */
function parsePacking(
  configuration: unknown,
  { dataType, shape }: ChunkMetadata,
): Packing {
  const members = new Configuration(
    PACKINTS,
    ["bitspersample", "bitorder", "runlen"],
    configuration,
  );
  const size = coreDataType(dataType)?.bits as keyof typeof ARRAYS | undefined;
  if (!dataType.startsWith("uint") || !(size! in ARRAYS)) {
    throw new MetadataError(
      `Expected the data type "uint8", "uint16" or "uint32" for ${PACKINTS}, found ${
        describe(dataType)
      }`,
    );
  }
  const bits = members.whole("bitspersample", 1, size, 8);
  if ((members.get("bitorder") ?? ">") !== ">") {
    throw members.refusal("bitorder", '">", the highest bit first');
  }
  const elements = shape.reduce((product, n) => product * n, 1);
  const runlen = members.whole("runlen", 0, Infinity, 0);
  if (runlen > 0 && elements % runlen !== 0) {
    throw members.refusal(
      "runlen",
      `0 or a divisor of the ${elements} elements of a chunk`,
    );
  }
  const row = runlen || elements;
  return {
    ElementArray: ARRAYS[size!],
    bits,
    row,
    count: elements / row,
    rowSize: Math.ceil(row * bits / 8),
  };
}

/** The length of the chunks that `imagecodecs_packints` encodes, in bytes. */
export function packedLength(
  configuration: unknown,
  metadata: ChunkMetadata,
): number {
  const { count, rowSize } = parsePacking(configuration, metadata);
  return count * rowSize;
}
