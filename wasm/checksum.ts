import { add, begin, end } from "./long_relation";
import { INPUT } from "./memory";
import { byShortRelation, SHORT_LIMIT } from "./short_relation";
import { byTables } from "./tables";

// For data in several pieces: the register before them, pieces whose lengths are
// multiples of 16 bytes, and the register after them.
export { add, begin, end };

export const input: usize = INPUT;

/** The register after `length` more bytes at `from`. */
export function register(before: u32, from: usize, length: u32): u32 {
  if (length <= SHORT_LIMIT) return byShortRelation(before, from, length);
  const vectors = length & ~15;
  begin(before);
  add(from, vectors);
  return byTables(end(), from + vectors, length & 15);
}
