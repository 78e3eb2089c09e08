import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  ChecksumError,
  DamageError,
  decodeShardIndex,
  encodeShardIndex,
  type ShardIndex,
  shardIndexSize,
  type ShardLayout,
} from "../../mod.ts";
import { indexesOf, layouts, layoutsOf } from "./arbitraries.ts";
import {
  ABSENT,
  slowCrc32c,
  slowEntries,
  slowIndexBytes,
  slowIndexSize,
  storedEntries,
  type StoredEntry,
} from "./slow_shard.ts";

const MOST = Number.MAX_SAFE_INTEGER;
const KEY = "/c/0/1";

/** A layout and an index for it. */
const indexes = layouts.chain((layout) =>
  fc.record({ layout: fc.constant(layout), index: indexesOf(layout) })
);

Deno.test("encodeShardIndex and decodeShardIndex agree with BigInt arithmetic, byte by byte, at any offset in a buffer", () => {
  fc.assert(
    fc.property(indexes, fc.nat(17), ({ layout, index }, byteOffset) => {
      const bytes = encodeShardIndex(index, layout);
      assertEquals(bytes, slowIndexBytes(storedEntries(index), layout));
      assertEquals(slowEntries(bytes, layout), storedEntries(index));
      const size = slowIndexSize(layout);
      assertEquals([shardIndexSize(layout), bytes.length], [size, size]);
      const buffer = new Uint8Array(byteOffset + size + 5).fill(0xa5);
      buffer.set(bytes, byteOffset);
      const before = buffer.slice();
      const view = buffer.subarray(byteOffset, byteOffset + size);
      assertEquals(decodeShardIndex(view, layout), index);
      assertEquals(buffer, before);
    }),
    { numRuns: 700 },
  );
});

/** The same bytes with one bit changed. */
function withFlippedBit(bytes: Uint8Array, bit: number): Uint8Array {
  const flipped = bytes.slice();
  flipped[bit >> 3]! ^= 1 << (bit & 7);
  return flipped;
}

/** Refuses bytes for their checksum, with all that the error must say. */
function assertChecksumError(bytes: Uint8Array, layout: ShardLayout): void {
  const error = assertThrows(
    () => decodeShardIndex(bytes, layout, KEY),
    ChecksumError,
    `The index of "${KEY}" has the CRC32C 0x`,
  );
  const [expected] = new Uint32Array(bytes.slice(-4).buffer);
  const actual = Number(slowCrc32c(bytes.subarray(0, -4)));
  assertEquals([error.key, error.expected, error.actual], [
    KEY,
    expected,
    actual,
  ]);
  for (const checksum of [expected!, actual]) {
    const hexadecimal = checksum.toString(16).padStart(8, "0");
    assertStringIncludes(error.message, `0x${hexadecimal}`);
  }
}

Deno.test("decodeShardIndex rejects any flipped bit if there is a checksum, before it looks at the numbers", () => {
  const index = [{ offset: 64, length: 1000 }, undefined];
  for (const layout of layoutsOf(2).filter((it) => it.indexHasChecksum)) {
    const bytes = encodeShardIndex(index, layout);
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      assertChecksumError(withFlippedBit(bytes, bit), layout);
    }
    bytes.subarray(-4).reverse(); // The checksum is little-endian in any layout.
    assertChecksumError(bytes, layout);
    const error = assertThrows(
      () => decodeShardIndex(bytes, layout),
      ChecksumError,
      "The index has the CRC32C 0x",
    );
    assertEquals(error.key, "");
  }
});

Deno.test("decodeShardIndex accepts 64-bit numbers exactly if both numbers and their sum fit", () => {
  const most = BigInt(MOST);
  const check = ([offset, length]: StoredEntry, layout: ShardLayout) => {
    const entries: StoredEntry[] = [[ABSENT, ABSENT], [offset, length]];
    const bytes = slowIndexBytes(entries, layout);
    const decode = () => decodeShardIndex(bytes, layout, KEY)[1];
    if (offset === ABSENT && length === ABSENT) {
      assertEquals(decode(), undefined);
    } else if (offset + length <= most) {
      const entry = { offset: Number(offset), length: Number(length) };
      assertEquals(decode(), entry);
    } else {
      assertThrows(
        decode,
        DamageError,
        `Inner chunk 1 of "${KEY}" has ${length} bytes from ${offset} on, where 2^53−1 is the most that can be read`,
      );
    }
  };
  // Some sums would come out small as numbers or as unsigned integers.
  const limits = [0n, 1n, 3n, most - 1n, most, most + 1n, 2n ** 63n]
    .concat([ABSENT - 1n, ABSENT]);
  for (const layout of layoutsOf(2)) {
    for (const offset of limits) {
      for (const length of limits) check([offset, length], layout);
    }
  }
  const number = fc.oneof(fc.bigInt(0n, ABSENT), fc.bigInt(0n, most));
  fc.assert(
    fc.property(
      fc.tuple(number, number),
      fc.constantFrom(...layoutsOf(2)),
      check,
    ),
    { numRuns: 500 },
  );
});

Deno.test("encodeShardIndex rejects a wrong number of entries, and numbers that no index has", () => {
  const entry = { offset: 100, length: 1 };
  const wrong = [-1, 0.5, 1e-9, NaN, Infinity, -Infinity, MOST + 1, "1"];
  // Each fits, and so would their sum if it were rounded or cancelled out.
  const pairs = [[MOST, 1], [1, MOST], [MOST, MOST], [-1, 1]]
    .concat(wrong.flatMap((n) => [[n, 7], [7, n]]) as number[][]);
  for (const layout of layoutsOf(2)) {
    for (const count of [0, 1, 3]) {
      assertThrows(
        () => encodeShardIndex(Array(count).fill(entry), layout),
        RangeError,
        `Expected an index of 2 entries, one for each inner chunk, found ${count}`,
      );
    }
    for (const [offset, length] of pairs) {
      const index = [undefined, { offset, length }] as ShardIndex;
      const { message } = assertThrows(
        () => encodeShardIndex(index, layout),
        RangeError,
        "Expected the offset and the length of inner chunk 1 to be whole numbers",
      );
      const text = [offset, length].map((n) =>
        typeof n === "string" ? `"${n}"` : `${n}`
      );
      assertStringIncludes(message, `found ${text.join(" and ")}`);
    }
  }
});

Deno.test("shardIndexSize counts up to 2^53−1, and rejects invalid numbers of inner chunks", () => {
  const [layout] = layoutsOf(2 ** 49 - 1);
  assertEquals(shardIndexSize(layout!), 2 ** 53 - 16);
  const wrong = [[0], [3, 0], [-1], [-1, -4], [0.5], [0.5, 4], [NaN]]
    .concat([[Infinity], [2 ** 53], [2 ** 49], [2 ** 27, 2 ** 26]]);
  for (const chunksPerShard of wrong) {
    const invalid = { ...layout!, chunksPerShard };
    for (
      const run of [
        () => shardIndexSize(invalid),
        () => encodeShardIndex([], invalid),
        () => decodeShardIndex(new Uint8Array(), invalid),
      ]
    ) {
      assertThrows(
        run,
        RangeError,
        `of no more than 2^53−1 bytes for all of them, found [${
          chunksPerShard.join(", ")
        }]`,
      );
    }
  }
});
