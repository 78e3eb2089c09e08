import { crc32cByTables } from "../checksum/mod.ts";
import type { ChunkPlan, Engine } from "./engine.ts";

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
