import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { blockEngine, type Order } from "../../src/codecs/block_engine.ts";
import { mixedBytes } from "./imagecodecs_support.ts";

const ORDERS: Order[] = ["noshuffle", "shuffle", "bitshuffle"];

/** The bytes in an order, bit by bit. */
function orderSlowly(
  bytes: Uint8Array,
  order: Order,
  size: number,
): Uint8Array {
  const count = Math.floor(bytes.length / size);
  const ordered = bytes.slice();
  if (order === "noshuffle") return ordered;
  if (order === "shuffle") {
    for (let i = 0; i < count * size; i++) {
      ordered[i % size * count + Math.floor(i / size)] = bytes[i]!;
    }
    return ordered;
  }
  if (count % 8 !== 0) return ordered;
  ordered.fill(0, 0, count * size);
  for (let element = 0; element < count; element++) {
    for (let bit = 0; bit < 8 * size; bit++) {
      const value = bytes[element * size + (bit >> 3)]! >> (bit & 7) & 1;
      const place = bit * count + element;
      ordered[place >> 3]! |= value << (place & 7);
    }
  }
  return ordered;
}

/** Bytes of many lengths with runs, repeats and noise. */
const anyBytes: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.uint8Array({ maxLength: 80 }),
  fc.tuple(fc.nat(3000), fc.nat()).map(([length, seed]) =>
    mixedBytes(length, seed)
  ),
  fc.tuple(
    fc.uint8Array({ minLength: 1, maxLength: 20 }),
    fc.nat(2000),
    fc.uint8Array({ maxLength: 30 }),
  ).map(([period, length, tail]) =>
    Uint8Array.from([
      ...Array.from({ length }, (_, i) => period[i % period.length]!),
      ...tail,
    ])
  ),
);

Deno.test("reorder() orders and restores bytes as a slow solution does", () => {
  fc.assert(
    fc.property(
      anyBytes,
      fc.constantFrom(...ORDERS),
      fc.oneof(fc.constantFrom(1, 2, 4, 8), fc.integer({ min: 1, max: 40 })),
      (bytes, order, size) => {
        const ordered = new Uint8Array(bytes.length).fill(99);
        blockEngine().reorder(bytes, ordered, "order", order, size);
        assertEquals(ordered, orderSlowly(bytes, order, size));
        const restored = new Uint8Array(bytes.length).fill(99);
        blockEngine().reorder(ordered, restored, "restore", order, size);
        assertEquals(restored, bytes);
      },
    ),
    { numRuns: 400 },
  );
});

Deno.test("decodeBlock() decodes streams of LZ4, and stored pieces", () => {
  fc.assert(
    fc.property(
      anyBytes,
      fc.constantFrom(...ORDERS),
      fc.constantFrom(1, 2, 4, 8, 3),
      fc.constantFrom(1, 2, 4),
      fc.infiniteStream(fc.boolean()),
      fc.integer({ min: 1, max: 99 }),
      (given, order, size, count, isStored, speed) => {
        const bytes = given.subarray(0, given.length - given.length % count);
        const length = bytes.length / count;
        const ordered = orderSlowly(bytes, order, size);
        const streams = Array.from({ length: count }, (_, i) => {
          const piece = ordered.slice(i * length, (i + 1) * length);
          const stream = blockEngine().encodeLz4(piece, speed);
          assert(stream.length <= length + length / 255 + 16);
          const isLz4 = stream.length !== length && !isStored.next().value;
          return isLz4 ? stream : piece;
        });
        const decoded = new Uint8Array(bytes.length);
        blockEngine().decodeBlock(streams, decoded, order, size);
        assertEquals(decoded, bytes);
      },
    ),
    { numRuns: 600 },
  );
});

Deno.test("encodeLz4() keeps the limits of LZ4 at the end of a block", () => {
  // The last 5 bytes are literals, and the last match starts 12 bytes before the end.
  for (let length = 0; length < 40; length++) {
    const block = blockEngine().encodeLz4(new Uint8Array(length).fill(7), 1);
    const last = length < 13 ? length : 5;
    const isPlain = block.length === 1 + last + (last >= 15 ? 1 : 0);
    assertEquals(isPlain, length < 13, `${length} bytes`);
    assertEquals(block.at(-last - 1)! >> 4, Math.min(last, 15));
  }
});

Deno.test("decodeLz4() decodes damaged blocks to all bytes, or throws", () => {
  let accepted = 0;
  fc.assert(
    fc.property(
      anyBytes,
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }),
      fc.nat(3),
      fc.integer({ min: -20, max: 20 }),
      (bytes, changes, cut, longer) => {
        const block = blockEngine().encodeLz4(bytes, 1);
        for (const [place, byte] of changes) block[place % block.length] = byte;
        const damaged = block.subarray(0, block.length - cut);
        const size = bytes.length + Math.max(longer, 0);
        const isSound = cut === 0 && changes.length === 0;
        const decoded = new Uint8Array(size);
        try {
          blockEngine().decodeLz4(damaged, decoded);
          accepted++;
          if (isSound) assertEquals([size, decoded], [bytes.length, bytes]);
        } catch (error) {
          assert(error instanceof SyntaxError, String(error));
          assert(!isSound || size > bytes.length);
        }
      },
    ),
    { numRuns: 3000 },
  );
  assert(accepted > 200);
});

Deno.test("blockEngine() gives large memory back", () => {
  const bytes = mixedBytes(2 ** 20);
  const large = new Uint8Array(40 * 2 ** 20);
  large.set(bytes, 30 * 2 ** 20);
  const block = blockEngine().encodeLz4(large, 1);
  const decoded = new Uint8Array(large.length);
  blockEngine().decodeLz4(block, decoded);
  assertEquals(decoded.subarray(30 * 2 ** 20, 31 * 2 ** 20), bytes);
  assertThrows(
    () => blockEngine().decodeLz4(block, decoded.subarray(1)),
    SyntaxError,
    "no block of LZ4 of 41943039 bytes",
  );
  blockEngine().encodeLz4(large, 1);
  assert(blockEngine().size <= 64 * 2 ** 20);
});
