import { BACK_4_BYTES, multiply } from "./field";
import { SHORT_SCRATCH } from "./memory";
import { byTables } from "./tables";

// A relation of six terms, 1 + x^(8·32) + x^(8·107) + x^(8·113) + x^(8·136) +
// x^(8·290) = 0 modulo P: a byte may be taken out of a message if it is added to
// the bytes 154, 177, 183, 258 and 290 places later. It costs more a byte than
// the relation of four terms, and leaves a far shorter rest.
//
// Read forwards, each byte w of the new message is the old one and what arrives
// there from bytes w before it. Past the end, what arrives is the rest, as long
// as the relation reaches: it is the message times x^(8·290), which a
// multiplication takes back. All lags exceed 15, so sixteen bytes go at once.
const A: usize = 154;
const B: usize = 177;
const C: usize = 183;
const D: usize = 258;
const REACH: usize = 290;
/** The reach in whole vectors of 16 bytes. */
const REACH_16: usize = 304;
/** x^(−8·REACH). */
const BACK: u32 = 0x0d70a2b2;

/** How many bytes fit the scratch; from about as many on, the long relation is faster. */
export const SHORT_LIMIT: u32 = 0x7800;

/** From how many bytes on the relation is faster than the tables, as `deno task bench crc32c` shows. */
const SHORT_FROM: u32 = 704;

/** The sum of what earlier places send to the sixteen bytes at `w`. */
function arriving(w: usize): v128 {
  return v128.xor(
    v128.xor(v128.load(w - A), v128.load(w - B)),
    v128.xor(
      v128.load(w - C),
      v128.xor(v128.load(w - D), v128.load(w - REACH)),
    ),
  );
}

/** The register after more bytes, at most SHORT_LIMIT. */
export function byShortRelation(register: u32, from: usize, length: u32): u32 {
  if (length < SHORT_FROM) return byTables(register, from, length);

  // What came before is four bytes that leave the register as it is, after
  // zeros: nothing else is ever written there.
  let w = SHORT_SCRATCH + REACH_16;
  store<u32>(w - 4, multiply(register, BACK_4_BYTES));

  const lastVector = from + (length & ~15);
  for (; from < lastVector; from += 16, w += 16) {
    v128.store(w, v128.xor(v128.load(from), arriving(w)));
  }

  memory.fill(w, 0, REACH_16);
  const residual = w + REACH_16;
  for (let i: usize = 0; i < REACH; i += 16) {
    v128.store(residual + i, arriving(w + i));
  }
  register = multiply(byTables(0, residual, <u32> REACH), BACK);
  return byTables(register, from, length & 15);
}
