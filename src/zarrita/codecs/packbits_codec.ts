import { DamageError } from "../../errors/damage_error.ts";
import { describe } from "../../metadata/describe.ts";
import { keyOf } from "../read_keys.ts";
import { chunkAt } from "./chunk_at.ts";
import type {
  BytesEntry,
  Chunk,
  ChunkDecoder,
  ChunkMetadata,
} from "./codec.ts";
import { elementBytes } from "./element_bytes.ts";
import { packBits, unpackBits } from "./pack_bits.ts";
import { packBools, unpackBools } from "./pack_bools.ts";
import {
  type PackbitsConfiguration,
  parsePackbitsConfiguration,
} from "./packbits_configuration.ts";

/**
 * Loads the codec `packbits` for the registry. zarrita's codec `bytes` makes the chunk
 * of the unpacked elements, since it has the array class of each data type, including
 * `BoolArray`, which cannot be imported here.
 */
export async function loadPackbits(
  loadBytes: () => unknown,
): Promise<
  {
    fromConfig(configuration: unknown, metadata: ChunkMetadata): PackbitsCodec;
  }
> {
  const bytes = await loadBytes() as BytesEntry;
  return {
    fromConfig(configuration, metadata) {
      const parsed = parsePackbitsConfiguration(
        configuration,
        metadata.dataType,
      );
      const decoder = bytes.fromConfig({ endian: "little" }, metadata);
      return new PackbitsCodec(parsed, metadata, decoder);
    },
  };
}

/**
 * The codec `packbits`: the bits of all elements without gaps and, if configured, the
 * number of padding bits in the last byte.
 *
 * Source: https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/packbits
 */
export class PackbitsCodec {
  readonly kind = "array_to_bytes";
  readonly #configuration: PackbitsConfiguration;
  readonly #metadata: ChunkMetadata;
  readonly #decoder: ChunkDecoder;
  readonly #isBool: boolean;
  /** The number of elements in a chunk. */
  readonly #count: number;
  /** The number of padding bits (0) in the last byte. */
  readonly #padding: number;
  /** The start and the end of the packed elements in the encoded bytes. */
  readonly #start: number;
  readonly #end: number;

  constructor(
    configuration: PackbitsConfiguration,
    metadata: ChunkMetadata,
    decoder: ChunkDecoder,
  ) {
    if (!IS_LITTLE_ENDIAN && configuration.field.size > 1) {
      throw new Error(
        "packbits needs a host whose byte order is little endian",
      );
    }
    this.#configuration = configuration;
    this.#metadata = metadata;
    this.#decoder = decoder;
    this.#isBool = metadata.dataType === "bool";
    this.#count = metadata.shape.reduce((product, n) => product * n, 1);
    const packedSize = this.#packedSize(this.#count);
    this.#padding = 8 * packedSize - configuration.field.bits * this.#count;
    this.#start = configuration.padding === "first_byte" ? 1 : 0;
    this.#end = this.#start + packedSize;
  }

  encode(chunk: Chunk): Uint8Array {
    const { field, padding } = this.#configuration;
    const elements = elementBytes(chunk, field.size);
    this.#assertCount(chunk, elements.length / field.size);
    const encoded = new Uint8Array(this.computeEncodedSize(elements.length));
    const packed = encoded.subarray(this.#start, this.#end);
    if (this.#isBool) packBools(elements, packed);
    else packBits(elements, packed, field);
    if (padding === "first_byte") encoded[0] = this.#padding;
    if (padding === "last_byte") encoded[this.#end] = this.#padding;
    return encoded;
  }

  decode(encoded: Uint8Array): Chunk | Promise<Chunk> {
    const { field } = this.#configuration;
    this.#assertSize(encoded);
    this.#assertPadding(encoded);
    const packed = encoded.subarray(this.#start, this.#end);
    // Always a copy, since zarrita changes chunks in place.
    const elements = new Uint8Array(this.#count * field.size);
    if (this.#isBool) unpackBools(packed, elements);
    else unpackBits(packed, elements, field);
    return this.#decoder.decode(elements);
  }

  computeEncodedSize(decodedSize: number): number {
    const { field, padding } = this.#configuration;
    return this.#packedSize(decodedSize / field.size) +
      (padding === "none" ? 0 : 1);
  }

  #packedSize(count: number): number {
    return Math.ceil(count * this.#configuration.field.bits / 8);
  }

  #assertCount(chunk: Chunk, count: number): void {
    if (count === this.#count) return;
    throw new RangeError(
      `Expected a chunk of ${this.#count} elements for packbits, found the shape ${
        describe(chunk.shape)
      }`,
    );
  }

  #assertSize(encoded: Uint8Array): void {
    const { field, padding } = this.#configuration;
    const size = this.computeEncodedSize(this.#count * field.size);
    if (encoded.length === size) return;
    throw new DamageError(
      `The ${
        chunkAt(encoded)
      } is ${encoded.length} bytes long, where ${this.#count} elements of ${field.bits} bits take ${size} in packbits${
        padding === "none" ? "" : `, the ${padding} of padding included`
      }`,
      { key: keyOf(encoded) },
    );
  }

  /** Checks the number of padding bits, if it is stored, and that they are 0. */
  #assertPadding(encoded: Uint8Array): void {
    const { padding } = this.#configuration;
    const stored = padding === "none"
      ? this.#padding
      : encoded[padding === "first_byte" ? 0 : this.#end];
    if (stored !== this.#padding) {
      throw new DamageError(
        `The ${
          chunkAt(encoded)
        } has ${stored} as the number of padding bits in its ${padding}, where ${this.#count} elements leave ${this.#padding}`,
        { key: keyOf(encoded) },
      );
    }
    if (this.#padding === 0) return;
    const bits = encoded[this.#end - 1]! >> (8 - this.#padding);
    if (bits === 0) return;
    throw new DamageError(
      `The ${chunkAt(encoded)} has the padding bits 0b${
        bits.toString(2).padStart(this.#padding, "0")
      }, where packbits fills its last byte with bits of 0`,
      { key: keyOf(encoded) },
    );
  }
}

const IS_LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
