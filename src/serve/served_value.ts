import { type Validators, validatorsOf } from "./conditions.ts";
import type { Deadline } from "./deadline.ts";

/** The most bytes that an answer keeps in memory, apart from those of the next piece. */
export const WINDOW: number = 4 * 1024 * 1024;

/** Bytes that follow one another. */
export type Pieces = readonly Uint8Array[];

/** Part of a value: in memory, or read while it is sent. */
export type Body = Pieces | AsyncIterator<Uint8Array, void>;

/** Returns the number of bytes in pieces. */
export function lengthOf(pieces: Pieces): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** A present value that a request asks for. */
export interface Value {
  /** The length in bytes. */
  readonly size: number;
  readonly validators: Validators;
  /** Asks whether the value has not changed since it was looked up. */
  isCurrent(deadline: Deadline): Promise<boolean>;
  /**
   * Opens the bytes from `start` to `end`, of which there is at least one. Returns
   * `undefined` if the value has changed since it was looked up.
   */
  open(
    start: number,
    end: number,
    deadline: Deadline,
  ): Promise<Body | undefined>;
  /** Ends the use of the value. */
  release(): void;
}

/** Returns a value in memory. */
export function valueInMemory(
  bytes: Uint8Array,
  tag: string | undefined,
): Value {
  return {
    size: bytes.length,
    validators: validatorsOf(tag),
    isCurrent: () => Promise.resolve(true),
    open: (start, end) => Promise.resolve([bytes.slice(start, end)]),
    release() {},
  };
}

/** The longest body that is read at once, in bytes. A stream takes longer than a copy of one. */
export const SHORT: number = 64 * 1024;

/**
 * Streams the bytes of a value. Fewer or more bytes than `length` are an error of the
 * stream, which ends the connection.
 *
 * @param pieces The bytes, in memory or as they are read. `return` is called at the end.
 * @param ended Called once, at the end.
 */
export function streamOf(
  pieces: Body,
  length: number,
  deadline: Deadline,
  ended: () => void,
): ReadableStream<Uint8Array> {
  const iterator: Iterator<Uint8Array> | AsyncIterator<Uint8Array> =
    "next" in pieces ? pieces : pieces[Symbol.iterator]();
  let missing = length;
  let hasEnded = false;
  const end = async () => {
    if (hasEnded) return;
    hasEnded = true;
    await iterator.return?.();
    ended();
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        let next = await iterator.next();
        while (!next.done && next.value.length === 0) {
          next = await iterator.next();
        }
        if (!next.done) missing -= next.value.length;
        if (next.done || missing < 0) throw changedError();
        controller.enqueue(next.value);
        if (missing > 0) return;
      } catch (error) {
        deadline.fail(error);
        await end();
        throw error;
      }
      controller.close();
      await end();
    },
    async cancel(reason) {
      deadline.abort(reason);
      await end();
    },
  }, { highWaterMark: 0 });
}

function changedError(): Error {
  return new Error("The value has changed while it was sent");
}

/**
 * Reads bytes window by window, at most one window ahead of the client. A window of fewer
 * bytes is an error.
 *
 * @param first The first window, which is in memory.
 * @param read Reads the bytes from `start` to `end`; `undefined` if the value has changed.
 */
export async function* windows(
  first: Pieces,
  start: number,
  end: number,
  read: (start: number, end: number) => Promise<Pieces | undefined>,
): AsyncGenerator<Uint8Array, void> {
  let pieces = first;
  let next = start + lengthOf(first);
  while (true) {
    const length = Math.min(WINDOW, end - next);
    const coming = length === 0 ? undefined : read(next, next + length);
    coming?.catch(() => {}); // Handled when the client asks for the window.
    yield* pieces;
    if (coming === undefined) return;
    const found = await coming;
    if (found === undefined || lengthOf(found) !== length) throw changedError();
    pieces = found;
    next += length;
  }
}
