import { startChecksums } from "./checksums";
import { startChunk } from "./chunk";
import { clearHeld, reserve } from "./held";
import { startJoin } from "./join";
import { ANSWER, BLOCK, BLOCK_SIZE, PARTS } from "./memory";
import { setParts, tableEnd } from "./parts";
import { startSplit } from "./split";
import { clearWindows, MOST_HELD } from "./windows";

// The splitter: one chunk that is cut into its parts, or joined from them. The
// caller brings bytes and says how many; the module says which of them may go on
// and to which parts they belong, and sums them up. `src/splitter/splitter.ts`
// describes what each function is for.

export { checksum, computedChecksum, storedChecksum, sum } from "./checksums";
export { endChunk, passable, tail } from "./chunk";
export { endPart, takePart } from "./join";
export { finish, keep, take } from "./split";
export { window, windowRoom } from "./windows";

/** Where the sizes are written: for each part four f64, its size, count, cut and CRC32C. */
export const table: usize = PARTS;
/** Where `take` and `finish` answer: the first and the last part of the cuts, and the place and the number of those of their bytes that lie in this memory. */
export const answer: usize = ANSWER;
/** Where foreign bytes are copied to that are to be summed up, and how many at once. */
export const block: usize = BLOCK;
export const blockSize: u32 = BLOCK_SIZE;
/** The most bytes that can be held back in front of a window. */
export const mostHeld: u32 = <u32> MOST_HELD;

/** Makes room for the table of so many parts; false if there is no memory. */
export function begin(parts: u32): bool {
  setParts(parts);
  clearHeld();
  clearWindows();
  startChecksums();
  return reserve(<f64> tableEnd());
}

/** Starts a chunk, once the table has the sizes: see `startChunk`. */
export function start(length: f64, last: f64, isSplit: bool): void {
  startChunk(length, last, isSplit);
  startSplit();
  startJoin();
}
