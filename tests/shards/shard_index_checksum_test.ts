import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  ChecksumError,
  decodeShardIndex,
  encodeShardIndex,
  type ShardLayout,
} from "../../mod.ts";
import { indexesOf, layouts, layoutsOf } from "./arbitraries.ts";
import { slowCrc32c } from "./slow_shard.ts";

/** The same bytes with one bit changed. */
function withFlippedBit(bytes: Uint8Array, bit: number): Uint8Array {
  const flipped = bytes.slice();
  flipped[bit >> 3]! ^= 1 << (bit & 7);
  return flipped;
}

/** Refuses bytes for their checksum, with all that the error must say. */
function assertChecksumError(bytes: Uint8Array, layout: ShardLayout): void {
  const error = assertThrows(
    () => decodeShardIndex(bytes, layout, "/c/0/1"),
    ChecksumError,
    'The index of "/c/0/1" has the CRC32C 0x',
  );
  const [stored] = new Uint32Array(bytes.slice(-4).buffer);
  const actual = Number(slowCrc32c(bytes.subarray(0, -4)));
  const { key, expected } = error;
  assertEquals(
    { key, expected, actual: error.actual },
    { key: "/c/0/1", expected: stored, actual },
  );
  for (const checksum of [stored!, actual]) {
    const hexadecimal = checksum.toString(16).padStart(8, "0");
    assertStringIncludes(error.message, `0x${hexadecimal}`);
  }
}

Deno.test("decodeShardIndex rejects every index with one flipped bit, with both checksums and the key", () => {
  const index = [{ offset: 64, length: 1000 }, undefined];
  let flips = 0;
  for (const layout of layoutsOf(2).filter((it) => it.indexHasChecksum)) {
    const bytes = encodeShardIndex(index, layout);
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      assertChecksumError(withFlippedBit(bytes, bit), layout);
      flips++;
    }
  }
  assertEquals(flips, 4 * 8 * 36);
});

Deno.test("decodeShardIndex rejects one flipped bit in an index of any layout with a checksum", () => {
  fc.assert(
    fc.property(
      layouts.chain((layout) =>
        fc.tuple(
          fc.constant({ ...layout, indexHasChecksum: true }),
          indexesOf(layout),
        )
      ),
      fc.nat(),
      ([layout, index], bit) => {
        const bytes = encodeShardIndex(index, layout);
        assertChecksumError(
          withFlippedBit(bytes, bit % (8 * bytes.length)),
          layout,
        );
      },
    ),
  );
});

Deno.test("decodeShardIndex verifies the checksum before the numbers", () => {
  // With this bit the first offset is above 2^53−1.
  const [layout] = layoutsOf(1).filter((it) =>
    it.indexHasChecksum && it.indexEndian === "little"
  );
  const bytes = encodeShardIndex([{ offset: 0, length: 1 }], layout!);
  assertChecksumError(withFlippedBit(bytes, 63), layout!);
});

Deno.test("decodeShardIndex rejects a big-endian checksum", () => {
  for (const layout of layoutsOf(1).filter((it) => it.indexHasChecksum)) {
    const bytes = encodeShardIndex([{ offset: 1, length: 2 }], layout);
    bytes.subarray(-4).reverse();
    assertChecksumError(bytes, layout);
  }
});

Deno.test("decodeShardIndex names no key if none is given", () => {
  const [layout] = layoutsOf(1).filter((it) => it.indexHasChecksum);
  const error = assertThrows(
    () => decodeShardIndex(new Uint8Array(20), layout!),
    ChecksumError,
    "The index has the CRC32C 0x",
  );
  assertEquals([error.key, error.expected], ["", 0]);
});

Deno.test("decodeShardIndex reads flipped bits as they are if there is no checksum", () => {
  for (const layout of layoutsOf(1).filter((it) => !it.indexHasChecksum)) {
    const bytes = encodeShardIndex([{ offset: 0, length: 0 }], layout);
    const lowest = layout.indexEndian === "little" ? 0 : 7;
    assertEquals(
      decodeShardIndex(withFlippedBit(bytes, 8 * lowest), layout),
      [{ offset: 1, length: 0 }],
    );
  }
});
