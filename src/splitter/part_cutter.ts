import { HoldBack } from "./hold_back.ts";

/** Bytes of one part. */
export interface Cut {
  /** The part's place in the list of parts. */
  readonly part: number;
  readonly bytes: Uint8Array;
  /** Whether the bytes were held back, and so lie in memory of their own. */
  readonly isHeld: boolean;
}

/** What a {@linkcode PartCutter} goes by. */
export interface CutterOptions {
  /** How many bytes will come, if that is known. */
  total?: number | undefined;
  /** How many of the last bytes are only given by `finish`, whatever part they are of. */
  withheld?: number;
}

/**
 * Cuts bytes that come in pieces into parts, of which at most one has no size.
 * Where it is not known how many bytes will come, as many of the last ones are
 * held back as the parts after that one take. That the bytes fit the parts is
 * for the caller to see to.
 */
export class PartCutter {
  readonly #sizes: number[];
  /** The part without a size while that is not known, else −1. */
  #open: number;
  readonly #held: HoldBack;
  /** How many more bytes need not be held back. */
  #free: number;
  #received = 0;
  /** The part that is being filled, and how much of it is. */
  #part = 0;
  #filled = 0;

  constructor(
    sizes: readonly (number | undefined)[],
    { total, withheld = 0 }: CutterOptions = {},
  ) {
    const sized = sum(sizes);
    this.#open = sizes.indexOf(undefined);
    if (this.#open >= 0 && total !== undefined) {
      sizes = sizes.with(this.#open, total - sized);
      this.#open = -1;
    }
    this.#sizes = sizes.map((size) => size ?? Infinity);
    if (this.#open < 0) {
      const length = total ?? sized;
      this.#free = Math.max(0, length - withheld);
      this.#held = new HoldBack(Math.min(withheld, length));
    } else {
      const tail = sum(sizes.slice(this.#open + 1));
      this.#free = 0;
      this.#held = new HoldBack(Math.max(withheld, tail));
    }
  }

  /** Takes a piece, and gives what is certain by now. */
  *cut(piece: Uint8Array): Iterable<Cut> {
    this.#received += piece.length;
    const free = piece.subarray(0, this.#free);
    this.#free -= free.length;
    yield* this.#assign(free, false);
    const { held, passing } = this.#held.exchange(piece.subarray(free.length));
    yield* this.#assign(held, true);
    yield* this.#assign(passing, false);
  }

  /** Gives the rest, now that all has come. */
  *finish(): Iterable<Cut> {
    if (this.#open >= 0) {
      const sized = sum(this.#sizes.toSpliced(this.#open, 1));
      this.#sizes[this.#open] = this.#received - sized;
    }
    yield* this.#assign(this.#held.release(), true);
  }

  *#assign(bytes: Uint8Array, isHeld: boolean): Iterable<Cut> {
    while (bytes.length > 0) {
      const room = this.#sizes[this.#part]! - this.#filled;
      const taken = bytes.subarray(0, room);
      if (taken.length > 0) yield { part: this.#part, bytes: taken, isHeld };
      this.#filled += taken.length;
      bytes = bytes.subarray(taken.length);
      if (bytes.length > 0) {
        this.#part++;
        this.#filled = 0;
      }
    }
  }
}

function sum(sizes: readonly (number | undefined)[]): number {
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}
