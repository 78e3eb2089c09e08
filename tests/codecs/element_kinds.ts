import * as zarr from "zarrita";

type Values = {
  [place: number]: number | bigint;
  readonly length: number;
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly BYTES_PER_ELEMENT: number;
};

/** A data type that `packbits` knows: `bits` are those an element has there. */
export interface ElementKind {
  readonly dataType: zarr.DataType;
  readonly bits: number;
  readonly isSigned: boolean;
  /** An array of elements that are given, and told, by all their bits. */
  of(patterns: readonly bigint[]): Elements;
  patternsOf(elements: Elements): bigint[];
}

export type Elements = Values | zarr.BoolArray;

export const ELEMENT_KINDS: readonly ElementKind[] = [
  integers("int8", 8, true, Int8Array),
  integers("int16", 16, true, Int16Array),
  integers("int32", 32, true, Int32Array),
  integers("int64", 64, true, BigInt64Array),
  integers("uint8", 8, false, Uint8Array),
  integers("uint16", 16, false, Uint16Array),
  integers("uint32", 32, false, Uint32Array),
  integers("uint64", 64, false, BigUint64Array),
  // Their bits and not their values: there are many NaN.
  ...(typeof Float16Array === "undefined"
    ? []
    : [floats("float16", 16, Uint16Array, Float16Array)]),
  floats("float32", 32, Uint32Array, Float32Array),
  floats("float64", 64, BigUint64Array, Float64Array),
  {
    dataType: "bool",
    bits: 1,
    isSigned: false,
    of: (patterns) => new zarr.BoolArray(patterns.map((bit) => bit === 1n)),
    patternsOf: (elements) =>
      Array.from(elements as zarr.BoolArray, (bit) => bit ? 1n : 0n),
  },
];

/** The kind of a data type. */
export function elementKind(dataType: string): ElementKind {
  return ELEMENT_KINDS.find((kind) => kind.dataType === dataType)!;
}

interface ArrayClass {
  new (length: number): Values;
  new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): Values;
}

function integers(
  dataType: zarr.DataType,
  bits: number,
  isSigned: boolean,
  Class: ArrayClass,
): ElementKind {
  return {
    dataType,
    bits,
    isSigned,
    of(patterns) {
      const elements = new Class(patterns.length);
      patterns.forEach((pattern, i) => {
        const value = (isSigned ? BigInt.asIntN : BigInt.asUintN)(
          bits,
          pattern,
        );
        elements[i] = bits === 64 ? value : Number(value);
      });
      return elements;
    },
    patternsOf: (elements) =>
      Array.from(
        elements as unknown as ArrayLike<number | bigint>,
        (value) => BigInt.asUintN(bits, BigInt(value)),
      ),
  };
}

function floats(
  dataType: zarr.DataType,
  bits: number,
  BitsClass: ArrayClass,
  Class: ArrayClass,
): ElementKind {
  const ofBits = integers(dataType, bits, false, BitsClass);
  return {
    ...ofBits,
    of: (patterns) => new Class(ofBits.of(patterns).buffer),
    patternsOf: ({ buffer, byteOffset, byteLength }) =>
      ofBits.patternsOf(
        new BitsClass(buffer, byteOffset, 8 * byteLength / bits),
      ),
  };
}
