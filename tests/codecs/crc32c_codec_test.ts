import {
  assert,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { ChecksumError, DamageError, MetadataError } from "../../mod.ts";
import { keyOf, noteKey } from "../../src/codecs/codec.ts";
import { Crc32cCodec } from "../../src/codecs/crc32c_codec.ts";

const codec = Crc32cCodec.fromConfig(undefined);

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

function lowestFirst(crc: number): number[] {
  return [0, 8, 16, 24].map((shift) => crc >>> shift & 0xff);
}

Deno.test("crc32c appends the checksum of 123456789, the lowest byte first", () => {
  const bytes = new TextEncoder().encode("123456789");
  const encoded = codec.encode(bytes);
  assertEquals(encoded.subarray(0, 9), bytes);
  assertEquals(Array.from(encoded.subarray(9)), [0x83, 0x92, 0x06, 0xe3]);
  assertEquals(codec.kind, "bytes_to_bytes");
});

Deno.test("crc32c encodes and decodes any bytes anywhere in a buffer, and changes none", () => {
  const memory = fc.record({
    all: fc.uint8Array({ maxLength: 100 }),
    start: fc.nat(9),
    left: fc.nat(9),
  });
  fc.assert(fc.property(memory, ({ all, start, left }) => {
    const bytes = all.subarray(start, Math.max(start, all.length - left));
    const before = all.slice();
    const encoded = codec.encode(bytes);
    assertEquals(Array.from(encoded), [
      ...bytes,
      ...lowestFirst(oracle(bytes)),
    ]);
    assertEquals(codec.computeEncodedSize(bytes.length), encoded.length);
    const around = new Uint8Array(start + encoded.length + left).fill(7);
    around.set(encoded, start);
    const stored = around.subarray(start, start + encoded.length);
    const decoded = codec.decode(stored);
    assertEquals(decoded, new Uint8Array(bytes));
    // Not a view, since zarrita would encode the bytes around it too.
    assertEquals(decoded.buffer.byteLength, bytes.length);
    assertEquals(all, before);
  }));
});

Deno.test("crc32c decodes four bytes into none, and rejects fewer", () => {
  assertEquals(codec.decode(new Uint8Array(4)), new Uint8Array(0));
  for (let length = 0; length < 4; length++) {
    const bytes = new Uint8Array(length);
    assertThrows(
      () => codec.decode(bytes),
      DamageError,
      `The chunk is ${length} bytes long, fewer than the 4 bytes of its CRC32C`,
    );
    noteKey(bytes, "/a/c/0");
    assertThrows(
      () => codec.decode(bytes),
      DamageError,
      `The chunk at "/a/c/0" is ${length} bytes long`,
    );
  }
});

Deno.test("crc32c rejects a chunk with any flipped bit, and names its key", () => {
  const bytes = Uint8Array.from({ length: 13 }, (_, i) => 37 * i);
  const encoded = codec.encode(bytes);
  for (let bit = 0; bit < 8 * encoded.length; bit++) {
    const damaged = encoded.slice();
    damaged[bit >> 3]! ^= 1 << (bit & 7);
    const key = `/a/c/${bit}`;
    noteKey(damaged, key);
    const error = assertThrows(() => codec.decode(damaged), ChecksumError);
    const expected = new DataView(damaged.buffer).getUint32(13, true);
    const actual = oracle(damaged.subarray(0, 13));
    assertEquals(error.key, key);
    assertEquals(error.expected, expected);
    assertEquals(error.actual, actual);
    const hexadecimal = (crc: number) =>
      "0x" + (crc + 2 ** 32).toString(16).slice(1);
    assertEquals(
      error.message,
      `The chunk at "${key}" has the CRC32C ${hexadecimal(actual)}, where ${
        hexadecimal(expected)
      } is stored in its last 4 bytes`,
    );
  }
  assertEquals(codec.decode(encoded), bytes);
});

Deno.test('crc32c names a chunk without a key "a chunk"', () => {
  const error = assertThrows(
    () => codec.decode(new Uint8Array([1, 0, 0, 0, 0])),
    ChecksumError,
  );
  assertEquals(error.key, "");
  assert(error.message.startsWith("The chunk has the CRC32C 0xa016d052, "));
});

Deno.test("crc32c passes the key on to the codecs after it", () => {
  const encoded = codec.encode(new Uint8Array([1, 2, 3]));
  assertEquals(keyOf(codec.decode(encoded)), "");
  noteKey(encoded, "/a/c/0");
  assertEquals(keyOf(codec.decode(encoded)), "/a/c/0");
});

Deno.test("crc32c accepts an empty configuration or none, and rejects any other", () => {
  for (const configuration of [undefined, {}]) {
    const other = Crc32cCodec.fromConfig(configuration);
    assertEquals(other.encode(new Uint8Array(0)), new Uint8Array(4));
  }
  const refused: [unknown, string][] = [
    [{ location: "end" }, "/configuration/location"],
    [null, "/configuration"],
    [[], "/configuration"],
    ["end", "/configuration"],
  ];
  for (const [configuration, path] of refused) {
    const error = assertThrows(
      () => Crc32cCodec.fromConfig(configuration),
      MetadataError,
    );
    assertEquals(error.path, path);
  }
  const { message } = assertThrows(
    () => Crc32cCodec.fromConfig({ location: "end" }),
    MetadataError,
  );
  assertStringIncludes(
    message,
    'Unknown member "location" in the configuration of crc32c; known are none',
  );
});

Deno.test("noteKey keeps the last noted key of each byte array", () => {
  const bytes = new Uint8Array(4);
  assertEquals(keyOf(bytes), "");
  noteKey(bytes, "/a");
  assertEquals(keyOf(bytes.subarray(0)), "", "another object");
  noteKey(bytes, "/b");
  assertEquals(keyOf(bytes), "/b");
});
