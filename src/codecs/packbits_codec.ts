import { describe, MetadataError } from "../errors/mod.ts";
import { checkOneOf, isWhole, refuse } from "../metadata/mod.ts";
import { isNumberType, sizeOfType } from "./cast_elements.ts";
import {
  type BytesEntry,
  type Chunk,
  type ChunkDecoder,
  type ChunkMetadata,
  damaged,
  parseCodecConfiguration,
} from "./codec.ts";
import { elementBytes } from "./element_bytes.ts";

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
class PackbitsCodec {
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
    throw damaged(
      encoded,
      `is ${encoded.length} bytes long, where ${this.#count} elements of ${field.bits} bits take ${size} in packbits${
        padding === "none" ? "" : `, the ${padding} of padding included`
      }`,
    );
  }

  /** Checks the number of padding bits, if it is stored, and that they are 0. */
  #assertPadding(encoded: Uint8Array): void {
    const { padding } = this.#configuration;
    const stored = padding === "none"
      ? this.#padding
      : encoded[padding === "first_byte" ? 0 : this.#end];
    if (stored !== this.#padding) {
      throw damaged(
        encoded,
        `has ${stored} as the number of padding bits in its ${padding}, where ${this.#count} elements leave ${this.#padding}`,
      );
    }
    if (this.#padding === 0) return;
    const bits = encoded[this.#end - 1]! >> (8 - this.#padding);
    if (bits === 0) return;
    throw damaged(
      encoded,
      `has the padding bits 0b${
        bits.toString(2).padStart(this.#padding, "0")
      }, where packbits fills its last byte with bits of 0`,
    );
  }
}

const IS_LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** The place where the number of padding bits is stored. */
type PaddingEncoding = "none" | "first_byte" | "last_byte";

/** The bits of each element that are packed, and the place of the number of padding bits. */
interface PackbitsConfiguration {
  readonly field: BitField;
  readonly padding: PaddingEncoding;
}

/** Checks the configuration of `packbits`, for elements of a data type. */
function parsePackbitsConfiguration(
  configuration: unknown,
  dataType: string,
): PackbitsConfiguration {
  const { size, bits, isSigned } = elementTypeOf(dataType);
  const { padding_encoding = "none", first_bit, last_bit } =
    parseCodecConfiguration(
      "packbits",
      ["padding_encoding", "first_bit", "last_bit"],
      configuration,
    );
  const padding = checkOneOf(
    padding_encoding,
    PADDING,
    'padding_encoding of packbits to be "none", "first_byte" or "last_byte"',
    "/configuration/padding_encoding",
  );
  const first = checkBit(first_bit ?? 0, "first_bit");
  const last = checkBit(last_bit ?? bits - 1, "last_bit");
  const bounds = [["first_bit", first], ["last_bit", last]] as const;
  for (const [place, bit] of bounds) {
    if (bit < bits) continue;
    throw new MetadataError(
      `Expected ${place} of packbits to be a bit of ${
        describe(dataType)
      }, from 0 to ${bits - 1}, found ${bit}`,
      `/configuration/${place}`,
    );
  }
  if (last < first) {
    throw new MetadataError(
      `Expected last_bit of packbits not to be less than first_bit, ${first}, found ${last}`,
      "/configuration/last_bit",
    );
  }
  return {
    field: { size, first, bits: last - first + 1, isSigned },
    padding,
  };
}

const PADDING: readonly PaddingEncoding[] = [
  "none",
  "first_byte",
  "last_byte",
];

function checkBit(bit: unknown, name: string): number {
  if (isWhole(bit)) return bit;
  refuse(
    "first_bit and last_bit of packbits to be whole numbers from 0, or null",
    bit,
    `/configuration/${name}`,
  );
}

/** A data type as `packbits` needs it. */
interface ElementType {
  /** The length of an element in memory, in bytes. */
  readonly size: number;
  /** The number of bits of an element. */
  readonly bits: number;
  readonly isSigned: boolean;
}

/** The data type of elements: bool, or that of a number, float16 included, as zarrs does. */
function elementTypeOf(dataType: string): ElementType {
  if (dataType === "bool") return { size: 1, bits: 1, isSigned: false };
  if (!isNumberType(dataType)) {
    throw new MetadataError(
      `Expected the data type bool, or one of integers or floats, for packbits, found ${
        describe(dataType)
      }`,
    );
  }
  const size = sizeOfType(dataType);
  return { size, bits: 8 * size, isSigned: dataType.startsWith("int") };
}

/** The bits of each element that are packed. Bit 0 is the least significant bit. */
interface BitField {
  /** The length of an element in memory in bytes, little-endian. */
  readonly size: number;
  /** The first packed bit. */
  readonly first: number;
  /** The number of packed bits. */
  readonly bits: number;
  /** Whether the bits above the last packed bit are copies of it. */
  readonly isSigned: boolean;
}

/** Writes a bit field of each element into `packed`, without gaps. */
function packBits(
  elements: Uint8Array,
  packed: Uint8Array,
  { size, first, bits }: BitField,
): void {
  if (bits === 8 * size) return packed.set(elements);
  let held = 0; // Bits that make no whole byte yet.
  let heldBits = 0;
  let next = 0;
  for (let element = 0; element < elements.length; element += size) {
    for (let taken = 0; taken < bits; taken += 8) {
      const width = Math.min(8, bits - taken);
      const bit = first + taken;
      const byte = element + (bit >> 3);
      const window = elements[byte]! | elements[byte + 1]! << 8;
      held |= (window >> (bit & 7) & mask(width)) << heldBits;
      heldBits += width;
      if (heldBits < 8) continue;
      packed[next++] = held;
      held >>= 8;
      heldBits -= 8;
    }
  }
  if (heldBits > 0) packed[next] = held;
}

/**
 * Writes the bit fields of {@linkcode packBits} back to their elements. The bits below
 * a field become 0, and those above it 0 or copies of the sign bit.
 *
 * @param elements All 0.
 */
function unpackBits(
  packed: Uint8Array,
  elements: Uint8Array,
  field: BitField,
): void {
  const { size, first, bits } = field;
  if (bits === 8 * size) return elements.set(packed);
  let held = 0;
  let heldBits = 0;
  let next = 0;
  for (let element = 0; element < elements.length; element += size) {
    for (let taken = 0; taken < bits; taken += 8) {
      const width = Math.min(8, bits - taken);
      if (heldBits < width) {
        held |= packed[next++]! << heldBits;
        heldBits += 8;
      }
      const bit = first + taken;
      const byte = element + (bit >> 3);
      const window = (held & mask(width)) << (bit & 7);
      elements[byte]! |= window;
      if (window > 0xff) elements[byte + 1] = window >> 8;
      held >>= width;
      heldBits -= width;
    }
  }
  if (field.isSigned) extendSigns(elements, size, first + bits);
}

/** Copies the bit before `end` to all bits from `end` on. */
function extendSigns(elements: Uint8Array, size: number, end: number): void {
  if (end === 8 * size) return;
  const above = end >> 3;
  const signByte = (end - 1) >> 3;
  const sign = 1 << (end - 1 & 7);
  for (let element = 0; element < elements.length; element += size) {
    if ((elements[element + signByte]! & sign) === 0) continue;
    elements[element + above]! |= 0xff << (end & 7);
    for (let byte = above + 1; byte < size; byte++) {
      elements[element + byte] = 0xff;
    }
  }
}

function mask(bits: number): number {
  return (1 << bits) - 1;
}

/** Writes a bit for each element: 1 unless its byte is 0. */
function packBools(elements: Uint8Array, packed: Uint8Array): void {
  for (let i = 0; i < elements.length; i++) {
    packed[i >>> 3]! |= +(elements[i] !== 0) << (i & 7);
  }
}

/** Writes a byte for each bit, 0 or 1. */
function unpackBools(packed: Uint8Array, elements: Uint8Array): void {
  for (let i = 0; i < elements.length; i++) {
    elements[i] = packed[i >>> 3]! >> (i & 7) & 1;
  }
}
