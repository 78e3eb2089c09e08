import { startChecksums } from "./checksums";
import { startCuts } from "./cuts";
import { BLOCK, BLOCK_SIZE, PARTS } from "./memory";
import { setParts, tableEnd } from "./parts";

// The splitter: one chunk that is cut into its parts, or joined from them. The
// caller moves the bytes and says how many have come; the module says which of them
// may go on and to which parts they belong, and sums them up. `src/splitter/engines.ts`
// describes what each function is for.

export { endSums, sum } from "./checksums";
export { endPart, finish, firstPart, part, take } from "./cuts";

/** Where the sizes are written: for each part four f64, its size, count, cut and CRC32C. */
export const table: usize = PARTS;
/** Where foreign bytes are copied to that are to be summed up, and how many at once. */
export const block: usize = BLOCK;
export const blockSize: u32 = BLOCK_SIZE;

/** Makes room for the table of so many parts, and returns where it ends; 0 if there is no memory. */
export function begin(parts: u32): usize {
  setParts(parts);
  const end = tableEnd();
  const missing = <i32> ((end + 0xffff) >>> 16) - memory.size();
  return missing <= 0 || memory.grow(missing) >= 0 ? end : 0;
}

/** Starts a chunk, once the table has the sizes: see `startCuts`. */
export function start(tail: f64, end: f64): void {
  startCuts(tail, end);
  startChecksums();
}
