import { describe, describeAll } from "../../metadata/describe.ts";
import { MetadataError } from "../../metadata/metadata_error.ts";

/** A data type as `packbits` needs it. */
export interface ElementType {
  /** The length of an element in memory, in bytes. */
  readonly size: number;
  /** The number of bits of an element. */
  readonly bits: number;
  readonly isSigned: boolean;
}

/** The data types that zarrita and `packbits` both support, and float16, as zarrs does. */
const TYPES: ReadonlyMap<string, ElementType> = new Map([
  ["bool", { size: 1, bits: 1, isSigned: false }],
  ["int8", number(1, true)],
  ["int16", number(2, true)],
  ["int32", number(4, true)],
  ["int64", number(8, true)],
  ["uint8", number(1)],
  ["uint16", number(2)],
  ["uint32", number(4)],
  ["uint64", number(8)],
  ["float16", number(2)],
  ["float32", number(4)],
  ["float64", number(8)],
]);

export function elementTypeOf(dataType: string): ElementType {
  const type = TYPES.get(dataType);
  if (type !== undefined) return type;
  throw new MetadataError(
    `Unknown data type ${describe(dataType)} for packbits; known are ${
      describeAll(TYPES.keys())
    }`,
  );
}

function number(size: number, isSigned = false): ElementType {
  return { size, bits: 8 * size, isSigned };
}
