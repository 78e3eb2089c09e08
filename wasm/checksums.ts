import { BACK_4_BYTES, multiply, powerOfBytes } from "./field";
import { checksumAt, countAt, parts, sizeAt } from "./parts";
import { addToChecksum, endChecksum, startChecksum } from "./running_checksum";

// The CRC32C of each part and of the chunk. Bytes may be summed up later than
// they are counted, but in the same order.

/** The part that is summed up, and how many bytes of it were. */
let part: u32 = 0;
let summed: f64 = 0;
/** The last four bytes as a little-endian number. */
let lastFour: u32 = 0;

/** Starts with no bytes of the first part. */
export function startChecksums(): void {
  part = 0;
  summed = 0;
  startChecksum();
}

function endPart(): void {
  store<f64>(checksumAt(part), <f64> endChecksum());
  part++;
  summed = 0;
  startChecksum();
}

/** Sums up the next bytes of the chunk. */
export function sum(from: usize, length: u32): void {
  if (length >= 4) lastFour = load<u32>(from + length - 4);
  else {
    for (let i: u32 = 0; i < length; i++) {
      lastFour = (lastFour >> 8) | (<u32> load<u8>(from + i) << 24);
    }
  }
  while (length > 0) {
    const rest = load<f64>(sizeAt(part)) - summed;
    if (rest == 0) {
      endPart();
      continue;
    }
    const taken = <u32> min(rest, <f64> length);
    addToChecksum(from, taken, rest);
    summed += <f64> taken;
    from += taken;
    length -= taken;
  }
}

/** The CRC32C of the chunk, once all of it is summed up. */
export function checksum(): u32 {
  while (part < parts) endPart();
  let whole: u32 = 0;
  for (let i: u32 = 0; i < parts; i++) {
    whole = multiply(whole, powerOfBytes(load<f64>(countAt(i)))) ^
      <u32> load<f64>(checksumAt(i));
  }
  return whole;
}

/** The checksum that the last four bytes of the chunk hold. */
export function storedChecksum(): u32 {
  return lastFour;
}

/** The CRC32C of the bytes before the last four. */
export function computedChecksum(): u32 {
  return ~(multiply(~checksum(), BACK_4_BYTES) ^ lastFour);
}
