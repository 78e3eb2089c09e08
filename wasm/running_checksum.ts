import { add, begin, end } from "./long_relation";
import { PENDING } from "./memory";
import { byShortRelation, SHORT_LIMIT } from "./short_relation";
import { byTables } from "./tables";

// The CRC32C of bytes that come in pieces of any length. The state of the long
// relation is kept between two pieces, since leaving it costs as much as summing
// up some 20 KiB; the relation takes vectors of sixteen bytes, so up to fifteen
// bytes wait for the next piece.

let register: u32 = 0;
let isLong: bool = false;
let pending: u32 = 0;

/** Starts with no bytes. */
export function startChecksum(): void {
  register = ~0;
  isLong = false;
  pending = 0;
}

/**
 * Sums up more bytes.
 *
 * @param rest How many bytes are still to come, these included; infinite if that is not known.
 */
export function addToChecksum(from: usize, length: u32, rest: f64): void {
  if (!isLong) {
    if (rest <= <f64> SHORT_LIMIT) {
      register = byShortRelation(register, from, length);
      return;
    }
    begin(register);
    isLong = true;
  }
  if (pending > 0) {
    const missing = min(16 - pending, length);
    memory.copy(PENDING + pending, from, missing);
    pending += missing;
    if (pending < 16) return;
    add(PENDING, 16);
    pending = 0;
    from += missing;
    length -= missing;
  }
  const vectors = length & ~15;
  add(from, vectors);
  pending = length & 15;
  memory.copy(PENDING, from + vectors, pending);
}

/** The CRC32C of all bytes since the start. */
export function endChecksum(): u32 {
  return ~(isLong ? byTables(end(), PENDING, pending) : register);
}
