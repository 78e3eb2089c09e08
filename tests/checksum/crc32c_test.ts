import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { Buffer } from "node:buffer";
import { Crc32c, crc32c } from "../../src/checksum/crc32c.ts";
import { CHECKSUM_WAYS } from "./checksum_ways.ts";
import { crc32cBitByBit, crc32cOfPeer } from "./crc32c_oracle.ts";
import { noise } from "./noise.ts";

/** One length for each way of computing a CRC32C, and lengths beyond the copied block. */
const LENGTHS = [0, 1, 100, 300, 5000, 40_000, 300_000, 1_000_001];

const counting = Uint8Array.from({ length: 32 }, (_, i) => i);

/** The examples of RFC 3720, B.4, and the customary check value. */
const CHECK_VALUES: [string, Uint8Array, number][] = [
  ["32 zeros", new Uint8Array(32), 0x8a9136aa],
  ["32 ones", new Uint8Array(32).fill(0xff), 0x62a8ab43],
  ["32 rising", counting, 0x46dd794e],
  ["32 falling", counting.toReversed(), 0x113fdb5c],
  ["123456789", new TextEncoder().encode("123456789"), 0xe3069283],
  ["nothing", new Uint8Array(), 0],
];

for (const [name, bytes, expected] of CHECK_VALUES) {
  Deno.test(`crc32c and Crc32c give the known check value of ${name}`, () => {
    for (const [way, checksum] of CHECKSUM_WAYS) {
      assertStrictEquals(checksum(bytes, 0), expected, way);
    }
    assertStrictEquals(crc32c(bytes), expected);
    assertStrictEquals(new Crc32c().update(bytes).digest(), expected);
    assertStrictEquals(crc32cBitByBit(bytes), expected, "the oracle");
    assertStrictEquals(crc32cOfPeer(bytes), expected, "the peer");
  });
}

/** The same bytes in all kinds of memory. */
function kindsOfMemory(bytes: Uint8Array): Record<string, Uint8Array> {
  const { length } = bytes;
  const memory = new WebAssembly.Memory({
    initial: Math.ceil((length + 7) / 65536),
  });
  const views = {
    "a Buffer in a pool": Buffer.from(bytes),
    "a Buffer at an odd place": Buffer.alloc(length + 1).subarray(1),
    "shared memory": new Uint8Array(
      new SharedArrayBuffer(length + 9),
      3,
      length,
    ),
    "resizable memory": new Uint8Array(
      new ArrayBuffer(length + 5, { maxByteLength: length + 10 }),
      5,
    ),
    "memory of another Wasm module": new Uint8Array(memory.buffer, 7, length),
    "the middle of other bytes": noise(length + 30).subarray(11, 11 + length),
  };
  for (const view of Object.values(views)) view.set(bytes);
  return views;
}

for (const length of LENGTHS) {
  Deno.test(`crc32c takes ${length} bytes from any memory, and leaves it as it was`, () => {
    const bytes = noise(length);
    const expected = crc32cBitByBit(bytes);
    for (const [kind, view] of Object.entries(kindsOfMemory(bytes))) {
      const around = new Uint8Array(view.buffer).slice();
      for (const [way, checksum] of CHECKSUM_WAYS) {
        assertStrictEquals(checksum(view, 0), expected, `${way}, ${kind}`);
      }
      assertStrictEquals(new Crc32c().update(view).digest(), expected, kind);
      assertEquals(
        Buffer.compare(around, new Uint8Array(view.buffer)),
        0,
        kind,
      );
    }
  });
}

for (
  const [wrong, kind] of [
    [undefined, "undefined"],
    [null, "null"],
    ["123456789", "string"],
    [[1, 2, 3], "Array"],
    [Object.create(null), "null"],
    [new ArrayBuffer(3), "ArrayBuffer"],
    [new Uint8ClampedArray(3), "Uint8ClampedArray"],
  ] as [unknown, string][]
) {
  Deno.test(`crc32c and Crc32c.update refuse ${Deno.inspect(wrong)} for bytes`, () => {
    const message = `Expected bytes as Uint8Array, found ${kind}`;
    const bytes = wrong as unknown as Uint8Array;
    assertThrows(() => crc32c(bytes), TypeError, message);
    const checksum = new Crc32c().update(counting);
    assertThrows(() => checksum.update(bytes), TypeError, message);
    assertStrictEquals(checksum.digest(), 0x46dd794e);
  });
}

for (const wrong of [-1, 2 ** 32, 0.5, NaN, "0", null]) {
  Deno.test(`crc32c refuses ${Deno.inspect(wrong)} for a CRC32C to continue`, () => {
    for (const length of LENGTHS.slice(0, 4)) {
      assertThrows(
        () => crc32c(new Uint8Array(length), wrong as unknown as number),
        RangeError,
        `Expected a CRC32C from 0 to 4294967295 to continue, found ${wrong}`,
      );
    }
  });
}

Deno.test("Crc32c.digest ends nothing, and Crc32c.reset starts anew", () => {
  const checksum = new Crc32c();
  assertStrictEquals(checksum.digest(), 0);
  for (let round = 0; round < 2; round++) {
    assertStrictEquals(checksum.update(counting.subarray(0, 9)), checksum);
    assertStrictEquals(
      checksum.digest(),
      crc32cBitByBit(counting.subarray(0, 9)),
    );
    assertStrictEquals(checksum.digest(), checksum.digest());
    assertStrictEquals(
      checksum.update(counting.subarray(9)).digest(),
      0x46dd794e,
    );
    assertStrictEquals(checksum.reset(), checksum);
    assertStrictEquals(checksum.digest(), 0);
  }
});
