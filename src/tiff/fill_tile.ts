import { encodeStored } from "./encode_stored.ts";
import type { TiffArray } from "./tiff_array.ts";

/** Encodes a tile of fill values as TIFF readers expect tiles of the array. */
export function fillTile(array: TiffArray): Uint8Array {
  return encodeStored(predicted(array), array.compression);
}

/** The tile after the predictor of the array. */
function predicted(
  { tileShape, axes, fillBytes, predictor }: TiffArray,
): Uint8Array {
  const size = fillBytes.length;
  const samples = axes.bands === axes.x + 1 ? tileShape[axes.bands]! : 1;
  const rowSize = tileShape[axes.x]! * samples * size;
  const row = new Uint8Array(rowSize);
  for (let at = 0; at < rowSize; at++) {
    if (predictor === 3) {
      // Bytes of the same weight lie together, the highest first.
      row[at] = fillBytes[size - 1 - Math.floor(at * size / rowSize)]!;
    } else if (predictor === 1 || at < samples * size) {
      row[at] = fillBytes[at % size]!; // All other differences are 0.
    }
  }
  if (predictor === 3) {
    for (let at = rowSize - 1; at >= samples; at--) {
      row[at] = row[at]! - row[at - samples]!;
    }
  }
  const tile = new Uint8Array(rowSize * tileShape[axes.y]!);
  for (let at = 0; at < tile.length; at += rowSize) tile.set(row, at);
  return tile;
}
