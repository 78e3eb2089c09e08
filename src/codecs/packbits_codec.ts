import { MetadataError, sentence } from "../errors/mod.ts";
import { isNumberType, sizeOfType } from "./cast_elements.ts";
import {
  type BytesEntry,
  type Chunk,
  type CodecEntry,
  Configuration,
  damaged,
} from "./codec.ts";
import { elementBytes } from "./element_bytes.ts";

/**
 * Loads the codec `packbits` for the registry: the bits of all elements without gaps and, if
 * configured, the number of padding bits (0) in the last byte. zarrita's codec `bytes` makes
 * the chunk of the unpacked elements, since it has the array class of each data type.
 *
 * Source: https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/packbits
 */
export async function loadPackbits(
  loadBytes: () => unknown,
): Promise<CodecEntry> {
  const bytes = await loadBytes() as BytesEntry;
  return {
    fromConfig(configuration, metadata) {
      const { dataType, shape } = metadata;
      const { field, padding } = parsePackbits(configuration, dataType);
      const isBool = dataType === "bool";
      const count = shape.reduce((product, n) => product * n, 1);
      const packedSize = Math.ceil(count * field.bits / 8);
      const size = packedSize + (padding === "none" ? 0 : 1);
      const paddingBits = 8 * packedSize - field.bits * count;
      /** The place of the number of padding bits. */
      const place = padding === "first_byte" ? 0 : packedSize;
      const start = padding === "first_byte" ? 1 : 0;
      const decoder = bytes.fromConfig({ endian: "little" }, metadata);
      return {
        kind: "array_to_bytes",
        encode(chunk: Chunk): Uint8Array {
          const elements = elementBytes(chunk, field.size);
          if (elements.length !== count * field.size) {
            throw new RangeError(
              sentence`Expected a chunk of ${count} elements for packbits, found the shape ${chunk.shape}`,
            );
          }
          const encoded = new Uint8Array(size);
          if (padding !== "none") encoded[place] = paddingBits;
          const packed = encoded.subarray(start, start + packedSize);
          if (isBool) packBools(elements, packed);
          else packBits(elements, packed, field);
          return encoded;
        },
        decode(encoded: Uint8Array) {
          if (encoded.length !== size) {
            throw damaged(
              encoded,
              sentence`is ${encoded.length} bytes long, where ${count} elements of ${field.bits} bits take ${size} in packbits with padding_encoding ${padding}`,
            );
          }
          if (padding !== "none" && encoded[place] !== paddingBits) {
            throw damaged(
              encoded,
              `has ${
                encoded[place]
              } as the number of padding bits in its ${padding}, where ${count} elements leave ${paddingBits}`,
            );
          }
          const packed = encoded.subarray(start, start + packedSize);
          const last = packed[packedSize - 1] ?? 0;
          if (last >> 8 - paddingBits !== 0) {
            throw damaged(
              encoded,
              `has padding bits other than 0 in its last byte of elements, 0x${
                last.toString(16)
              }`,
            );
          }
          // Always a copy, since zarrita changes chunks in place.
          const elements = new Uint8Array(count * field.size);
          if (isBool) unpackBools(packed, elements);
          else unpackBits(packed, elements, field);
          return decoder.decode(elements);
        },
      };
    },
  };
}

/** The places where the number of padding bits is stored. */
const PADDING = ["none", "first_byte", "last_byte"] as const;

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

/** Checks the configuration of `packbits`, for elements of a data type: bool or numbers, float16 included, as zarrs does. */
function parsePackbits(
  configuration: unknown,
  dataType: string,
): { field: BitField; padding: typeof PADDING[number] } {
  if (dataType !== "bool" && !isNumberType(dataType)) {
    throw new MetadataError(
      sentence`Expected the data type bool, or one of integers or floats, for packbits, found ${dataType}`,
    );
  }
  const size = dataType === "bool" ? 1 : sizeOfType(dataType);
  const bits = dataType === "bool" ? 1 : 8 * size;
  const members = new Configuration(
    "packbits",
    ["padding_encoding", "first_bit", "last_bit"],
    configuration,
  );
  const padding = members.oneOf("padding_encoding", PADDING, "none");
  const first = members.whole("first_bit", 0, bits - 1, 0);
  const last = members.whole("last_bit", first, bits - 1, bits - 1);
  const isSigned = dataType.startsWith("int");
  return { field: { size, first, bits: last - first + 1, isSigned }, padding };
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
