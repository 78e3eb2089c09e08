import type { BitField } from "./bit_field.ts";

/** Writes a bit field of each element into `packed`, without gaps. */
export function packBits(
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
export function unpackBits(
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
