import { assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import fc from "fast-check";
import { createHash } from "node:crypto";
import { decodeJpeg } from "../../src/codecs/jpeg/decode_jpeg.ts";
import { runs, stride } from "../support/runs.ts";
import { fixture, FIXTURES, placeOf } from "./jpeg_fixtures.ts";

const DHT = 0xc4;
const DQT = 0xdb;
const SOF0 = 0xc0;
const SOS = 0xda;

function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, length) => product * length, 1);
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

for (const { name, jpeg, shape, sha256 } of FIXTURES) {
  Deno.test(`decodeJpeg decodes ${name} to the samples of imagecodecs`, () => {
    const shapes: (readonly number[])[] = [];
    const decoded = decodeJpeg(jpeg, {
      assertShape: (found) => shapes.push(found),
    });
    assertEquals(shapes, [shape]);
    assertEquals(decoded.length, sizeOf(shape));
    assertEquals(hashOf(decoded), sha256);
  });
}

Deno.test("decodeJpeg needs neither the marker of the end nor a byte after the data", () => {
  for (const { jpeg, sha256 } of FIXTURES) {
    assertEquals(hashOf(decodeJpeg(jpeg.slice(0, -2))), sha256);
  }
});

Deno.test("decodeJpeg refuses a picture that is cut short, at any byte, if it is strict", () => {
  for (const { name, jpeg, sha256 } of FIXTURES) {
    const bytes = (jpeg.length < 900 ? 1 : 7) * stride(20);
    for (let cut = 0; cut < jpeg.length - 2; cut += bytes) {
      let decoded: Uint8Array;
      try {
        decoded = decodeJpeg(jpeg.subarray(0, cut), { isStrict: true });
      } catch (error) {
        assertInstanceOf(error, SyntaxError, name);
        continue;
      }
      // The last bits may be padding, and the last scans may add nothing.
      assertEquals(decoded.length > 0, true);
      if (cut < jpeg.length - 40) {
        assertEquals(hashOf(decoded), sha256, `${name} at ${cut}`);
      }
    }
  }
});

Deno.test("decodeJpeg returns all samples or refuses the picture, whichever bytes are changed", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...FIXTURES),
      fc.array(fc.tuple(fc.double({ min: 0, max: 1 }), fc.nat(255)), {
        minLength: 1,
        maxLength: 4,
      }),
      ({ jpeg, shape }, changes) => {
        const changed = jpeg.slice();
        for (const [place, byte] of changes) {
          changed[Math.floor(place * (jpeg.length - 1))] = byte;
        }
        try {
          const decoded = decodeJpeg(changed, {
            assertShape(found) {
              if (sizeOf(found) !== sizeOf(shape)) throw new SyntaxError();
            },
          });
          assertEquals(decoded.length, sizeOf(shape));
        } catch (error) {
          assertInstanceOf(error, SyntaxError);
        }
      },
    ),
    { numRuns: runs(4000) },
  );
});

Deno.test("decodeJpeg passes the shape on before it takes memory", () => {
  const { jpeg } = fixture("33x17x3 -sample 2x2 -progressive");
  const large = jpeg.slice();
  const frame = placeOf(jpeg, 0xc2);
  large.fill(0xff, frame + 5, frame + 9); // 65535 by 65535 pixels.
  const before = Deno.memoryUsage();
  const error = assertThrows(() =>
    decodeJpeg(large, {
      assertShape(shape) {
        assertEquals(shape, [65535, 65535, 3]);
        throw new SyntaxError("Too large");
      },
    }), SyntaxError);
  assertEquals(error.message, "Too large");
  const after = Deno.memoryUsage();
  assertEquals(after.external - before.external < 2 ** 20, true);
});

