import { tableEnd } from "./parts";

// Bytes that have come and may not go on yet, from `heldStart` to `heldEnd`. They
// lie in an area of their own, or in the windows.

export let heldStart: usize = 0;
export let heldEnd: usize = 0;

/** How many bytes are held. */
export function held(): usize {
  return heldEnd - heldStart;
}

/** Takes bytes that lie behind the held ones. */
export function takeHeld(length: usize): void {
  heldEnd += length;
}

/** Lets the first of the held bytes go on. */
export function passHeld(length: usize): void {
  heldStart += length;
}

/** Moves the held bytes so that they end or start at a place. */
export function moveHeld(start: usize): void {
  const length = held();
  memory.copy(start, heldStart, length);
  heldStart = start;
  heldEnd = start + length;
}

/** Makes the memory reach at least so far. Views of it in JavaScript are detached if it grows. */
export function reserve(end: f64): bool {
  if (end > 4294967295) return false;
  const missing = <i32> ((<u64> end + 0xffff) >>> 16) - memory.size();
  return missing <= 0 || memory.grow(missing) >= 0;
}

/** Where the area of held bytes ends. */
let areaEnd: usize = 0;

/** Holds nothing, in an area that has no room yet. */
export function clearHeld(): void {
  heldStart = heldEnd = areaEnd = tableEnd();
}

/**
 * Makes room for more bytes behind the held ones.
 *
 * @param most The most bytes that will ever be held at once, with these.
 * @returns Where the bytes belong, or 0 if there is no memory.
 */
export function holdMore(length: usize, most: f64): usize {
  if (heldEnd + length > areaEnd) {
    const needed = held() + length;
    // The area is half as large again, so that held bytes seldom move.
    const wanted = <f64> tableEnd() + 0x10000 +
      1.5 *
        (<f64> (areaEnd - tableEnd()) < 1.5 * <f64> needed
          ? min(most, 2 * <f64> needed)
          : 0);
    if (!reserve(wanted)) return 0;
    areaEnd = max(areaEnd, <usize> wanted);
    moveHeld(tableEnd());
  }
  const place = heldEnd;
  heldEnd += length;
  return place;
}
