import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { elementBytes } from "../../src/tiff/tiff_array.ts";
import { rational } from "../../src/tiff/directory_writer.ts";

Deno.test("rational gives fractions that equal numbers where such fractions exist, and close ones elsewhere", () => {
  const known: [number, [number, number]][] = [
    [0, [0, 1]],
    [72, [72, 1]],
    [300.25, [1201, 4]],
    [1 / 3, [1, 3]],
    [2 ** 32 - 1, [2 ** 32 - 1, 1]],
  ];
  for (const [number, fraction] of known) {
    assertEquals(rational(number), fraction);
  }
  fc.assert(
    fc.property(fc.double({ min: 1e-4, max: 1e5, noNaN: true }), (number) => {
      const [above, below] = rational(number);
      assert(Number.isInteger(above) && above < 2 ** 32);
      assert(Number.isInteger(below) && below > 0 && below < 2 ** 32);
      assert(Math.abs(above / below - number) <= number * 1e-4);
    }),
  );
});

Deno.test("elementBytes encodes floating-point numbers as DataView does", () => {
  const view = new DataView(new ArrayBuffer(8));
  const half = fc.nat(0xffff).map((bits) => {
    view.setUint16(0, bits);
    return view.getFloat16(0);
  });
  const numbers = fc.oneof(
    half,
    fc.double(),
    fc.double({ min: -70000, max: 70000 }),
    fc.constantFrom(65519.99, 65520, 2 ** -25, 2 ** -24, -0, 2047.5, 2049),
  );
  fc.assert(
    fc.property(numbers, fc.boolean(), (given, isLittle) => {
      const number = Number.isNaN(given) ? NaN : given; // Without other bits.
      const text = Number.isFinite(number) ? number : String(number);
      for (const bits of [16, 32, 64] as const) {
        view[`setFloat${bits}`](0, number, isLittle);
        assertEquals(
          elementBytes("float", bits, text, isLittle),
          new Uint8Array(view.buffer.slice(0, bits / 8)),
        );
      }
    }),
  );
});

Deno.test("elementBytes encodes integers in all notations, and refuses other values", () => {
  const bytes = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe];
  for (const value of [-2n, { rawJSON: "-2" }, -2]) {
    assertEquals([...elementBytes("int", 64, value, false)], bytes);
    assertEquals(
      [...elementBytes("int", 64, value, true)],
      bytes.toReversed(),
    );
  }
  assertEquals([...elementBytes("float", 32, "0x7fc00001", false)], [
    0x7f,
    0xc0,
    0,
    1,
  ]);
  for (const value of ["1", true, {}, [], 0.5, NaN, 32768]) {
    assertThrows(
      () => elementBytes("int", 16, value, true),
      RangeError,
      'Expected a fill value of the data type "int16"',
    );
  }
  for (const value of ["1", {}, true]) {
    assertThrows(() => elementBytes("float", 16, value, true), RangeError);
  }
});

Deno.test("elementBytes encodes booleans and complex numbers, and zeros where there is no fill value", () => {
  assertEquals([...elementBytes("bool", 8, true, true)], [1]);
  assertEquals([...elementBytes("bool", 8, false, true)], [0]);
  const halves = [[0x3f, 0xc0, 0, 0], [0xc0, 0, 0, 0]]; // 1.5 and −2
  assertEquals(
    [...elementBytes("complex", 64, [1.5, -2], false)],
    halves.flat(),
  );
  assertEquals(
    [...elementBytes("complex", 64, [1.5, "-Infinity"], true)],
    [0, 0, 0xc0, 0x3f, 0, 0, 0x80, 0xff],
  );
  assertEquals(elementBytes("complex", 128, [0, 0], true), new Uint8Array(16));
  for (const value of [null, undefined]) {
    for (
      const [kind, bits] of [["int", 16], ["complex", 128], [
        "bool",
        8,
      ]] as const
    ) {
      assertEquals(
        elementBytes(kind, bits, value, false),
        new Uint8Array(bits / 8),
      );
    }
  }
  for (
    const [kind, bits, value] of [
      ...["bool", "bool"].map((kind, i) => [kind, 8, i] as const),
      ["bool", 8, "true"],
      ["complex", 64, 1],
      ["complex", 64, [1]],
      ["complex", 64, [1, 2, 3]],
      ["complex", 64, [1, true]],
    ] as const
  ) {
    assertThrows(
      () => elementBytes(kind, bits, value, true),
      RangeError,
      "Expected a fill value of the data type",
    );
  }
});
