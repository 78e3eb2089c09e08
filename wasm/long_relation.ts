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
/** The state moves back to the start of the scratch after this many bytes. */
const BLOCK: usize = 0x10000;

/** The sum of what earlier places send to the sixteen bytes at `w`. */
function arriving(w: usize): v128 {
  return v128.xor(
    v128.load(w - A),
    v128.xor(v128.load(w - B), v128.load(w - REACH)),
  );
}

/** Where the next sixteen bytes of the new message go. */
let w: usize = START;

/** Starts a message after bytes that left this register: the state, just before START, is what they left. */
export function begin(register: u32): void {
  memory.fill(LONG_SCRATCH, 0, REACH_16);
  store<u32>(START - 4, multiply(register, BACK_4_BYTES));
  w = START;
}

/** Takes more bytes, as many as go into vectors of 16 without a rest. */
export function add(from: usize, length: u32): void {
  const end = from + length;
  let at = w;
  while (from < end) {
    const blockEnd = min(from + (START + BLOCK - at), end);
    for (; from + 64 <= blockEnd; from += 64, at += 64) {
      vector(from, at);
      vector(from + 16, at + 16);
      vector(from + 32, at + 32);
      vector(from + 48, at + 48);
    }
    for (; from < blockEnd; from += 16, at += 16) vector(from, at);
    if (at == START + BLOCK) {
      memory.copy(LONG_SCRATCH, at - REACH_16, REACH_16);
      at = START;
    }
  }
  w = at;
}

/** Takes sixteen bytes. */
function vector(from: usize, at: usize): void {
  v128.store(at, v128.xor(v128.load(from), arriving(at)));
}

/** The register after all bytes that were taken. */
export function end(): u32 {
  memory.fill(w, 0, REACH_16);
  const residual = w + REACH_16;
  for (let i: usize = 0; i < REACH; i += 16) {
    v128.store(residual + i, arriving(w + i));
  }
  return multiply(byShortRelation(0, residual, <u32> REACH), BACK);
}
