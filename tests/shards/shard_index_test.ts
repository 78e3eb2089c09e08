import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  decodeShardIndex,
  encodeShardIndex,
  shardIndexSize,
} from "../../mod.ts";
import { indexesOf, layouts, layoutsOf } from "./arbitraries.ts";
import {
  slowEntries,
  slowIndexBytes,
  slowIndexSize,
  storedEntries,
} from "./slow_shard.ts";

/** A layout and an index for it. */
const indexes = layouts.chain((layout) =>
  fc.record({ layout: fc.constant(layout), index: indexesOf(layout) })
);

Deno.test("encodeShardIndex agrees with BigInt arithmetic, byte by byte", () => {
  fc.assert(
    fc.property(indexes, ({ layout, index }) => {
      const bytes = encodeShardIndex(index, layout);
      assertEquals(bytes, slowIndexBytes(storedEntries(index), layout));
      assertEquals(slowEntries(bytes, layout), storedEntries(index));
    }),
    { numRuns: 500 },
  );
});

Deno.test("decodeShardIndex is the inverse of encodeShardIndex", () => {
  fc.assert(
    fc.property(indexes, ({ layout, index }) => {
      const bytes = encodeShardIndex(index, layout);
      assertEquals(decodeShardIndex(bytes, layout), index);
    }),
    { numRuns: 500 },
  );
});

Deno.test("decodeShardIndex reads bytes written by BigInt arithmetic, and does not change them", () => {
  fc.assert(
    fc.property(indexes, ({ layout, index }) => {
      const bytes = slowIndexBytes(storedEntries(index), layout);
      const before = bytes.slice();
      assertEquals(decodeShardIndex(bytes, layout), index);
      assertEquals(bytes, before);
    }),
    { numRuns: 500 },
  );
});

Deno.test("decodeShardIndex reads a view at any offset in its buffer", () => {
  fc.assert(
    fc.property(indexes, fc.nat(17), ({ layout, index }, byteOffset) => {
      const bytes = slowIndexBytes(storedEntries(index), layout);
      const buffer = new Uint8Array(byteOffset + bytes.length + 5).fill(0xa5);
      buffer.set(bytes, byteOffset);
      const view = buffer.subarray(byteOffset, byteOffset + bytes.length);
      assertEquals(decodeShardIndex(view, layout), index);
    }),
  );
});

Deno.test("decodeShardIndex reads a view at each unaligned offset, with and without a checksum", () => {
  for (const layout of layoutsOf(2)) {
    const index = [undefined, { offset: 0x0102030405, length: 6 }];
    const bytes = encodeShardIndex(index, layout);
    for (const byteOffset of [1, 3, 5, 7, 9]) {
      const buffer = new Uint8Array(byteOffset + bytes.length + 1).fill(0xff);
      buffer.set(bytes, byteOffset);
      const view = buffer.subarray(byteOffset, byteOffset + bytes.length);
      assertEquals(decodeShardIndex(view, layout), index);
    }
  }
});

Deno.test("shardIndexSize is the length of every index of the layout", () => {
  fc.assert(
    fc.property(indexes, ({ layout, index }) => {
      const size = slowIndexSize(layout);
      assertEquals(shardIndexSize(layout), size);
      assertEquals(encodeShardIndex(index, layout).length, size);
    }),
  );
});

Deno.test("encodeShardIndex writes these bytes, as the document of sharding_indexed says", () => {
  const index = [{ offset: 0x0102, length: 0x0304 }, undefined];
  const layout = {
    chunksPerShard: [2],
    indexLocation: "end",
    indexEndian: "little",
    indexHasChecksum: false,
  } as const;
  const absent = Array(16).fill(255);
  assertEquals(
    [...encodeShardIndex(index, layout)],
    [2, 1, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, ...absent],
  );
  assertEquals(
    [...encodeShardIndex(index, { ...layout, indexEndian: "big" })],
    [0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 4, ...absent],
  );
  // RFC 3720 has the CRC32C of 32 bytes of 255: 62a8ab43.
  assertEquals(
    [...encodeShardIndex([undefined, undefined], {
      ...layout,
      indexEndian: "big",
      indexHasChecksum: true,
    })],
    [...absent, ...absent, 0x43, 0xab, 0xa8, 0x62],
  );
});

Deno.test("encodeShardIndex writes the same index for both index locations", () => {
  const index = [{ offset: 20, length: 1 }];
  const [start, , , , end] = layoutsOf(1);
  assertEquals(start!.indexLocation, "start");
  assertEquals(end!.indexLocation, "end");
  assertEquals(encodeShardIndex(index, start!), encodeShardIndex(index, end!));
});

Deno.test("decodeShardIndex distinguishes an empty inner chunk from an absent one", () => {
  for (const layout of layoutsOf(3)) {
    const index = [
      { offset: 0, length: 0 },
      undefined,
      { offset: 7, length: 0 },
    ];
    const bytes = encodeShardIndex(index, layout);
    assertEquals(decodeShardIndex(bytes, layout), index);
  }
});
