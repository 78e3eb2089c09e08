import { assertEquals, assertThrows } from "@std/assert";
import { zstdFrames } from "../../src/codecs/zstd_codec.ts";

const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];
/** A raw block of 2 bytes, the last one of its frame. */
const LAST = [0b10_001, 0, 0, 7, 8];
/** A block of 5 bytes of 9, and more blocks after it. */
const RLE = [0b101_010, 0, 0, 9];
const SKIPPABLE = [0x5f, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];

const WHOLE: Record<string, [number[], { contentSize?: number }[]]> = {
  "a window and no content size": [[...MAGIC, 0, 0, ...LAST], [{}]],
  "a content size of 1 byte": [[...MAGIC, 0x20, 2, ...LAST], [
    { contentSize: 2 },
  ]],
  "a content size of 2 bytes, which starts at 256": [
    [...MAGIC, 0x60, 1, 0, 0b100000001_011 & 255, 8, 0, 9],
    [{ contentSize: 257 }],
  ],
  "a content size of 4 bytes": [[...MAGIC, 0xa0, 2, 0, 0, 0, ...LAST], [
    { contentSize: 2 },
  ]],
  "a content size of 8 bytes": [
    [...MAGIC, 0xe0, 2, 0, 0, 0, 0, 0, 0, 0, ...LAST],
    [{ contentSize: 2 }],
  ],
  "a dictionary of 4 bytes and a checksum": [
    [...MAGIC, 7, 0, 1, 2, 3, 4, ...LAST, 1, 2, 3, 4],
    [{}],
  ],
  "two blocks": [[...MAGIC, 0x20, 7, ...RLE, ...LAST], [{ contentSize: 7 }]],
  "a skippable frame before and after": [
    [...SKIPPABLE, ...MAGIC, 0, 0, ...LAST, ...SKIPPABLE],
    [{}],
  ],
  "two frames": [
    [...MAGIC, 0, 0, ...LAST, ...MAGIC, 0x20, 2, ...LAST],
    [{}, { contentSize: 2 }],
  ],
};

for (const [name, [bytes, expected]] of Object.entries(WHOLE)) {
  Deno.test(`zstdFrames finds frames with ${name}, and refuses them at each cut`, () => {
    const found = zstdFrames(new Uint8Array(bytes));
    assertEquals(
      found.map(({ contentSize }) =>
        contentSize === undefined ? {} : { contentSize }
      ),
      expected,
    );
    const ends = [SKIPPABLE.length, ...found.map(({ end }) => end)];
    for (let length = 0; length < bytes.length; length++) {
      const cut = new Uint8Array(bytes.slice(0, length));
      const isWhole = found.some(({ end }) => end <= length) &&
        ends.includes(length);
      if (isWhole) zstdFrames(cut);
      else assertThrows(() => zstdFrames(cut), SyntaxError);
    }
  });
}

const DAMAGED: Record<string, [number[], string]> = {
  "no bytes": [[], "has no zstd frame"],
  "a skippable frame alone": [SKIPPABLE, "has no zstd frame"],
  "another magic number": [
    [0x27, 0xb5, 0x2f, 0xfd, 0, 0, ...LAST],
    "has the bytes 0xfd2fb527 at 0, where a zstd frame starts with 0xfd2fb528",
  ],
  "bytes after the frame": [
    [...MAGIC, 0, 0, ...LAST, 0, 0, 0, 0],
    "has the bytes 0x00000000 at 11",
  ],
  "a reserved bit": [
    [...MAGIC, 8, 0, ...LAST],
    "has a reserved bit in the header of the zstd frame at 0",
  ],
  "a block of the reserved type": [
    [...MAGIC, 0, 0, 0b10_111, 0, 0, 7, 8],
    "has a zstd block at 6 of type 3 and 2 bytes",
  ],
  "a block longer than the window": [
    [...MAGIC, 0, 0, 0b1_011, 32, 0, 9],
    "has a zstd block at 6 of type 1 and 1025 bytes, where types are 0 to 2 and blocks take at most 1024 bytes",
  ],
  "a content size that the blocks cannot hold": [
    [...MAGIC, 0xa0, 8, 0, 0, 0, ...RLE, ...LAST],
    "has 8 as the content size of the zstd frame at 0, where its blocks hold at most 7 bytes",
  ],
  "a skippable frame that is cut short": [
    [...MAGIC, 0, 0, ...LAST, ...SKIPPABLE.slice(0, -1)],
    "is cut short: its zstd frame needs 22 bytes or more, found 21",
  ],
};

for (const [name, [bytes, message]] of Object.entries(DAMAGED)) {
  Deno.test(`zstdFrames refuses ${name}`, () => {
    assertThrows(
      () => zstdFrames(new Uint8Array(bytes)),
      SyntaxError,
      message,
    );
  });
}

Deno.test("zstdFrames accepts a block as long as the window, and 128 KiB in a larger one", () => {
  const blocks = [[0, 0b011, 32], [0xf8, 0b011, 0]];
  for (const [window, low, middle] of blocks as [number, number, number][]) {
    const high = window === 0 ? 0 : 16;
    const bytes = [...MAGIC, 0, window, low, middle, high, 9];
    const [frame] = zstdFrames(new Uint8Array(bytes));
    assertEquals(frame!.mostBytes, window === 0 ? 1024 : 2 ** 17);
  }
});
