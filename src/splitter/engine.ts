import { crc32cByTables } from "../checksum/mod.ts";

/** The lengths by which an engine cuts a chunk, in bytes. */
export interface ChunkPlan {
  /** The sizes of the parts in their order; infinite for one that is not known yet. */
  readonly sizes: readonly number[];
  /** How many of the bytes that came last are always held back. */
  readonly tail: number;
  /** Where the bytes begin that are held back to the end; infinite if there are none. */
  readonly end: number;
}

/**
 * Cuts one chunk into its parts, or counts the parts that it is joined from, and computes
 * checksums. An engine never sees more than the lengths of what it does not sum up:
 * {@linkcode Splitter} moves the bytes, and checks lengths before the engine is told them.
 */
export interface Engine {
  /** Memory of the engine for windows, which it sums up without copying it. Called at most once. */
  windows(): Uint8Array[];
  /** Takes the length of the next bytes, and cuts what may go on: from now on from `firstPart` to `lastPart`. */
  take(length: number): void;
  /** Ends the present part of a chunk that is joined. */
  endPart(): void;
  /** Takes the end of the chunk, and cuts what was held back. */
  finish(): void;
  /** The first and the last of the parts to which `take` or `finish` cut bytes. */
  readonly firstPart: number;
  readonly lastPart: number;
  /** How many bytes were cut for a part from `firstPart` to `lastPart`. */
  cutLength(part: number): number;
  /** The length of a part so far. */
  partLength(part: number): number;
  /** Adds bytes to the checksum of their part. Called for all of them in their order, if at all. */
  sum(part: number, bytes: Uint8Array): void;
  /** Returns the CRC32C of each part, once all bytes are summed up. */
  checksums(): number[];
  /** Gives the memory back. Neither the engine nor its windows may be used afterwards. */
  release(): void;
}

/** Starts an engine for a chunk. */
export type OpenEngine = (plan: ChunkPlan) => Engine;

/** Starts the engine in TypeScript. */
export function openNative(plan: ChunkPlan): Engine {
  return new NativeEngine(plan);
}

class NativeEngine implements Engine {
  /** The sizes of the parts; infinite while a size is not known. */
  readonly #sizes: number[];
  readonly #lengths: number[];
  readonly #cuts: number[];
  readonly #checksums: number[];
  readonly #tail: number;
  readonly #end: number;
  #received = 0;
  #passed = 0;
  /** The part to which the next bytes belong. */
  #part = 0;
  firstPart = 0;

  constructor({ sizes, tail, end }: ChunkPlan) {
    this.#sizes = [...sizes];
    this.#lengths = sizes.map(() => 0);
    this.#cuts = sizes.map(() => 0);
    this.#checksums = sizes.map(() => 0);
    this.#tail = tail;
    this.#end = end;
  }

  windows(): Uint8Array[] {
    return [];
  }

  take(length: number): void {
    this.#received += length;
    this.#cut(Math.min(Math.max(0, this.#received - this.#tail), this.#end));
  }

  endPart(): void {
    this.#sizes[this.#part] = this.#lengths[this.#part]!;
    this.#part++;
  }

  finish(): void {
    let rest = this.#received;
    for (const size of this.#sizes) if (size < Infinity) rest -= size;
    const open = this.#sizes.indexOf(Infinity);
    if (open >= 0) this.#sizes[open] = rest;
    this.#cut(this.#received);
  }

  get lastPart(): number {
    return this.#part;
  }

  cutLength(part: number): number {
    return this.#cuts[part]!;
  }

  partLength(part: number): number {
    return this.#lengths[part]!;
  }

  sum(part: number, bytes: Uint8Array): void {
    this.#checksums[part] = crc32cByTables(bytes, this.#checksums[part]!);
  }

  checksums(): number[] {
    return this.#checksums;
  }

  release(): void {}

  /** Assigns the bytes that go on to their parts, up to an offset in the chunk. */
  #cut(until: number): void {
    let going = until - this.#passed;
    this.#passed = until;
    this.firstPart = this.#part;
    this.#cuts[this.#part] = 0;
    while (going > 0) {
      const part = this.#part;
      const length = this.#lengths[part]!;
      const taken = Math.min(going, this.#sizes[part]! - length);
      this.#cuts[part] = taken;
      this.#lengths[part] = length + taken;
      going -= taken;
      if (going > 0) this.#part++;
    }
  }
}
