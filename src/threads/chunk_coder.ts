import {
  type BytesEntry,
  type Chunk,
  type ChunkMetadata,
  type ChunkRows,
  type CodecEntry,
  type CodecRegistry,
  loadCodec,
  noteKey,
  stridesOf,
  TYPED_ARRAYS,
} from "../codecs/mod.ts";
import type { NamedConfiguration } from "../metadata/mod.ts";
import { copyBytes, ownBytes } from "../runtime/mod.ts";
import { type ChunkElements, copyElements } from "./copy_elements.ts";

/** How the chunks of an array are encoded. A message to a worker can hold it. */
export interface ChunkFormat {
  readonly dataType: string;
  /** The length of an element in bytes. */
  readonly elementSize: number;
  /** The shape of a chunk in elements. */
  readonly shape: readonly number[];
  readonly codecs: readonly NamedConfiguration[];
  /** The codecs by which jobs encode what they have decoded. */
  readonly recoded?: readonly NamedConfiguration[] | undefined;
}

/** A codec between values of two types: chunks, or bytes. */
interface Codec<Decoded, Encoded> {
  encode(value: Decoded): Encoded | Promise<Encoded>;
  decode(value: Encoded): Decoded | Promise<Decoded>;
}

/** The last task of this thread that decodes or encodes. */
let latest: Promise<unknown> | undefined;

/**
 * Runs a task after all others of this thread. What a task decodes is to be used within the
 * task: all arrays share the memory into which codecs decode and encode.
 */
export function inTurn<T>(task: () => Promise<T>): Promise<T> {
  const result = latest === undefined ? task() : latest.then(task);
  latest = result.catch(() => {});
  return result;
}

/**
 * Encodes and decodes the chunks of an array by its codecs. {@linkcode inTurn} runs the calls.
 */
export class ChunkCoder {
  readonly #format: ChunkFormat;
  readonly #isOwn: boolean;
  readonly #arrayToArray: Codec<Chunk, Chunk>[] = [];
  #arrayToBytes: Codec<Chunk, Uint8Array> | undefined;
  readonly #bytesToBytes: Codec<Uint8Array, Uint8Array>[] = [];

  private constructor(format: ChunkFormat, isOwn: boolean) {
    this.#format = format;
    this.#isOwn = isOwn;
  }

