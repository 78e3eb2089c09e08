import { held, heldEnd, moveHeld, reserve } from "./held";
import { tableEnd } from "./parts";

// Memory that readers fill and writers write from. While one window is filled,
// bytes of the two before it may still wait to be summed up or written, so there
// are four. Bytes that are held back move in front of the next window: they and
// what is read there go on in one write.

const COUNT: u32 = 4;
const SIZE: usize = 0x1f0000;
/** A window with less room left than this is full. */
const LEAST_ROOM: usize = 0x10000;
/** The most bytes that fit in front of a window. */
export const MOST_HELD: usize = 0x40000;

/** Which window is filled; one beyond the last if there are none yet. */
let current: u32 = COUNT;

/** Forgets the windows. */
export function clearWindows(): void {
  current = COUNT;
}

function startOf(index: u32): usize {
  return tableEnd() + <usize> index * (MOST_HELD + SIZE) + MOST_HELD;
}

/** Where the next bytes are to be read to; 0 if there is no memory. */
export function window(): usize {
  if (current == COUNT) {
    if (!reserve(<f64> (startOf(COUNT) - MOST_HELD))) return 0;
    current = 0;
    moveHeld(startOf(0) - held());
  } else if (windowRoom() < LEAST_ROOM) {
    current = (current + 1) % COUNT;
    moveHeld(startOf(current) - held());
  }
  return heldEnd;
}

/** How many bytes fit there. */
export function windowRoom(): usize {
  return startOf(current) + SIZE - heldEnd;
}
