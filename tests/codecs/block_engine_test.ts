import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  type BlockEngine,
  openWasmEngine,
  type Order,
  PORTABLE_ENGINE,
} from "../../src/codecs/block_engine.ts";
import { encodeLz4 } from "../../src/codecs/lz4_block.ts";
import { mixedBytes } from "./imagecodecs_support.ts";

const WASM = openWasmEngine()!;
const ENGINES: [string, BlockEngine][] = [
  ["in WebAssembly", WASM],
  ["in TypeScript", PORTABLE_ENGINE],
];
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

for (const [name, engine] of ENGINES) {
  Deno.test(`the block engine ${name} orders and restores bytes as a slow solution does`, () => {
    fc.assert(
      fc.property(
        anyBytes,
        fc.constantFrom(...ORDERS),
        fc.oneof(fc.constantFrom(1, 2, 4, 8), fc.integer({ min: 1, max: 40 })),
        (bytes, order, size) => {
          const ordered = new Uint8Array(bytes.length).fill(99);
          engine.order(bytes, ordered, order, size);
          assertEquals(ordered, orderSlowly(bytes, order, size));
          const restored = new Uint8Array(bytes.length).fill(99);
          engine.restore(ordered, restored, order, size);
          assertEquals(restored, bytes);
        },
      ),
      { numRuns: 400 },
    );
  });

  Deno.test(`the block engine ${name} decodes the LZ4 that each engine encodes`, () => {
    fc.assert(
      fc.property(anyBytes, fc.integer({ min: 1, max: 99 }), (bytes, speed) => {
        for (
          const block of [
            engine.encodeLz4(bytes, speed),
            PORTABLE_ENGINE.encodeLz4(bytes, speed),
            encodeLz4(bytes, { acceleration: 1, depth: 16 }),
          ]
        ) {
          const decoded = new Uint8Array(bytes.length);
          engine.decodeLz4(block, decoded);
          assertEquals(decoded, bytes);
          assert(block.length <= bytes.length + bytes.length / 255 + 16);
        }
      }),
      { numRuns: 300 },
    );
  });

  Deno.test(`the block engine ${name} decodes blocks of blosc that it encodes, and stored pieces`, () => {
    fc.assert(
      fc.property(
        anyBytes,
        fc.constantFrom(...ORDERS),
        fc.constantFrom(1, 2, 4, 8, 3),
        fc.constantFrom(1, 2, 4),
        fc.infiniteStream(fc.boolean()),
        (given, order, size, count, isStored) => {
          const bytes = given.subarray(0, given.length - given.length % count);
          const length = bytes.length / count;
          const ordered = orderSlowly(bytes, order, size);
          const streams = engine.encodeBlock(bytes, count, order, size, 1)
            .map((stream, i) =>
              stream.length === length || isStored.next().value
                ? ordered.slice(i * length, (i + 1) * length)
                : stream
            );
          const decoded = new Uint8Array(bytes.length);
          engine.decodeBlock(streams, decoded, order, size);
          assertEquals(decoded, bytes);
        },
      ),
      { numRuns: 300 },
    );
  });

  Deno.test(`the block engine ${name} keeps the limits of LZ4 at the end of a block`, () => {
    // The last 5 bytes are literals, and the last match starts 12 bytes before the end.
    for (let length = 0; length < 40; length++) {
      const block = engine.encodeLz4(new Uint8Array(length).fill(7), 1);
      const last = length < 13 ? length : 5;
      const isPlain = block.length === 1 + last + (last >= 15 ? 1 : 0);
      assertEquals(isPlain, length < 13, `${length} bytes`);
      assertEquals(block.at(-last - 1)! >> 4, Math.min(last, 15));
    }
  });
}

Deno.test("both block engines accept the same blocks of LZ4, and decode them to the same bytes", () => {
  let accepted = 0;
  fc.assert(
    fc.property(
      anyBytes,
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }),
      fc.nat(3),
      fc.integer({ min: -20, max: 20 }),
      (bytes, changes, cut, longer) => {
        const block = PORTABLE_ENGINE.encodeLz4(bytes, 1);
        for (const [place, byte] of changes) block[place % block.length] = byte;
        const damaged = block.subarray(0, block.length - cut);
        const size = Math.max(bytes.length + (longer > 15 ? longer : 0), 0);
        const decodeBy = (engine: BlockEngine) => {
          const decoded = new Uint8Array(size);
          try {
            engine.decodeLz4(damaged, decoded);
            accepted++;
            return decoded;
          } catch (error) {
            return String(error);
          }
        };
        assertEquals(decodeBy(WASM), decodeBy(PORTABLE_ENGINE));
      },
    ),
    { numRuns: 3000 },
  );
  assert(accepted > 200);
});

Deno.test("the block engine in WebAssembly leaves chunks beyond its memory to TypeScript", () => {
  const bytes = mixedBytes(2 ** 20);
  const large = new Uint8Array(40 * 2 ** 20);
  large.set(bytes, 30 * 2 ** 20);
  const block = WASM.encodeLz4(large, 1);
  const decoded = new Uint8Array(large.length);
  WASM.decodeLz4(block, decoded);
  assertEquals(decoded.subarray(30 * 2 ** 20, 31 * 2 ** 20), bytes);
  assertThrows(
    () => WASM.decodeLz4(block, decoded.subarray(1)),
    SyntaxError,
    "The data has more than",
  );
});
