import { PARTS } from "./memory";

// The table of parts: for each part four numbers, all f64, so that lengths up to
// 2^53-1 mean the same here and in JavaScript.

/** A part's size, which the caller writes; infinite while it is not known. */
export function sizeAt(part: u32): usize {
  return PARTS + (<usize> part << 5);
}

/** How many bytes of the part there were so far. */
export function countAt(part: u32): usize {
  return sizeAt(part) + 8;
}

/** How many of the bytes that go on now belong to the part. */
export function cutAt(part: u32): usize {
  return sizeAt(part) + 16;
}

/** The part's CRC32C. */
export function checksumAt(part: u32): usize {
  return sizeAt(part) + 24;
}

/** How many parts there are. */
export let parts: u32 = 0;

/** Makes room for a table. */
export function setParts(count: u32): void {
  parts = count;
}

/** Where the table ends, on a boundary of 64 bytes. */
export function tableEnd(): usize {
  return (sizeAt(parts) + 63) & ~63;
}
