import type { Deadline } from "./deadline.ts";
import { type Validators, validatorsOf } from "./validators.ts";

/** The most bytes that an answer keeps in memory, apart from those of the next piece. */
export const WINDOW: number = 4 * 1024 * 1024;

/** Bytes that follow one another. */
export type Pieces = readonly Uint8Array[];

/** Part of a value: in memory, or a stream for more than one window. */
export type Body = Pieces | ReadableStream<Uint8Array>;

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
  /** Fills memory with the bytes from `start` at once; returns `false` if `open` must be called. */
  readNow?(start: number, memory: Uint8Array): boolean;
  /**
   * Opens the bytes from `start` to `end`, of which there is at least one. Returns
   * `undefined` if the value has changed since it was looked up.
   */
  open(
    start: number,
    end: number,
    deadline: Deadline,
  ): Promise<Body | undefined>;
  /** Ends the use of the value, unless a stream is open: it does so at its end. */
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
