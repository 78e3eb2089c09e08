import { add, begin, end } from "./long_relation";
import { INPUT } from "./memory";
import { byShortRelation, SHORT_LIMIT } from "./short_relation";
import { byTables } from "./tables";

// For data in several pieces: a register to begin with, any number of pieces of
// whole vectors of 16 bytes, and the register they leave.
export { add, begin, end };

export const input: usize = INPUT;

/** From how many bytes on a relation is faster than the tables: `bench/crc32c.ts`. */
const SHORT_FROM: u32 = 704;

/** The register after `length` more bytes at `from`. */
export function register(before: u32, from: usize, length: u32): u32 {
  if (length < SHORT_FROM) return byTables(before, from, length);
  if (length <= SHORT_LIMIT) return byShortRelation(before, from, length);
  const vectors = length & ~15;
  begin(before);
  add(from, vectors);
  return byTables(end(), from + vectors, length & 15);
}
