import { assertEquals } from "@std/assert";
import { CODEC_FIXTURES, coderOf } from "./codec_fixtures.ts";

/** Codecs whose encoded bytes differ between programs. */
const COMPRESSORS = /blosc|lz4|zlib|gzip|zstd/;
/** Codecs that are not written. */
const READ_ONLY = /bz2/;

for (const fixture of CODEC_FIXTURES) {
  Deno.test(`what numcodecs encodes is decoded: ${fixture.title}`, async () => {
    const coder = await coderOf(fixture);
    assertEquals(await coder.decode(fixture.encoded), fixture.decoded);
  });

  if (READ_ONLY.test(fixture.name)) continue;
  Deno.test(`what numcodecs encodes is encoded: ${fixture.title}`, async () => {
    const coder = await coderOf(fixture);
    const encoded = await coder.encode(fixture.bytes);
    if (!COMPRESSORS.test(fixture.name)) {
      assertEquals(encoded, fixture.encoded);
    }
    assertEquals(await coder.decode(encoded), fixture.decoded);
  });
}
