import { endChunk, pass, receive, tail } from "./chunk";
import { held, heldStart, holdMore, passHeld, takeHeld } from "./held";
import { ANSWER } from "./memory";
import { countAt, cutAt, sizeAt } from "./parts";

// The cuts of a chunk that is split.

/** The part that the next bytes belong to. */
let part: u32 = 0;

/** Starts with the first part. */
export function startSplit(): void {
  part = 0;
}

/**
 * Takes bytes that have come, and cuts those that may go on.
 *
 * @param length How many bytes have come.
 * @param isInWindow Whether they were read into the window, not given in foreign memory.
 * @returns Whether the chunk may have so many bytes.
 */
export function take(length: f64, isInWindow: bool): bool {
  if (!receive(length)) return false;
  const going = pass();
  if (isInWindow) takeHeld(<usize> length);
  cut(going, min(going, <f64> held()));
  return true;
}

/** Takes the end of the chunk, and cuts the held bytes; false if bytes are missing. */
export function finish(): bool {
  if (!endChunk()) return false;
  cut(pass(), <f64> held());
  return true;
}

/** Where the last bytes of a piece in foreign memory are to be kept; 0 if there is no memory. */
export function keep(length: usize): usize {
  return holdMore(length, tail);
}

/** Shares bytes out among the parts, the first `inMemory` of them from this memory. */
function cut(going: f64, inMemory: f64): void {
  store<f64>(ANSWER, <f64> heldStart, 16);
  store<f64>(ANSWER, inMemory, 24);
  passHeld(<usize> inMemory);

  store<f64>(ANSWER, <f64> part);
  store<f64>(cutAt(part), 0);
  while (going > 0) {
    const count = load<f64>(countAt(part));
    const taken = min(going, load<f64>(sizeAt(part)) - count);
    store<f64>(cutAt(part), taken);
    store<f64>(countAt(part), count + taken);
    going -= taken;
    if (going > 0) part++;
  }
  store<f64>(ANSWER, <f64> part, 8);
}
