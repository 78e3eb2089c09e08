import { checksumAt, parts, sizeAt } from "./parts";
import { addToChecksum, endChecksum, startChecksum } from "./running_checksum";

// The CRC32C of each part. Bytes may be summed up later than they are cut, but in
// the same order.

/** The part that is summed up, and how many bytes of it were. */
let part: u32 = 0;
let summed: f64 = 0;

/** Starts with no bytes of the first part. */
export function startChecksums(): void {
  for (let i: u32 = 0; i < parts; i++) store<f64>(checksumAt(i), 0);
  part = 0;
  summed = 0;
  startChecksum();
}

/** Adds the next bytes of a part, which is the same as before or a later one. */
export function sum(next: u32, from: usize, length: u32): void {
  if (next != part) {
    endSums();
    part = next;
    summed = 0;
    startChecksum();
  }
  addToChecksum(from, length, load<f64>(sizeAt(part)) - summed);
  summed += <f64> length;
}

/** Ends the part that is summed up. */
export function endSums(): void {
  store<f64>(checksumAt(part), <f64> endChecksum());
}