Deno.test("decodeJpeg refuses more scans than encoders write", () => {
  const { jpeg } = fixture("40x33x3 -progressive");
  const start = placeOf(jpeg, SOS);
  const end = start + 2 + placeOf(jpeg.subarray(start + 2), DHT);
  const scan = jpeg.subarray(start, end);
  const many = (count: number) =>
    new Uint8Array([
      ...jpeg.subarray(0, start),
      ...Array.from({ length: count }, () => [...scan]).flat(),
      ...jpeg.subarray(end),
    ]);
  assertEquals(decodeJpeg(many(20)).length, 40 * 33 * 3);
  assertThrows(() => decodeJpeg(many(100)), SyntaxError, "100 scans at most");
});

/** Moves the segments of tables out of a picture. */
function withoutTables(jpeg: Uint8Array): {
  tables: Uint8Array;
  picture: Uint8Array;
} {
  const tables = [0xff, 0xd8];
  const picture = [0xff, 0xd8];
  let place = 2;
  while (jpeg[place + 1] !== SOS) {
    const end = place + 2 + jpeg[place + 2]! * 256 + jpeg[place + 3]!;
    const isTable = [DHT, DQT].includes(jpeg[place + 1]!);
    (isTable ? tables : picture).push(...jpeg.subarray(place, end));
    place = end;
  }
  return {
    tables: new Uint8Array([...tables, 0xff, 0xd9]),
    picture: new Uint8Array([...picture, ...jpeg.subarray(place)]),
  };
}

Deno.test("decodeJpeg takes tables from elsewhere, and those of the picture in place of them", () => {
  const { jpeg, sha256 } = fixture("33x17x3 -sample 2x2");
  const { tables, picture } = withoutTables(jpeg);
  assertEquals(hashOf(decodeJpeg(picture, { tables })), sha256);
  const others = withoutTables(fixture("40x33x3 -quality 100").jpeg).tables;
  assertEquals(hashOf(decodeJpeg(jpeg, { tables: others })), sha256);
  for (const kept of [undefined, new Uint8Array([0xff, 0xd8, 0xff, 0xd9])]) {
    assertThrows(
      () => decodeJpeg(picture, { tables: kept }),
      SyntaxError,
      "which is missing: expected it in the picture or in tables",
    );
  }
});

Deno.test("decodeJpeg converts colors as it is told, and refuses what libjpeg does not convert", () => {
  const { jpeg, sha256 } = fixture("33x17x3 -sample 2x1");
  const luma = decodeJpeg(jpeg, { colors: "gray" });
  const raw = decodeJpeg(jpeg, { storedColors: "ycbcr", colors: "ycbcr" });
  assertEquals(luma, raw.filter((_, i) => i % 3 === 0));
  assertEquals(decodeJpeg(jpeg, { storedColors: "rgb" }), raw);
  assertEquals(hashOf(decodeJpeg(jpeg, { colors: "rgb" })), sha256);
  const gray = fixture("33x17x1 ");
  const samples = decodeJpeg(gray.jpeg);
  assertEquals(
    decodeJpeg(gray.jpeg, { colors: "rgb" }),
    Uint8Array.from(
      { length: 3 * samples.length },
      (_, i) => samples[Math.floor(i / 3)]!,
    ),
  );
  assertThrows(
    () => decodeJpeg(jpeg, { colors: "cmyk" }),
    SyntaxError,
    "The colors ycbcr are not converted to cmyk",
  );
  assertThrows(
    () => decodeJpeg(jpeg, { storedColors: "gray" }),
    SyntaxError,
    "Expected 1 components for the colors gray, found 3",
  );
});

