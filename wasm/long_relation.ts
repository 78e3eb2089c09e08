import { BACK_4_BYTES, multiply } from "./field";
import { LONG_SCRATCH } from "./memory";
import { byShortRelation } from "./short_relation";

// x^(8·5275) = x^(8·4508) + x^(8·2751) + 1 modulo P: a byte may be taken out of a
// message if it is added to the bytes 767, 2524 and 5275 places later. No relation
// with fewer terms exists. See short_relation.ts for how it is used.
const A: usize = 767;
const B: usize = 2524;
const REACH: usize = 5275;
/** The reach in whole vectors of 16 bytes. */
const REACH_16: usize = 5280;
/** x^(−8·REACH). */
const BACK: u32 = 0x52bae15b;
/** Where the new bytes go, after the state. */
const START: usize = LONG_SCRATCH + REACH_16;
/** How many bytes go through before the state moves back to the start of the scratch. */
const BLOCK: usize = 0x10000;

/** The sum of what earlier places send to the sixteen bytes at `w`. */
function arriving(w: usize): v128 {
  return v128.xor(
    v128.load(w - A),
    v128.xor(v128.load(w - B), v128.load(w - REACH)),
  );
}

/** Starts a message after bytes that left this register: the state, just before START, is what they left. */
export function begin(register: u32): void {
  memory.fill(LONG_SCRATCH, 0, REACH_16);
  store<u32>(START - 4, multiply(register, BACK_4_BYTES));
}

/** Takes more bytes, as many as go into vectors of 16 without a rest. */
export function add(from: usize, length: u32): void {
  const end = from + length;
  while (from < end) {
    const blockEnd = min(from + BLOCK, end);
    let w = START;
    for (; from + 64 <= blockEnd; from += 64, w += 64) {
      vector(from, w);
      vector(from + 16, w + 16);
      vector(from + 32, w + 32);
      vector(from + 48, w + 48);
    }
    for (; from < blockEnd; from += 16, w += 16) vector(from, w);
    memory.copy(LONG_SCRATCH, w - REACH_16, REACH_16);
  }
}

/** Takes sixteen bytes. */
function vector(from: usize, w: usize): void {
  v128.store(w, v128.xor(v128.load(from), arriving(w)));
}

/** The register after all bytes that were taken. */
export function end(): u32 {
  memory.fill(START, 0, REACH_16);
  const residual = START + REACH_16;
  for (let i: usize = 0; i < REACH; i += 16) {
    v128.store(residual + i, arriving(START + i));
  }
  return multiply(byShortRelation(0, residual, <u32> REACH), BACK);
}
