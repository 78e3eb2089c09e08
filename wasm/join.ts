import { receive } from "./chunk";
import { held, passHeld, takeHeld } from "./held";
import { countAt, sizeAt } from "./parts";

// The counts of a chunk that is joined.

/** The part that the next bytes belong to. */
let part: u32 = 0;

/** Starts with the first part. */
export function startJoin(): void {
  part = 0;
}

/**
 * Counts bytes of a part that have come.
 *
 * @param isInWindow Whether they were read into the window, where the next bytes come behind them.
 * @returns 0, or 1 if the part and 2 if the chunk may not have so many.
 */
export function takePart(length: f64, isInWindow: bool): u32 {
  if (isInWindow) {
    takeHeld(<usize> length);
    passHeld(held());
  }
  const count = load<f64>(countAt(part)) + length;
  store<f64>(countAt(part), count);
  if (count > load<f64>(sizeAt(part))) return 1;
  return receive(length) ? 0 : 2;
}

/** Ends a part, and goes on with the next one; false if bytes are missing. */
export function endPart(): bool {
  const count = load<f64>(countAt(part));
  const size = load<f64>(sizeAt(part));
  if (size == Infinity) store<f64>(sizeAt(part), count);
  else if (count < size) return false;
  part++;
  return true;
}
