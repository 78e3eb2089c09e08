/** How many windows are in use at once: while one is filled, bytes of the two before it may wait to be summed up or written. */
export const WINDOW_COUNT = 4;
/**
 * How many bytes are read into a window. Twice as many take half as many calls of other
 * threads. A write of 2 MiB or more would have Linux look for 2 MiB of memory in one piece,
 * for which a virtual machine may have to ask its host: that takes up to ten times as long.
 */
const SIZE = 30 * 64 * 1024;
/** Room in front of a window for bytes that are held back, so that they go on in one write with those read behind them. */
const FRONT = 64 * 1024;
/** The length of the memory of a window. */
export const WINDOW_LENGTH = FRONT + SIZE;
/** A window with less room left than this is full. */
const LEAST_ROOM = 64 * 1024;

/**
 * Large memory of JavaScript begins 16 bytes behind the start of a page. Some processors of
 * AMD copy bytes of a file, which begin at the start of a page, three times as slowly there.
 */
const ALIGNMENT = 48;

/** Unused windows for later chunks, which take at most 31 MiB. */
const idle: Uint8Array[] = [];
const MOST_IDLE = 16;

/** Memory that readers fill and writers write from. Bytes that are held back stay in it. */
export class Windows {
  /** Windows of an engine, which are used first, and those of JavaScript. */
  readonly #given: Uint8Array[];
  readonly #own: Uint8Array[] = [];
  /** The windows in use, in the order in which they were filled. */
  readonly #filled: Uint8Array[] = [];
  /** Where the next bytes belong in the last of them. */
  #end = 0;
  /** The bytes that are held back, in their order. */
  #held: Uint8Array[] = [];

  /** @param given Memory to use first, each `WINDOW_LENGTH` long. */
  constructor(given: Uint8Array[]) {
    this.#given = given;
  }

  /**
   * Returns free memory, at least 64 KiB. Bytes read there stay as they are until they have
   * gone on, and three more windows are full.
   */
  window(): Uint8Array {
    const current = this.#filled.at(-1);
    if (current === undefined || current.length - this.#end < LEAST_ROOM) {
      return this.#next().subarray(this.#end);
    }
    return current.subarray(this.#end);
  }

  /** Holds bytes back. Those at the start of `window()` stay where they are, others are copied. */
  hold(bytes: Uint8Array): void {
    if (bytes.length > 0 && this.has(bytes)) return this.#take(bytes.length);
    for (let start = 0; start < bytes.length;) {
      const room = this.window();
      const piece = bytes.subarray(start, start + room.length);
      room.set(piece);
      this.#take(piece.length);
      start += piece.length;
    }
  }

  /** Whether bytes lie where the window is filled next. */
  has(bytes: Uint8Array): boolean {
    const current = this.#filled.at(-1);
    return bytes.buffer === current?.buffer &&
      bytes.byteOffset === current.byteOffset + this.#end;
  }

  /** Returns the first held bytes, up to a number of them, which are not held any more. */
  pass(length: number): Uint8Array[] {
    const passed: Uint8Array[] = [];
    while (length > 0 && this.#held.length > 0) {
      const bytes = this.#held[0]!.subarray(0, length);
      const rest = this.#held[0]!.subarray(bytes.length);
      if (rest.length > 0) this.#held[0] = rest;
      else this.#held.shift();
      passed.push(bytes);
      length -= bytes.length;
    }
    return passed;
  }

  /** Gives the memory back. */
  release(): void {
    for (const memory of this.#own) {
      if (idle.length < MOST_IDLE) idle.push(memory);
    }
  }

  /** Holds the next bytes of the window. */
  #take(length: number): void {
    const { buffer, byteOffset } = this.#filled.at(-1)!;
    let start = byteOffset + this.#end;
    this.#end += length;
    const last = this.#held.at(-1);
    if (last?.buffer === buffer && last.byteOffset + last.length === start) {
      this.#held.pop();
      start = last.byteOffset;
    }
    const end = byteOffset + this.#end;
    this.#held.push(new Uint8Array(buffer, start, end - start));
  }

  /** Goes on to the next window, with the held bytes in front if they fit there. */
  #next(): Uint8Array {
    const length = this.#held.reduce((sum, bytes) => sum + bytes.length, 0);
    const oldest = length > FRONT ? this.#held[0]! : undefined;
    const passed = oldest === undefined
      ? this.#filled.length
      : this.#filled.findIndex((memory) => isWithin(memory, oldest));
    const memory = passed >= WINDOW_COUNT
      ? this.#filled.shift()!
      : this.#given.shift() ?? this.#allocate();
    this.#filled.push(memory);
    this.#end = FRONT;
    if (0 < length && length <= FRONT) {
      const front = memory.subarray(FRONT - length, FRONT);
      let end = 0;
      for (const bytes of this.#held) {
        front.set(bytes, end);
        end += bytes.length;
      }
      this.#held = [front];
    }
    return memory;
  }

  #allocate(): Uint8Array {
    const memory = idle.pop() ??
      new Uint8Array(ALIGNMENT + WINDOW_LENGTH).subarray(ALIGNMENT);
    this.#own.push(memory);
    return memory;
  }
}

function isWithin(memory: Uint8Array, bytes: Uint8Array): boolean {
  const start = bytes.byteOffset - memory.byteOffset;
  return bytes.buffer === memory.buffer && start >= 0 && start < memory.length;
}
