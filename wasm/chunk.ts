import { countAt, parts, sizeAt } from "./parts";

// The length of one chunk that is split or joined: what it must be, and how many
// bytes have come and gone on.

/** The chunk's length; -1 while it is not known. */
let total: f64 = 0;
/** The least and the most bytes that the chunk may have. */
let least: f64 = 0;
let most: f64 = 0;
/** How many of the last bytes only go on at the end: where the length is known, and where it is not. */
let withheld: f64 = 0;
export let tail: f64 = 0;
/** How many bytes the parts with a size take together. */
let sized: f64 = 0;
/** The part whose size only shows at the end of a split; -1 if there is none. */
let open: i32 = -1;

let received: f64 = 0;
let passed: f64 = 0;

/**
 * Starts a chunk. The sizes stand in the table of parts, -1 for none.
 *
 * @param length The length of the chunk; -1 if it is not known.
 * @param last How many of the last bytes only go on at the end.
 * @param isSplit Whether the chunk is cut into its parts, not joined from them.
 */
export function startChunk(length: f64, last: f64, isSplit: bool): void {
  received = 0;
  passed = 0;
  withheld = last;
  sized = 0;
  open = -1;
  let behind: f64 = 0;
  for (let part: u32 = 0; part < parts; part++) {
    const size = load<f64>(sizeAt(part));
    store<f64>(countAt(part), 0);
    if (size >= 0) {
      sized += size;
      behind += size;
    } else {
      store<f64>(sizeAt(part), Infinity);
      open = part;
      behind = 0;
    }
  }
  total = length >= 0 || open >= 0 ? length : sized;
  tail = isSplit ? max(last, behind) : last;
  least = max(last, total >= 0 ? total : isSplit ? sized : 0);
  most = total >= 0 ? total : Infinity;
  if (!isSplit) open = -1;
  else if (total >= 0) closeOpenPart(total);
}

/** Gives the part without a size what the others leave of a length. */
function closeOpenPart(length: f64): void {
  if (open >= 0) store<f64>(sizeAt(open), length - sized);
  open = -1;
}

/** Counts bytes that have come; false if the chunk may not have so many. */
export function receive(length: f64): bool {
  received += length;
  return received <= most;
}

/** Ends the chunk; false if it may not have so few bytes. */
export function endChunk(): bool {
  if (received < least) return false;
  closeOpenPart(received);
  withheld = 0;
  tail = 0;
  return true;
}

/** How many bytes may have gone on by now. */
export function passable(): f64 {
  return total >= 0
    ? max(0, min(received, total - withheld))
    : max(0, received - tail);
}

/** Lets all bytes go on that may, and tells how many these are. */
export function pass(): f64 {
  const going = passable() - passed;
  passed += going;
  return going;
}
