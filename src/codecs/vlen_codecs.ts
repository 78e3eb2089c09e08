import { joinBytes, uint32 } from "../runtime/mod.ts";
import { type CodecEntry, Configuration, damaged } from "./codec.ts";
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
export function vlenEntry(name: string): CodecEntry {
  return {
    fromConfig(configuration, { shape }) {
      new Configuration(name, [], configuration);
      return name.endsWith("utf8")
        ? vlenCodec(shape, UTF8)
        : vlenCodec(shape, BYTES);
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

function vlenCodec<T>(shape: readonly number[], element: VlenElement<T>) {
  const count = shape.reduce((product, n) => product * n, 1);
  return {
    kind: "array_to_bytes",
    encode({ data }: VlenChunk<T>): Uint8Array {
      if (data.length !== count) {
        throw new RangeError(
          `Expected a chunk of ${count} elements, found ${data.length}`,
        );
      }
      const elements = Array.from(data, element.encode);
      return joinBytes([
        uint32(count),
        ...elements.flatMap((bytes) => [uint32(bytes.length), bytes]),
      ]);
    },
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
      const stored = next("the number of its elements");
      if (stored !== count) {
        throw damaged(
          encoded,
          `has ${stored} elements, where ${count} are expected`,
        );
      }
      const data = new Array<T>(count);
      for (let i = 0; i < count; i++) {
        const length = next(`its element ${i}`);
        const left = encoded.length - at;
        if (length > left) {
          throw damaged(
            encoded,
            `has ${length} bytes in its element ${i}, where ${left} are left`,
          );
        }
        try {
          data[i] = element.decode(encoded.subarray(at, at += length));
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
      return { data, shape, stride: stridesOf(shape) };
    },
  };
}