  /**
   * Makes the codecs of a format from their entries in a registry.
   *
   * @throws {Error} If a codec refuses its configuration.
   */
  static create(
    format: ChunkFormat,
    { entries, isOwn }: ChunkCodecs,
  ): ChunkCoder {
    const coder = new ChunkCoder(format, isOwn);
    const { codecs, dataType, shape } = format;
    let metadata: ChunkMetadata = {
      dataType,
      shape,
      codecs,
      reusesMemory: isOwn,
    };
    for (const [i, entry] of entries.entries()) {
      const codec = entry.fromConfig(codecs[i]!.configuration, metadata) as
        & Codec<never, never>
        & {
          readonly kind: string;
          getEncodedMeta?(metadata: ChunkMetadata): ChunkMetadata;
        };
      if (codec.kind === "array_to_array") {
        coder.#arrayToArray.push(codec as unknown as Codec<Chunk, Chunk>);
        metadata = codec.getEncodedMeta?.(metadata) ?? metadata;
      } else if (codec.kind === "array_to_bytes") {
        coder.#arrayToBytes = codec as unknown as Codec<Chunk, Uint8Array>;
      } else {
        coder.#bytesToBytes.push(
          codec as unknown as Codec<Uint8Array, Uint8Array>,
        );
      }
    }
    return coder;
  }

  /**
   * Decodes a chunk.
   *
   * @param rows The rows of a chunk that extends past the end of its array.
   * @throws {Error} If the bytes are damaged, or hold no elements of a fixed size.
   */
  async decode(
    encoded: Uint8Array,
    rows: ChunkRows | undefined,
  ): Promise<ChunkElements> {
    // Codecs of zarrita may take all of the memory for the bytes.
    let bytes = this.#isOwn ? encoded : ownBytes(encoded);
    if (rows !== undefined) noteKey(bytes, "", rows);
    for (const codec of this.#bytesToBytes.toReversed()) {
      bytes = await codec.decode(bytes);
    }
    let chunk = await this.#arrayToBytes!.decode(bytes);
    for (const codec of this.#arrayToArray.toReversed()) {
      chunk = await codec.decode(chunk);
    }
    const { buffer, byteOffset, byteLength } = chunk.data;
    const { shape, elementSize } = this.#format;
    const length = shape.reduce((product, n) => product * n, elementSize);
    if (byteLength !== length) {
      throw new RangeError(
        `Expected a chunk of ${length} bytes, found ${byteLength}`,
      );
    }
    return {
      bytes: new Uint8Array(buffer, byteOffset, byteLength),
      strides: chunk.stride,
    };
  }

  /** Encodes the elements of a chunk. */
  async encode({ bytes, strides }: ChunkElements): Promise<Uint8Array> {
    // Codecs of zarrita take all of the memory for the elements.
    const own = this.#isOwn ? bytes : ownBytes(bytes);
    const data = elementsOf(own, this.#format);
    const { shape } = this.#format;
    let chunk: Chunk = { data, shape, stride: strides };
    for (const codec of this.#arrayToArray) chunk = await codec.encode(chunk);
    let encoded = await this.#arrayToBytes!.encode(chunk);
    for (const codec of this.#bytesToBytes) {
      encoded = await codec.encode(encoded);
    }
    return encoded;
  }
}

/** The codecs of a format, as registries hold them. */
export interface ChunkCodecs {
  readonly entries: readonly CodecEntry[];
  /** Whether all codecs are those of this package, which change no bytes that they decode. */
  readonly isOwn: boolean;
}

/** Loads the codecs of a format from this package; returns `undefined` if others are needed. */
export async function ownCodecs(
  { dataType, codecs }: ChunkFormat,
): Promise<ChunkCodecs | undefined> {
  if (CLASSES[dataType] === undefined) return undefined;
  const entries: CodecEntry[] = [];
  for (const { name } of codecs) {
    const entry = BASIC_CODECS.get(name) ??
      await loadCodec(name, { bytes: () => BytesCodec });
    if (entry === undefined) return undefined;
    entries.push(entry);
  }
  const transposes = codecs.filter(({ name }) => name === "transpose");
  const others = entries.filter((entry) => entry === BytesCodec);
  return transposes.length < 2 && others.length < 2
    ? { entries, isOwn: true }
    : undefined;
}

/** Loads the codecs of a format from a registry. */
export async function codecsIn(
  registry: Pick<CodecRegistry, "get">,
  { codecs }: ChunkFormat,
): Promise<ChunkCodecs> {
  const entries = await Promise.all(codecs.map(async ({ name }) => {
    const entry = await registry.get(name)?.();
    if (entry === undefined) throw new TypeError(`Unknown codec: ${name}`);
    return entry as CodecEntry;
  }));
  return { entries, isOwn: false };
}

/** A class of typed arrays. */
type ElementClass =
  & { readonly BYTES_PER_ELEMENT: number }
  & (new (
    buffer: ArrayBufferLike,
    start: number,
    length: number,
  ) => Chunk["data"]);

/** The classes of arrays for the data types that codecs of this package take. */
const CLASSES: Readonly<Record<string, ElementClass | undefined>> = {
  ...TYPED_ARRAYS,
  bool: Uint8Array,
  // Missing in Node 20. The codecs move bytes, so that any class of the size will do.
  float16: Uint16Array,
};

/** Views bytes as elements; elements of other data types, such as fixed texts, are bytes to all codecs. */
function elementsOf(
  { buffer, byteOffset, byteLength }: Uint8Array,
  { dataType, elementSize }: Pick<ChunkFormat, "dataType" | "elementSize">,
): Chunk["data"] {
  const Elements = CLASSES[dataType];
  return Elements === undefined
    ? { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT: elementSize }
    : new Elements(buffer, byteOffset, byteLength / elementSize);
}

/** The codec `bytes`. Source: https://zarr-specs.readthedocs.io/en/latest/v3/codecs/bytes/ */
const BytesCodec: BytesEntry & CodecEntry = {
  fromConfig(configuration, { dataType, shape }) {
    const elementSize = CLASSES[dataType]!.BYTES_PER_ELEMENT;
    const { endian } = (configuration ?? {}) as { endian?: string };
    const isSwapped = endian === "big" && elementSize > 1;
    const stride = stridesOf(shape);
    return {
      kind: "array_to_bytes",
      encode({ data: { buffer, byteOffset, byteLength } }: Chunk): Uint8Array {
        const bytes = new Uint8Array(buffer, byteOffset, byteLength);
        return isSwapped ? swapBytes(copyBytes(bytes), elementSize) : bytes;
      },
      decode(bytes: Uint8Array): Chunk {
        const isAligned = bytes.byteOffset % elementSize === 0;
        // Damaged indexes may have inner chunks that overlap.
        const own = isAligned && !isSwapped ? bytes : copyBytes(bytes);
        if (isSwapped) swapBytes(own, elementSize);
        const data = elementsOf(own, { dataType, elementSize });
        return { data, shape, stride };
      },
    };
  },
};

/** Reverses the bytes of each element in place. */
function swapBytes(bytes: Uint8Array, elementSize: number): Uint8Array {
  for (let start = 0; start < bytes.length; start += elementSize) {
    for (let i = start, j = start + elementSize - 1; i < j; i++, j--) {
      const byte = bytes[i]!;
      bytes[i] = bytes[j]!;
      bytes[j] = byte;
    }
  }
  return bytes;
}

/** The codec `transpose`, which only changes strides. Source: https://zarr-specs.readthedocs.io/en/latest/v3/codecs/transpose/ */
const TransposeCodec: CodecEntry = {
  fromConfig(configuration, { shape }) {
    const stored = stridesOf(
      shape,
      (configuration as { order: unknown }).order,
    );
    return {
      kind: "array_to_array",
      decode: ({ data, shape }: Chunk): Chunk => ({
        data,
        shape,
        stride: stored,
      }),
      encode({ data, shape, stride }: Chunk): Chunk {
        if (stride.every((step, i) => step === stored[i] || shape[i] === 1)) {
          return { data, shape, stride: stored };
        }
        const { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT: size } =
          data;
        const bytes = new Uint8Array(byteLength);
        copyElements(
          { bytes, offset: 0, strides: stored },
          {
            bytes: new Uint8Array(buffer, byteOffset, byteLength),
            offset: 0,
            strides: stride,
          },
          shape,
          size,
        );
        const ordered = {
          buffer: bytes.buffer,
          byteOffset: 0,
          byteLength,
          BYTES_PER_ELEMENT: size,
        };
        return { data: ordered, shape, stride: stored };
      },
    };
  },
};

/** The codecs that zarrita has itself. */
const BASIC_CODECS: ReadonlyMap<string, CodecEntry> = new Map([
  ["bytes", BytesCodec],
  ["transpose", TransposeCodec],
]);
