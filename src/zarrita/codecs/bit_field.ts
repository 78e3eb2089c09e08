/** The bits of each element that are packed. Bit 0 is the least significant bit. */
export interface BitField {
  /** The length of an element in memory in bytes, little-endian. */
  readonly size: number;
  /** The first packed bit. */
  readonly first: number;
  /** The number of packed bits. */
  readonly bits: number;
  /** Whether the bits above the last packed bit are copies of it. */
  readonly isSigned: boolean;
}
