import type { Component } from "./frame.ts";
import type { Plane } from "./planes.ts";

/** Writes row `y` of the picture into `line`, from a component with fewer samples. */
export type Upsampler = (y: number, line: Uint8Array) => void;

/**
 * Makes the samples of a component as many as the picture has pixels, as libjpeg does
 * by default ("fancy upsampling"): each is three parts of the nearest sample and one
 * part of the next one, where there are half as many. Others are repeated.
 */
export function upsampler(
  plane: Plane,
  component: Component,
  ratioX: number,
  ratioY: number,
): Upsampler {
  const { samples, stride } = plane;
  const { width, height } = component;
  const rowOf = (y: number) => {
    const start = Math.min(Math.max(y, 0), height - 1) * stride;
    return samples.subarray(start, start + width);
  };
  const isHalf = ratioX === 2 && width > 2;
  if (ratioX === 1 && ratioY === 1) {
    return (y, line) => line.set(rowOf(y));
  }
  if (isHalf && ratioY === 1) return (y, line) => widen(rowOf(y), line);
  const nextRow = (y: number) => rowOf((y >> 1) + (y % 2 === 0 ? -1 : 1));
  if (ratioX === 1 && ratioY === 2) {
    return (y, line) => mixRows(rowOf(y >> 1), nextRow(y), 1 + y % 2, line);
  }
  if (isHalf && ratioY === 2) {
    return (y, line) => widenRows(rowOf(y >> 1), nextRow(y), line);
  }
  return (y, line) => {
    const row = rowOf(Math.floor(y / ratioY));
    for (let x = 0; x < width * ratioX; x++) {
      line[x] = row[Math.floor(x / ratioX)]!;
    }
  };
}

type Row = Uint8ClampedArray;

function mixRows(
  near: Row,
  next: Row,
  rounding: number,
  line: Uint8Array,
): void {
  for (let x = 0; x < near.length; x++) {
    line[x] = 3 * near[x]! + next[x]! + rounding >> 2;
  }
}

function widen(row: Row, line: Uint8Array): void {
  const end = row.length - 1;
  line[0] = row[0]!;
  line[1] = 3 * row[0]! + row[1]! + 2 >> 2;
  for (let x = 1; x < end; x++) {
    const near = 3 * row[x]!;
    line[2 * x] = near + row[x - 1]! + 1 >> 2;
    line[2 * x + 1] = near + row[x + 1]! + 2 >> 2;
  }
  line[2 * end] = 3 * row[end]! + row[end - 1]! + 1 >> 2;
  line[2 * end + 1] = row[end]!;
}

function widenRows(near: Row, next: Row, line: Uint8Array): void {
  const end = near.length - 1;
  let before = 3 * near[0]! + next[0]!;
  let here = before;
  for (let x = 0; x <= end; x++) {
    const after = x < end ? 3 * near[x + 1]! + next[x + 1]! : here;
    line[2 * x] = 3 * here + before + 8 >> 4;
    line[2 * x + 1] = 3 * here + after + 7 >> 4;
    before = here;
    here = after;
  }
}
