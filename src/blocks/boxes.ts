import type { ChunkBlock } from "../threads/mod.ts";
import type { ElementForm } from "./element_form.ts";

/** A part of an array. */
export interface Box {
  /** The first element along each dimension. */
  readonly start: readonly number[];
  /** The end along each dimension, after the last element. */
  readonly stop: readonly number[];
}

/** Some coordinates of a grid. */
export interface GridRange {
  readonly first: readonly number[];
  readonly counts: readonly number[];
}

/** The chunks of a grid that have elements of a box. */
export function rangeOf(
  { start, stop }: Box,
  lengths: readonly number[],
): GridRange {
  const first = start.map((n, i) => Math.floor(n / lengths[i]!));
  const counts = stop.map((n, i) =>
    Math.max(0, Math.ceil(n / lengths[i]!) - first[i]!)
  );
  return { first, counts };
}

/** The coordinates of a range, in C order. */
export function* coordinatesIn(
  { first, counts }: GridRange,
): Generator<number[]> {
  if (counts.includes(0)) return;
  const coordinates = [...first];
  while (true) {
    yield [...coordinates];
    let i = counts.length - 1;
    while (i >= 0 && ++coordinates[i]! === first[i]! + counts[i]!) {
      coordinates[i] = first[i]!;
      i--;
    }
    if (i < 0) return;
  }
}

/** The place of coordinates in a range, in C order. */
export function placeIn(
  { first, counts }: GridRange,
  coordinates: readonly number[],
): number {
  return coordinates.reduce(
    (place, c, i) => place * counts[i]! + c - first[i]!,
    0,
  );
}

/** The elements of a block, in C order. */
export class BlockMemory {
  readonly bytes: Uint8Array;
  readonly #box: Box;
  readonly #form: ElementForm;
  readonly #strides: readonly number[];

  constructor(box: Box, form: ElementForm, bytes: Uint8Array) {
    this.bytes = bytes;
    this.#box = box;
    this.#form = form;
    const strides = new Array<number>(box.start.length);
    let step = form.count;
    for (let i = strides.length - 1; i >= 0; i--) {
      strides[i] = step;
      step *= box.stop[i]! - box.start[i]!;
    }
    this.#strides = form.count > 1 ? [...strides, 1] : strides;
  }

  /** The elements of a chunk that are in the block. */
  blockOf(
    coordinates: readonly number[],
    chunkShape: readonly number[],
  ): ChunkBlock {
    const { start, stop } = this.#box;
    const counts: number[] = [];
    const starts: number[] = [];
    let offset = 0;
    for (let i = 0; i < start.length; i++) {
      const chunkStart = coordinates[i]! * chunkShape[i]!;
      const first = Math.max(start[i]!, chunkStart);
      const last = Math.min(stop[i]!, chunkStart + chunkShape[i]!);
      counts.push(last - first);
      starts.push(first - chunkStart);
      offset += (first - start[i]!) * this.#strides[i]!;
    }
    if (this.#form.count > 1) {
      counts.push(this.#form.count);
      starts.push(0);
    }
    return {
      bytes: this.bytes,
      offset,
      strides: this.#strides,
      counts,
      starts,
      steps: counts.map(() => 1),
    };
  }
}
