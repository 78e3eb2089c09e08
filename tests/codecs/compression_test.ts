import {
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { inflateRawSync, inflateSync, zstdCompressSync } from "node:zlib";
import { DamageError, MetadataError } from "../../mod.ts";
import { runs, stride } from "../support/runs.ts";
import { compression, NAMES, sample, WAYS } from "./compression_support.ts";

for (const name of NAMES) {
  for (const way of WAYS) {
    Deno.test(`${name} decodes by both ways what the ${way} one encodes, at any length`, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(
            fc.uint8Array({ maxLength: 300 }),
            fc.constantFrom(65535, 65536, 131072, 131073, 400_000).map(sample),
          ),
          fc.boolean(),
          async (bytes, isKnown) => {
            const length = isKnown ? bytes.length : undefined;
            const encoded = await compression(name, way, length).encode(bytes);
            for (const other of WAYS) {
              const codec = compression(name, other, length);
              const decoded = await codec.decode(encoded);
              assertEquals(decoded, bytes);
              assertEquals(decoded.buffer.byteLength, decoded.length);
            }
          },
        ),
        { numRuns: runs(40) },
      );
    });

    Deno.test(`${name} refuses bytes that decode to one byte more or less, by the ${way} way`, async () => {
      const encoded = await compression(name, "native").encode(sample(999));
      for (const length of [0, 1, 998, 1000]) {
        const error = await assertRejects(
          () => compression(name, way, length).decode(encoded),
          DamageError,
        );
        assertStringIncludes(error.message, "The chunk ");
      }
      assertEquals(
        await compression(name, way, 999).decode(encoded),
        sample(999),
      );
    });

    Deno.test(`${name} refuses a bomb, by the ${way} way`, async () => {
      const bomb = await compression(name, "native").encode(
        new Uint8Array(2 ** 26),
      );
      const bombs = [bomb];
      if (name === "zstd") { // One without its length, too.
        bombs.push(new Uint8Array(zstdCompressSync(new Uint8Array(2 ** 26))));
      }
      for (const bomb of bombs) {
        await assertRejects(
          () => compression(name, way, 4096).decode(bomb),
          DamageError,
        );
      }
    });
  }

  Deno.test(`${name} refuses unknown members and levels out of range`, () => {
    for (
      const configuration of [{ levels: 1 }, { level: 99 }, { level: 1.5 }]
    ) {
      let error: unknown;
      try {
        compression(name, "native", 1, configuration);
      } catch (thrown) {
        error = thrown;
      }
      assertInstanceOf(error, MetadataError);
    }
  });
}

for (const name of ["gzip", "zlib", "imagecodecs_deflate"] as const) {
  for (const way of WAYS) {
    Deno.test(
      `${name} ${
        name === "gzip" ? "refuses" : "passes over"
      } bytes after the data, by the ${way} way`,
      async () => {
        for (const size of [0, 10, 70_000]) {
          const bytes = sample(size);
          const encoded = await compression(name, way).encode(bytes);
          const longer = new Uint8Array([...encoded, 1, 2, 3, 4]);
          for (const length of [size, undefined]) {
            const codec = compression(name, way, length);
            if (name !== "gzip") {
              assertEquals(await codec.decode(longer), bytes);
            } else {
              await assertRejects(() => codec.decode(longer), DamageError);
            }
          }
          if (name === "gzip") continue;
          // The checksum is compared, whatever follows.
          longer[encoded.length - 1]! ^= 1;
          await assertRejects(
            () => compression(name, way, size).decode(longer),
            DamageError,
          );
        }
      },
    );
  }
}

for (const way of WAYS) {
  Deno.test(`imagecodecs_deflate with raw has neither header nor checksum, by the ${way} way`, async () => {
    const bytes = sample(3000);
    const raw = compression("imagecodecs_deflate", way, 3000, { raw: true });
    const encoded = await raw.encode(bytes);
    assertEquals(new Uint8Array(inflateRawSync(encoded)), bytes);
    for (const other of WAYS) {
      const codec = compression("imagecodecs_deflate", other, 3000, {
        raw: true,
      });
      assertEquals(await codec.decode(encoded), bytes);
      const zlib = compression("zlib", other, 3000);
      await assertRejects(() => zlib.decode(encoded), DamageError);
      // The last bytes may hold the end of the data alone.
      for (let cut = 0; cut < encoded.length - 8; cut += stride(7)) {
        const piece = encoded.slice(0, cut);
        await assertRejects(() => codec.decode(piece), DamageError);
      }
      for (let bit = 0; bit < 8 * encoded.length; bit += 5 * stride(5)) {
        const flipped = encoded.slice();
        flipped[bit >> 3]! ^= 1 << (bit & 7);
        try {
          assertEquals((await codec.decode(flipped)).length, bytes.length);
        } catch (error) {
          assertInstanceOf(error, DamageError);
        }
      }
    }
  });
}