Deno.test("decodeJpeg takes colors from JFIF before Adobe's segment and identifiers", () => {
  const { jpeg, sha256 } = fixture("33x17x3 -sample 1x1");
  const named = jpeg.slice();
  const [frame, scan] = [placeOf(jpeg, SOF0), placeOf(jpeg, SOS)];
  for (const [i, letter] of ["R", "G", "B"].entries()) {
    named[frame + 10 + 3 * i] = letter.charCodeAt(0);
    named[scan + 5 + 2 * i] = letter.charCodeAt(0);
  }
  assertEquals(hashOf(decodeJpeg(named)), sha256);
  const withoutJfif = new Uint8Array([0xff, 0xd8, ...named.subarray(20)]);
  const raw = decodeJpeg(jpeg, { storedColors: "rgb" });
  assertEquals(decodeJpeg(withoutJfif), raw);
  for (const transform of [0, 1]) {
    const segment = [0xff, 0xee, 0, 14, ...new TextEncoder().encode("Adobe")];
    const adobe = [...segment, 0, 100, 0, 0, 0, 0, transform];
    const picture = jpeg.subarray(20);
    const decoded = decodeJpeg(
      new Uint8Array([0xff, 0xd8, ...adobe, ...picture]),
    );
    if (transform === 0) assertEquals(decoded, raw);
    else assertEquals(hashOf(decoded), sha256);
  }
});

Deno.test("decodeJpeg keeps the quantization tables of the first scan", () => {
  const { jpeg, sha256 } = fixture("40x33x3 -progressive");
  const others = withoutTables(fixture("40x33x3 -quality 100").jpeg).tables;
  const end = jpeg.length - 2;
  let last = end;
  while (jpeg[last] !== 0xff || jpeg[last + 1] !== DHT) last--;
  const quantization = others.subarray(2, placeOf(others, DHT));
  const changed = new Uint8Array([
    ...jpeg.subarray(0, last),
    ...quantization,
    ...jpeg.subarray(last),
  ]);
  assertEquals(hashOf(decodeJpeg(changed)), sha256);
});

Deno.test("decodeJpeg skips bytes of ones before a stuffed one, and bytes before a marker", () => {
  const { jpeg, sha256 } = fixture("50x40x3 -quality 100 -restart 2B");
  const bytes = Array.from(jpeg);
  const start = placeOf(jpeg, SOS);
  const stuffed = bytes.findIndex((byte, i) =>
    i > start && byte === 0xff && bytes[i + 1] === 0
  );
  const restart = placeOf(jpeg, 0xd0);
  assertEquals(stuffed > 0 && restart > 0, true);
  for (const [place, added] of [[stuffed, [0xff]], [restart, [1, 2, 3]]]) {
    const longer = bytes.toSpliced(place as number, 0, ...added as number[]);
    assertEquals(hashOf(decodeJpeg(new Uint8Array(longer))), sha256);
  }
});

/** Replaces all symbols of the Huffman table before a scan. */
function withSymbol(name: string, scan: number, symbol: number): Uint8Array {
  const bytes = fixture(name).jpeg.slice();
  let place = 0;
  for (let i = 0; i < scan; i++) {
    place += 2 + placeOf(bytes.subarray(place + 2), SOS);
  }
  while (bytes[place] !== 0xff || bytes[place + 1] !== DHT) place--;
  const end = place + 2 + bytes[place + 2]! * 256 + bytes[place + 3]!;
  return bytes.fill(symbol, place + 21, end);
}

for (
  const [name, scan, what] of [
    ["33x17x1 ", 1, "a baseline picture"],
    ["33x17x1 -progressive", 2, "a scan of first bits"],
    ["33x17x1 -progressive", 4, "a scan of further bits"],
  ] as const
) {
  Deno.test(`decodeJpeg refuses ${what} with more coefficients than a block has`, () => {
    const jpeg = withSymbol(name, scan, 0xd1); // 13 zeros before each coefficient.
    assertThrows(
      () => decodeJpeg(jpeg),
      SyntaxError,
      "A block has more than 64 coefficients",
    );
  });
}

