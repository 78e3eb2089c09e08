import { assertEquals } from "@std/assert";
import {
  encodeDirectory,
  encodeLocalHeader,
} from "../../src/zip/zip_records.ts";
import { utf8 } from "../support/documents.ts";

const MOST = 0xffffffff;
const NUMBERS = [0, 1, MOST - 1, MOST, MOST + 1, 2 ** 53 - 1];
const NAME = utf8("a");

function numbersAt(bytes: Uint8Array, ...places: [at: number, size: number][]) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return places.map(([at, size]) =>
    size === 2
      ? view.getUint16(at, true)
      : size === 4
      ? view.getUint32(at, true)
      : Number(view.getBigUint64(at, true))
  );
}

/** The numbers of the zip64 field that starts at a place, or none. */
function zip64At(bytes: Uint8Array, at: number, size: number): number[] {
  if (size === 0) return [];
  assertEquals(numbersAt(bytes, [at, 2], [at + 2, 2]), [1, size - 4]);
  const count = (size - 4) / 8;
  return Array.from(
    { length: count },
    (_, i) => numbersAt(bytes, [at + 4 + 8 * i, 8])[0]!,
  );
}

Deno.test("encodeLocalHeader writes sizes of 32 bits, and in zip64 those that need more", () => {
  for (const size of NUMBERS) {
    const entry = { name: NAME, crc: 7, size, modified: 0 };
    const bytes = encodeLocalHeader(entry);
    const isBig = size >= MOST;
    const least = Math.min(size, MOST);
    assertEquals(
      numbersAt(bytes, [4, 2], [14, 4], [18, 4], [22, 4], [26, 2], [28, 2]),
      [isBig ? 45 : 20, 7, least, least, 1, isBig ? 20 : 0],
    );
    assertEquals(zip64At(bytes, 31, isBig ? 20 : 0), isBig ? [size, size] : []);
    assertEquals(bytes.length, isBig ? 51 : 31);
  }
});

Deno.test("encodeDirectory writes sizes and offsets of 32 bits, and in zip64 those that need more", () => {
  for (const size of NUMBERS) {
    for (const offset of NUMBERS) {
      for (const start of NUMBERS) {
        const entry = { name: NAME, crc: 7, size, offset, modified: 0 };
        const bytes = encodeDirectory([entry], start, 513);
        const [extraSize = 0] = numbersAt(bytes, [30, 2]);
        const big = [
          ...size >= MOST ? [size, size] : [],
          ...offset >= MOST ? [offset] : [],
        ];
        const least = Math.min(size, MOST);
        assertEquals(
          numbersAt(bytes, [6, 2], [16, 4], [20, 4], [24, 4], [42, 4]),
          [big.length ? 45 : 20, 7, least, least, Math.min(offset, MOST)],
        );
        assertEquals(zip64At(bytes, 47, extraSize), big);
        const directorySize = 47 + extraSize;
        const isBig = start >= MOST;
        const end = bytes.subarray(directorySize + (isBig ? 76 : 0));
        assertEquals(
          numbersAt(end, [0, 4], [8, 2], [10, 2], [12, 4], [16, 4], [20, 2]),
          [0x06054b50, 1, 1, directorySize, Math.min(start, MOST), 513],
        );
        assertEquals(end.length, 22);
        if (!isBig) continue;
        const more = bytes.subarray(directorySize);
        assertEquals(
          numbersAt(more, [0, 4], [4, 8], [24, 8], [32, 8], [40, 8], [48, 8]),
          [0x06064b50, 44, 1, 1, directorySize, start],
        );
        assertEquals(
          numbersAt(more, [56, 4], [60, 4], [64, 8], [72, 4]),
          [0x07064b50, 0, start + directorySize, 1],
        );
      }
    }
  }
});