Deno.test("imagecodecs_deflate takes the levels of libdeflate, and refuses other members", async () => {
  const bytes = sample(5000);
  const lengths: number[] = [];
  for (const level of [0, 1, 9, 10, 12, null]) {
    const codec = compression("imagecodecs_deflate", "native", 5000, { level });
    const encoded = await codec.encode(bytes);
    assertEquals(new Uint8Array(inflateSync(encoded)), bytes);
    lengths.push(encoded.length);
  }
  const [stored, , best, ...higher] = lengths;
  assertEquals(stored! > 5000, true);
  assertEquals(higher, [best!, best!, higher[2]!]);
  const wrong = [{ level: 13 }, { level: -1 }, { raw: 1 }, { header: true }];
  for (const configuration of wrong) {
    assertThrows(
      () => compression("imagecodecs_deflate", "native", 1, configuration),
      MetadataError,
    );
  }
});

Deno.test("zstd writes the content size and, if configured, a checksum", async () => {
  for (const checksum of [false, true]) {
    const codec = compression("zstd", "native", 70_000, { level: 5, checksum });
    const encoded = await codec.encode(sample(70_000));
    assertEquals(encoded[4]! & 0b100, checksum ? 0b100 : 0);
    assertEquals(encoded[4]! >> 6, 2);
  }
});

for (const way of WAYS) {
  Deno.test(`zstd takes the level 0, and none, as 3, by the ${way} way`, async () => {
    const lengths = await Promise.all([{ level: 0 }, {}, { level: 3 }].map(
      async (configuration) =>
        (await compression("zstd", way, 5000, configuration)
          .encode(sample(5000))).length,
    ));
    assertEquals(new Set(lengths).size, 1);
    const { length } = await compression("zstd", way, 5000, { level: 1 })
      .encode(sample(5000));
    assertEquals(length === lengths[0], false);
  });

  Deno.test(`zstd decodes frames without content size, and several frames, by the ${way} way`, async () => {
    const unsized = new Uint8Array(zstdCompressSync(sample(9000)));
    assertEquals(unsized[4]! >> 6, 0);
    const sized = await compression("zstd", "native").encode(sample(300));
    const skippable = [0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 9];
    const cases: [number[], number[]][] = [
      [[...unsized], [9000]],
      [[...unsized, ...sized], [9000, 300]],
      [[...skippable, ...sized, ...unsized, ...skippable], [300, 9000]],
      [[...unsized, ...unsized], [9000, 9000]],
      [[...sized, ...sized], [300, 300]],
    ];
    for (const [encoded, lengths] of cases) {
      const expected = lengths.flatMap((length) => [...sample(length)]);
      for (const length of [undefined, expected.length]) {
        const codec = compression("zstd", way, length);
        assertEquals(
          await codec.decode(new Uint8Array(encoded)),
          new Uint8Array(expected),
        );
      }
      for (const length of [expected.length - 1, expected.length + 1]) {
        await assertRejects(
          () =>
            compression("zstd", way, length).decode(new Uint8Array(encoded)),
          DamageError,
        );
      }
    }
  });

  Deno.test(`zstd returns for any damage of a frame without content size, by the ${way} way`, async () => {
    const encoded = new Uint8Array(zstdCompressSync(sample(400)));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(encoded.length - 1), fc.nat(255)), {
          minLength: 1,
          maxLength: 3,
        }),
        fc.constantFrom(undefined, 400),
        async (changes, length) => {
          const changed = encoded.slice();
          for (const [place, byte] of changes) changed[place] = byte;
          try {
            const decoded = await compression("zstd", way, length)
              .decode(changed);
            assertEquals(decoded.length, length ?? decoded.length);
          } catch (error) {
            assertInstanceOf(error, DamageError);
          }
        },
      ),
      { numRuns: runs(2000) },
    );
  });
}
