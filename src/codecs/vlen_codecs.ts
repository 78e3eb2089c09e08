import {
  type ChunkMetadata,
  damaged,
  parseCodecConfiguration,
} from "./codec.ts";
import { stridesOf } from "./element_bytes.ts";

/** Texts or bytes, in memory order. */
interface VlenChunk<T> {
  readonly data: ArrayLike<T>;
  readonly shape: readonly number[];
  readonly stride: readonly number[];
}

/** The length of the number of elements, and of the length of each of them. */
const LENGTH_SIZE = 4;

/**
 * Makes the codec `vlen-utf8` or `vlen-bytes`: the number of elements, and for each its
 * length and its bytes. Numbers have 4 bytes, little-endian.
 *
 * Sources: https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/vlen-utf8 and
 * https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/vlen-bytes
 *
 * @param name The name in the metadata, with or without `numcodecs.`.
 */
export function vlenEntry(
  name: string,
): {
  fromConfig(
    configuration: unknown,
    metadata: ChunkMetadata,
  ): VlenCodec<string> | VlenCodec<Uint8Array>;
} {
  return {
    fromConfig(configuration, { shape }) {
      parseCodecConfiguration(name, [], configuration);
      return name.endsWith("utf8")
        ? new VlenCodec(shape, UTF8)
        : new VlenCodec(shape, BYTES);
    },
  };
}

/** How an element becomes bytes. */
interface VlenElement<T> {
  encode(element: T): Uint8Array;
  decode(bytes: Uint8Array): T;
}

const UTF8: VlenElement<string> = {
  // Elements that nothing was assigned to are stored as empty texts, as by numcodecs.
  encode: (text) => new TextEncoder().encode(text ?? ""),
  decode: (bytes) =>
    new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
};

const BYTES: VlenElement<Uint8Array> = {
  encode: (bytes) => bytes ?? new Uint8Array(),
  decode: (bytes) => bytes.slice(),
};

class VlenCodec<T> {
  readonly kind = "array_to_bytes";
  readonly #shape: readonly number[];
  readonly #count: number;
  readonly #element: VlenElement<T>;

  constructor(shape: readonly number[], element: VlenElement<T>) {
    this.#shape = shape;
    this.#count = shape.reduce((product, n) => product * n, 1);
    this.#element = element;
  }

  encode({ data }: VlenChunk<T>): Uint8Array {
    if (data.length !== this.#count) {
      throw new RangeError(
        `Expected a chunk of ${this.#count} elements, found ${data.length}`,
      );
    }
    const elements = Array.from(data, this.#element.encode);
    const size = elements.reduce(
      (sum, { length }) => sum + LENGTH_SIZE + length,
      LENGTH_SIZE,
    );
    const encoded = new Uint8Array(size);
    const view = new DataView(encoded.buffer);
    view.setUint32(0, this.#count, true);
    let at = LENGTH_SIZE;
    for (const element of elements) {
      view.setUint32(at, element.length, true);
      encoded.set(element, at + LENGTH_SIZE);
      at += LENGTH_SIZE + element.length;
    }
    return encoded;
  }

  decode(encoded: Uint8Array): VlenChunk<T> {
    const { buffer, byteOffset, byteLength } = encoded;
    const view = new DataView(buffer, byteOffset, byteLength);
    let at = 0;
    const next = (what: string) => {
      if (at + LENGTH_SIZE > encoded.length) {
        throw damaged(encoded, `ends before ${what}`);
      }
      const length = view.getUint32(at, true);
      at += LENGTH_SIZE;
      return length;
    };
    const count = next("the number of its elements");
    if (count !== this.#count) {
      throw damaged(
        encoded,
        `has ${count} elements, where ${this.#count} are expected`,
      );
    }
    const data = new Array<T>(count);
    for (let i = 0; i < count; i++) {
      const length = next(`its element ${i}`);
      if (length > encoded.length - at) {
        throw damaged(
          encoded,
          `has ${length} bytes in its element ${i}, where ${
            encoded.length - at
          } are left`,
        );
      }
      const bytes = encoded.subarray(at, at + length);
      at += length;
      try {
        data[i] = this.#element.decode(bytes);
      } catch (cause) {
        throw damaged(encoded, `has no UTF-8 in its element ${i}`, cause);
      }
    }
    if (at < encoded.length) {
      throw damaged(
        encoded,
        `has ${encoded.length - at} bytes after its last element`,
      );
    }
    return { data, shape: this.#shape, stride: stridesOf(this.#shape) };
  }
}
