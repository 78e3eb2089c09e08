/** Damaged bytes of the codecs of numcodecs: an error, or elements; never other bytes under a checksum. */
import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import fc from "fast-check";
import { DamageError } from "../../mod.ts";
import {
  CODEC_FIXTURES,
  type CodecFixture,
  coderOf,
} from "./codec_fixtures.ts";

/** Whether codecs notice each changed bit of the elements. Adler-32 of zlib does not in compressed data. */
function isChecked({ name }: CodecFixture): boolean {
  return /crc32|adler32|fletcher32|jenkins|bz2|gzip/.test(name);
}

/** The decoded bytes, or `undefined` for a `DamageError`. */
async function decodeDamaged(
  fixture: CodecFixture,
  encoded: Uint8Array,
): Promise<Uint8Array | undefined> {
  const coder = await coderOf(fixture);
  try {
    return await coder.decode(encoded);
  } catch (error) {
    assertInstanceOf(error, DamageError, String((error as Error).stack));
    return undefined;
  }
}

const FIXTURES = CODEC_FIXTURES.filter(({ bytes }) => bytes.length > 0);

for (const fixture of FIXTURES) {
  Deno.test(`bytes that are cut short are damage: ${fixture.title}`, async () => {
    const { encoded, decoded } = fixture;
    for (let cut = 0; cut < encoded.length; cut++) {
      const found = await decodeDamaged(fixture, encoded.slice(0, cut));
      assertEquals(found, undefined, `${cut} of ${encoded.length} bytes`);
    }
    assertEquals(await decodeDamaged(fixture, encoded), decoded);
  });

  Deno.test(`flipped bits are damage, or as many elements: ${fixture.title}`, async () => {
    const { encoded, decoded } = fixture;
    const step = encoded.length < 700 ? 1 : 7;
    for (let bit = 0; bit < 8 * encoded.length; bit += step) {
      const flipped = encoded.slice();
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      const found = await decodeDamaged(fixture, flipped);
      if (found === undefined) continue;
      assertEquals(found.length, decoded.length);
      if (isChecked(fixture)) assertEquals(found, decoded, `bit ${bit}`);
    }
  });

  Deno.test(`any bytes are damage, or as many elements: ${fixture.title}`, async () => {
    const { encoded, decoded } = fixture;
    const part = fc.double({ min: 0, max: 1, noNaN: true });
    const changes = fc.array(fc.tuple(part, fc.nat(255)), { maxLength: 8 });
    const tail = fc.uint8Array({ maxLength: 300 });
    await fc.assert(
      fc.asyncProperty(part, changes, tail, async (kept, changes, tail) => {
        const head = encoded.subarray(0, Math.round(kept * encoded.length));
        const damaged = Uint8Array.from([...head, ...tail]);
        for (const [place, byte] of changes) {
          damaged[Math.floor(place * (damaged.length - 1))] = byte;
        }
        const found = await decodeDamaged(fixture, damaged);
        if (found === undefined) return;
        assert(found.length === decoded.length);
      }),
      { numRuns: 40 },
    );
  });
}
