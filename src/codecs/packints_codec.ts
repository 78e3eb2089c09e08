import { copyBytes } from "../runtime/mod.ts";
import type { Chunk, ChunkMetadata } from "./codec.ts";
import {
  damaged,
  neededLength,
  type Packing,
  parsePacking,
} from "./decoded_length.ts";
import { elementBytes, stridesOf } from "./element_bytes.ts";

/**
 * The codec `imagecodecs_packints`: unsigned integers of any number of bits without gaps,
 * from the highest bit on, in rows that end with a byte, as TIFF has them.
 *
 * Source: https://github.com/cgohlke/imagecodecs, `imagecodecs/zarr.py`
 */
export class PackintsCodec {
  readonly kind = "array_to_bytes";
  readonly #packing: Packing;
  readonly #shape: readonly number[];

  constructor(packing: Packing, shape: readonly number[]) {
    this.#packing = packing;
    this.#shape = shape;
  }

  static fromConfig(
    configuration: unknown,
    metadata: ChunkMetadata,
  ): PackintsCodec {
    return new PackintsCodec(
      parsePacking(configuration, metadata),
      metadata.shape,
    );
  }

  encode(chunk: Chunk): Uint8Array {
    const { ElementArray, bits, row, count, rowSize } = this.#packing;
    // A copy, since elements have to start at a multiple of their size.
    const bytes = copyBytes(
      elementBytes(chunk, ElementArray.BYTES_PER_ELEMENT),
    );
    const elements = new ElementArray(bytes.buffer as ArrayBuffer);
    const encoded = new Uint8Array(count * rowSize);
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
  }

  decode(encoded: Uint8Array): Chunk {
    const { ElementArray, bits, row, count, rowSize } = this.#packing;
    const size = count * rowSize;
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
    return { data, shape: this.#shape, stride: stridesOf(this.#shape) };
  }
}
