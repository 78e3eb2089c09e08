/** The layout of the windows, as `wasm/windows.ts` describes it. */
const COUNT = 4;
const SIZE = 1024 * 1024;
const LEAST_ROOM = 64 * 1024;

/** The most bytes that can be held back in front of a window. */
export const MOST_HELD = 256 * 1024;

const STRIDE = MOST_HELD + SIZE;

/** Windows that nobody uses, to be used again: at most 30 MiB. */
const idle: Uint8Array[] = [];
const MOST_IDLE = 6;

/** Memory that readers fill and writers write from, in plain JavaScript. */
export class NativeWindows {
  readonly #memory: Uint8Array;
  #current = 0;
  /** The bytes that have come and may not go on yet: from `heldStart` to `heldEnd`. */
  heldStart = MOST_HELD;
  heldEnd = MOST_HELD;

  constructor() {
    this.#memory = idle.pop() ?? new Uint8Array(COUNT * STRIDE);
  }

  /** Whether bytes lie in a window. */
  has(bytes: Uint8Array): boolean {
    return bytes.buffer === this.#memory.buffer;
  }

  /** Returns free memory behind the held bytes, in the next window if this one is full. */
  window(): Uint8Array {
    const end = this.#current * STRIDE + STRIDE;
    if (end - this.heldEnd >= LEAST_ROOM) {
      return this.#memory.subarray(this.heldEnd, end);
    }
    this.#current = (this.#current + 1) % COUNT;
    const start = this.#current * STRIDE + MOST_HELD;
    const held = this.heldEnd - this.heldStart;
    this.#memory.copyWithin(start - held, this.heldStart, this.heldEnd);
    this.heldStart = start - held;
    this.heldEnd = start;
    return this.#memory.subarray(start, start + SIZE);
  }

  /** Takes bytes that were read into the window. */
  take(length: number): void {
    this.heldEnd += length;
  }

  /** Returns the first of the held bytes, which are not held any more. */
  pass(length: number): Uint8Array {
    const start = this.heldStart;
    this.heldStart += length;
    return this.#memory.subarray(start, this.heldStart);
  }

  /** Gives the memory back. */
  release(): void {
    if (idle.length < MOST_IDLE) idle.push(this.#memory);
  }
}
