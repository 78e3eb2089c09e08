// The layout of the windows, as in `wasm/windows.ts`.
const COUNT = 4;
/**
 * Twice as many bytes take half as many calls of other threads. A write of 2 MiB or more
 * would have Linux look for 2 MiB of memory in one piece, for which a virtual machine may
 * have to ask its host: that takes up to ten times as long.
 */
const SIZE = 31 * 64 * 1024;
const LEAST_ROOM = 64 * 1024;

/** The most bytes that can be held back in front of a window. */
export const MOST_HELD = 256 * 1024;

const STRIDE = MOST_HELD + SIZE;

/** Unused windows for later chunks, which take at most 35 MiB. */
const idle: Uint8Array[] = [];
const MOST_IDLE = 4;

/** Windows in memory of JavaScript, which readers fill and writers write from. */
export class NativeWindows {
  readonly #memory: Uint8Array;
  #current = 0;
  /** The bytes from `heldStart` to `heldEnd` have come and may not go on yet. */
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

/** The steps by which {@linkcode pump} passes each piece on. */
interface Steps<T> {
  /** Resolves to the next piece, or to `undefined` at the end. */
  read(): Promise<Uint8Array | undefined>;
  /** Takes a piece, before the next one is read. */
  take(piece: Uint8Array): T;
  /**
   * Sums up and writes what `take` returned, while the next piece is read. Called in
   * the order of the pieces. `before` resolves once the previous piece is written, which
   * must be awaited before writing.
   */
  write(taken: T, before: Promise<void>): Promise<void>;
}

/** A running {@linkcode pump}. */
interface Pumping {
  /** Resolves when all pieces are written, and rejects with the first failure, also while `read` stalls. */
  readonly done: Promise<void>;
  /** Resolves when the last read and the last write have ended, also after a failure. */
  readonly settled: Promise<void>;
}

/**
 * Passes all pieces on: while one is read, the one before is summed up and the one
 * before that is written.
 *
 * @param signal Ends the work with its reason after the piece that is being read.
 */
export function pump<T>(
  steps: Steps<T>,
  signal: AbortSignal | undefined,
): Pumping {
  let fail!: (reason: unknown) => void;
  let finish!: () => void;
  const done = new Promise<void>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
  let hasFailed = false;
  let before = Promise.resolve();
  let writing = before;

  function stop(reason: unknown): void {
    hasFailed = true;
    fail(reason);
  }

  function read(): Promise<Uint8Array | undefined> {
    const reading = steps.read();
    reading.catch(() => {}); // Handled once the piece before is written.
    return reading;
  }

  async function passAll(): Promise<void> {
    let reading = read();
    try {
      while (true) {
        const piece = await reading;
        // A source that was cancelled looks as if it had ended.
        signal?.throwIfAborted();
        if (hasFailed || piece === undefined) break;
        const taken = steps.take(piece);
        reading = read();
        before = writing;
        writing = steps.write(taken, before);
        writing.catch(stop);
        await before;
      }
      await writing;
      finish();
    } catch (error) {
      stop(error);
      await Promise.allSettled([reading, before, writing]);
    }
  }
  return { done, settled: passAll() };
}
