import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { bloscEntry } from "../../src/codecs/blosc_codec.ts";
import { OWN_CODECS } from "./zarrita_codecs.ts";

const loadZstd = OWN_CODECS.get("zstd")!;

/** Bytes with runs, repeats and noise. */
function mixedBytes(length: number, seed = 1): Uint8Array {
  let state = seed;
  return Uint8Array.from({ length }, (_, i) => {
    state = Math.imul(state, 1664525) + 1013904223 | 0;
    return i % 700 < 300 ? i % 5 : i % 700 < 500 ? 7 : state >>> 24;
  });
}

function blosc(
  configuration: object,
  length: number | undefined,
  { reusesMemory = false, isNative = true } = {},
) {
  const codecs = length === undefined
    ? []
    : [{ name: "bytes" }, { name: "blosc" }];
  return bloscEntry(
    "blosc",
    loadZstd,
    ...(isNative ? [] : [() => null] as const),
  )
    .fromConfig(configuration, {
      dataType: "uint8",
      shape: [length ?? 1],
      codecs,
      reusesMemory,
    });
}

const anyConfiguration = fc.record({
  cname: fc.constantFrom("lz4", "lz4hc", "blosclz", "zlib", "zstd"),
  clevel: fc.integer({ min: 0, max: 9 }),
  shuffle: fc.constantFrom("noshuffle", "shuffle", "bitshuffle"),
  typesize: fc.oneof(
    fc.constantFrom(1, 2, 4, 8),
    fc.integer({ min: 1, max: 300 }),
  ),
  blocksize: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 5000 })),
});

for (const isNative of [true, false]) {
  Deno.test(`blosc decodes what it encodes, ${isNative ? "by node:zlib" : "by zarrita's zstd and streams"}`, async () => {
    await fc.assert(
      fc.asyncProperty(
        anyConfiguration,
        fc.oneof(fc.nat(300), fc.nat(20_000)),
        fc.nat(),
        async (configuration, length, seed) => {
          const bytes = mixedBytes(length, seed);
          const codec = blosc(configuration, length, { isNative });
          const encoded = await codec.encode(bytes);
          assert(encoded.length <= length + 16);
          assertEquals(await codec.decode(encoded), bytes);
        },
      ),
      { numRuns: isNative ? 300 : 60 },
    );
  });
}

Deno.test("blosc in memory that is used again decodes bytes that lie in that memory", async () => {
  const inner = blosc(
    { cname: "lz4", blocksize: 256, typesize: 1 },
    undefined,
    { reusesMemory: true },
  );
  // Blocks that are encoded the same way, so that the encoded bytes repeat as well.
  const bytes = Uint8Array.from({ length: 50_000 }, (_, i) => i % 256 >> 4);
  const once = await inner.encode(bytes);
  const twice = await inner.encode(once);
  assert(twice.length < once.length);
  for (let i = 0; i < 2; i++) {
    assertEquals(await inner.decode(await inner.decode(twice)), bytes);
  }
  const [a, b] = [await inner.decode(once), await inner.decode(once)];
  assertEquals(a.buffer, b.buffer);
});

Deno.test("blosc reads the chunks of Snappy", async () => {
  // Literals, and matches with offsets of one, two and four bytes.
  const stream = [
    ...[148, 1], // 148 bytes.
    ...[(8 - 1) << 2, 1, 2, 3, 4, 5, 6, 7, 8],
    ...[1 | (8 - 4) << 2, 8],
    ...[2 | (64 - 1) << 2, 16, 0],
    ...[3 | (60 - 1) << 2, 16, 0, 0, 0],
    ...[60 << 2, 7, 5, 6, 7, 8, 1, 2, 3, 4],
  ];
  const chunk = new Uint8Array(16 + 4 + 4 + stream.length);
  const view = new DataView(chunk.buffer);
  chunk.set([2, 1, 2 << 5 | 16, 1]);
  view.setUint32(4, 148, true);
  view.setUint32(8, 148, true);
  view.setUint32(12, chunk.length, true);
  view.setUint32(16, 20, true);
  view.setUint32(20, stream.length, true);
  chunk.set(stream, 24);
  const decoded = await blosc({ cname: "snappy" }, 148).decode(chunk);
  assertEquals(decoded, Uint8Array.from({ length: 148 }, (_, i) => i % 8 + 1));
});
