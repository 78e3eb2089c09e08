/** The bits that are packed of each element. Bit 0 is the one that counts least. */
export interface BitField {
  /** The length of an element in memory, in bytes, the lowest first. */
  readonly size: number;
  /** The first of the bits. */
  readonly first: number;
  /** How many they are, up to the end of the element at most. */
  readonly bits: number;
  /** Whether the last of them says of the bits above it what they are. */
  readonly isSigned: boolean;
}
