import { countAt, cutAt, parts, sizeAt } from "./parts";

// The cuts of one chunk: which of the bytes that have come may go on, and to which
// parts they belong. `src/splitter/engines.ts` has the same in TypeScript.

/** How many of the bytes that came last are always held back. */
let tail: f64 = 0;
/** Where the bytes begin that are held back to the end. */
let end: f64 = 0;
let received: f64 = 0;
let passed: f64 = 0;

/** The first and the last of the parts to which bytes were cut. The last one takes the next bytes, too. */
export let firstPart: u32 = 0;
export let part: u32 = 0;

/** Starts a chunk, once the table has the sizes, infinite where they are not known. */
export function startCuts(held: f64, heldFrom: f64): void {
  tail = held;
  end = heldFrom;
  received = 0;
  passed = 0;
  firstPart = 0;
  part = 0;
  for (let i: u32 = 0; i < parts; i++) {
    store<f64>(countAt(i), 0);
    store<f64>(cutAt(i), 0);
  }
}

/** Takes the number of bytes that have come, and cuts those that may go on. */
export function take(length: f64): void {
  received += length;
  cut(min(max(0, received - tail), end));
}

/** Ends a part that is joined to the chunk, and goes on with the next one. */
export function endPart(): void {
  store<f64>(sizeAt(part), load<f64>(countAt(part)));
  part++;
}

/** Takes the end of the chunk, and cuts all bytes that are held back. */
export function finish(): void {
  let rest = received;
  let open: i32 = -1;
  for (let i: u32 = 0; i < parts; i++) {
    const size = load<f64>(sizeAt(i));
    if (size == Infinity) open = i;
    else rest -= size;
  }
  if (open >= 0) store<f64>(sizeAt(open), rest);
  cut(received);
}

/** Shares the bytes that go on out among the parts, up to an offset in the chunk. */
function cut(until: f64): void {
  let going = until - passed;
  passed = until;
  firstPart = part;
  store<f64>(cutAt(part), 0);
  while (going > 0) {
    const count = load<f64>(countAt(part));
    const taken = min(going, load<f64>(sizeAt(part)) - count);
    store<f64>(cutAt(part), taken);
    store<f64>(countAt(part), count + taken);
    going -= taken;
    if (going > 0) part++;
  }
}
