import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ChecksumError, DamageError, MetadataError } from "../../mod.ts";
import { checksumEntry } from "../../src/codecs/checksum_codecs.ts";
import {
  type BytesCodec,
  type ChunkMetadata,
  keyOf,
  noteKey,
} from "../../src/codecs/codec.ts";

const METADATA: ChunkMetadata = { dataType: "uint8", shape: [], codecs: [] };
const NAMES = ["crc32c", "numcodecs.crc32c", "numcodecs.crc32"].concat(
  ["adler32", "fletcher32", "jenkins_lookup3"].map((s) => `numcodecs.${s}`),
);

function make(name: string, configuration: unknown = {}) {
  return checksumEntry(name)
    .fromConfig(configuration, METADATA) as BytesCodec & {
      computeEncodedSize(size: number): number;
    };
}

/** CRC32C one bit at a time, as RFC 3720 defines it. */
function oracle(bytes: Iterable<number>): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) {
      crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
    }
  }
  return ~crc >>> 0;
}

Deno.test("crc32c encodes and decodes any bytes anywhere in a buffer, and changes none", async () => {
  const codec = make("crc32c", undefined);
  const memory = fc.record({
    all: fc.uint8Array({ maxLength: 100 }),
    start: fc.nat(9),
    left: fc.nat(9),
  });
  await fc.assert(fc.asyncProperty(memory, async ({ all, start, left }) => {
    const bytes = all.subarray(start, Math.max(start, all.length - left));
    const before = all.slice();
    const encoded = await codec.encode(bytes);
    const crc = oracle(bytes);
    assertEquals(Array.from(encoded), [
      ...bytes,
      ...[0, 8, 16, 24].map((shift) => crc >>> shift & 0xff),
    ]);
    assertEquals(codec.computeEncodedSize(bytes.length), encoded.length);
    const around = new Uint8Array(start + encoded.length + left).fill(7);
    around.set(encoded, start);
    const stored = around.subarray(start, start + encoded.length);
    const decoded = await codec.decode(stored);
    assertEquals(decoded, new Uint8Array(bytes));
    // Not a view, since zarrita would encode the bytes around it too.
    assertEquals(decoded.buffer.byteLength, bytes.length);
    assertEquals(all, before);
  }));
});

for (const name of NAMES) {
  Deno.test(`${name} refuses a chunk with any flipped bit and one cut short, and passes its key on`, async () => {
    const codec = make(name);
    const bytes = Uint8Array.from({ length: 13 }, (_, i) => 37 * i);
    const encoded = await codec.encode(bytes);
    noteKey(encoded, "/a/c/0");
    const decoded = await codec.decode(encoded);
    assertEquals([decoded, keyOf(decoded)], [bytes, "/a/c/0"]);
    const what = name === "crc32c" ? "CRC32C" : name.slice(10);
    for (let bit = 0; bit < 8 * encoded.length; bit++) {
      const damaged = encoded.slice();
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      noteKey(damaged, `/a/c/${bit}`);
      const error = await assertRejects(
        async () => await codec.decode(damaged),
        ChecksumError,
        `The chunk at "/a/c/${bit}" has the ${what} 0x`,
      );
      assertEquals(error.key, `/a/c/${bit}`);
      assert(error.expected !== error.actual);
    }
    for (let length = 0; length < 4; length++) {
      await assertRejects(
        async () => await codec.decode(encoded.slice(0, length)),
        DamageError,
        `The chunk is ${length} bytes long, fewer than the 4 bytes of its ${what}`,
      );
    }
  });
}

Deno.test("crc32c refuses any configuration", () => {
  const refused: [unknown, string][] = [
    [{ location: "end" }, "/configuration/location"],
    [null, "/configuration"],
    [[], "/configuration"],
    ["end", "/configuration"],
  ];
  for (const [configuration, path] of refused) {
    const error = assertThrows(
      () => make("crc32c", configuration),
      MetadataError,
    );
    assertEquals(error.path, path);
  }
});
