import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { runs } from "../support/runs.ts";
import { randomNumbers } from "../zarrita/elements.ts";
import type { BytesCodec } from "../../src/codecs/codec.ts";
import { zstdEntry } from "../../src/codecs/zstd_codec.ts";

const SHAPE = [3000];

function codec(
  reusesMemory: boolean,
  configuration: object = { level: 1, checksum: true },
): BytesCodec {
  const metadata = {
    dataType: "uint8",
    shape: SHAPE,
    codecs: [{ name: "bytes" }, { name: "zstd" }],
    reusesMemory,
  };
  return zstdEntry("zstd", undefined)
    .fromConfig(configuration, metadata);
}

/** What a codec makes of a frame: the bytes, or its error. */
async function outcome(
  codec: BytesCodec,
  frame: Uint8Array,
): Promise<{ bytes?: Uint8Array; message?: string }> {
  try {
    return { bytes: new Uint8Array(await codec.decode(frame)) };
  } catch (error) {
    return { message: (error as Error).message };
  }
}

Deno.test("zstd decodes into memory that is used again what it decodes into its own, damaged frames included", async () => {
  const own = codec(false);
  const reusing = codec(true);
  let refused = 0;
  let decoded = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ minLength: 8, maxLength: 40 }),
      fc.constantFrom("whole", "cut", "flip", "checksum"),
      fc.nat(),
      async (seed, damage, place) => {
        const bytes = Uint8Array.from(
          { length: SHAPE[0]! },
          (_, i) => seed[i % seed.length]! ^ (i >> 5),
        );
        let frame = await own.encode(bytes);
        if (damage === "cut") frame = frame.slice(0, place % frame.length);
        if (damage === "flip") frame[place % frame.length]! ^= 1 << place % 8;
        if (damage === "checksum") frame[frame.length - 1 - place % 4]! ^= 1;
        const expected = await outcome(own, frame.slice());
        const found = await outcome(reusing, frame.slice());
        assertEquals(found, expected);
        if (expected.bytes === undefined) refused++;
        else decoded++;
        if (damage === "whole") assertEquals(found.bytes, bytes);
        if (damage === "checksum") assertEquals(found.bytes, undefined);
      },
    ),
    { numRuns: runs(400) },
  );
  assert(
    refused > 0 && decoded > 0,
    `${refused} refused, ${decoded} not`,
  );
});

Deno.test("zstd uses the memory of decoded bytes again only if it may", async () => {
  const bytes = new Uint8Array(SHAPE[0]!).fill(1);
  const others = bytes.map(() => 2);
  for (const reuses of [false, true]) {
    const zstd = codec(reuses);
    const first = await zstd.decode(await zstd.encode(bytes.slice()));
    assertEquals(first, bytes);
    await zstd.decode(await zstd.encode(others.slice()));
    assertEquals(first[0], reuses ? 2 : 1);
  }
});

Deno.test("zstd encodes bytes that it cannot shorten as one frame", async () => {
  for (const length of [1, 51, 64, 1000, 2 ** 17]) {
    const random = randomNumbers(length);
    const bytes = Uint8Array.from({ length }, () => random());
    for (const reuses of [false, true]) {
      const frame = await codec(reuses).encode(bytes);
      const magic = [40, 181, 47, 253].join();
      const starts = Array.from(frame.keys())
        .filter((i) => frame.subarray(i, i + 4).join() === magic);
      assertEquals(starts, [0]);
      assert(frame.length > length);
    }
  }
});