const BASELINE = "33x17x3 -sample 2x1";
const REFUSED: [string, Uint8Array, string][] = [
  ["no JPEG file", new Uint8Array(9), "starts with the bytes 0xff and 0xd8"],
  ["a file without a picture", new Uint8Array([255, 216]), "found none"],
  [
    "12 bits per sample",
    changed(BASELINE, SOF0, 4, 12),
    "Expected samples of 8 bits, found 12",
  ],
  ["lossless", changed(BASELINE, SOF0, 1, 0xc3), "found lossless"],
  [
    "arithmetic coding",
    changed(BASELINE, SOF0, 1, 0xc9),
    "found arithmetic coding",
  ],
  ["five components", changed(BASELINE, SOF0, 9, 5), "frame is damaged"],
  [
    "no components",
    changed(BASELINE, SOF0, 3, 8, 9, 0),
    "frame is damaged",
  ],
  [
    "sampling factors of 3 and 2",
    changed(BASELINE, SOF0, 11, 0x31, 14, 0x21),
    "sampling factors of 1 to 4 that divide 3 and 1, found 2 and 1",
  ],
  [
    "a sampling factor of 0",
    changed(BASELINE, SOF0, 11, 0x20),
    "found 2 and 0",
  ],
  [
    "components with the same identifier",
    changed(BASELINE, SOF0, 13, 1),
    "Two components have the identifier 1",
  ],
  ["no pixels", changed(BASELINE, SOF0, 5, 0, 6, 0), "found 33 by 0 pixels"],
  [
    "a scan of a component that the frame lacks",
    changed(BASELINE, SOS, 5, 9),
    "A scan has the component 9, which its frame lacks",
  ],
  [
    "a scan of a component twice",
    changed(BASELINE, SOS, 7, 1),
    "A scan has a component twice",
  ],
  [
    "a sequential scan of some coefficients",
    changed(BASELINE, SOS, 12, 62),
    "the coefficients 0 to 62",
  ],
  [
    "a progressive scan of first and other coefficients",
    changed("33x17x3 -sample 2x1 -progressive", SOS, 12, 5),
    "the coefficients 0 to 5",
  ],
  [
    "a Huffman table with a code of ones alone",
    changed(BASELINE, DHT, 5, 2, 7, 3),
    "A Huffman table has too many codes of 1 bits",
  ],
  [
    "a Huffman table that is longer than its segment",
    changed(BASELINE, DHT, 20, 200),
    "A segment of Huffman tables is damaged",
  ],
  [
    "the quantization table 4",
    changed(BASELINE, DQT, 4, 4),
    "A segment of quantization tables is damaged",
  ],
  [
    "a segment that is longer than the file",
    changed(BASELINE, DQT, 2, 200),
    "The segment at 20 has 51267 bytes",
  ],
  [
    "a reserved marker",
    changed(BASELINE, DQT, 1, 0x1d),
    "Unexpected marker 0xff1d",
  ],
  [
    "a second start",
    changed(BASELINE, DQT, 1, 0xd8),
    "Unexpected marker 0xffd8",
  ],
  [
    "a Huffman table with 16 bits of a first coefficient",
    changed(BASELINE, DHT, 21, 16),
    "A segment of Huffman tables is damaged",
  ],
  ["two frames", twice(BASELINE, SOF0), "Expected one frame, found two"],
  [
    "restart markers in a wrong order",
    changed("40x33x3 -restart 1", 0xd1, 1, 0xd2),
    "Expected the restart marker 0xffd1",
  ],
];

/** A picture with some bytes of a segment changed, by their offsets. */
function changed(
  name: string,
  marker: number,
  ...changes: readonly number[]
): Uint8Array {
  const bytes = fixture(name).jpeg.slice();
  const place = placeOf(bytes, marker);
  for (let i = 0; i < changes.length; i += 2) {
    bytes[place + changes[i]!] = changes[i + 1]!;
  }
  return bytes;
}

/** A picture that has a segment twice. */
function twice(name: string, marker: number): Uint8Array {
  const { jpeg } = fixture(name);
  const start = placeOf(jpeg, marker);
  const end = start + 2 + jpeg[start + 2]! * 256 + jpeg[start + 3]!;
  return new Uint8Array([...jpeg.subarray(0, end), ...jpeg.subarray(start)]);
}

for (const [name, jpeg, message] of REFUSED) {
  Deno.test(`decodeJpeg refuses ${name}`, () => {
    assertThrows(() => decodeJpeg(jpeg), SyntaxError, message);
  });
}
