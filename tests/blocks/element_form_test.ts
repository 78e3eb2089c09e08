/** The bytes of fill values. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { ArrayMetadata } from "../../mod.ts";
import { elementForm, fillBytes } from "../../src/blocks/mod.ts";

type DataType = ArrayMetadata["data_type"];

function bytesOf(data_type: DataType, fill_value: unknown) {
  const form = elementForm(data_type)!;
  const metadata = { data_type, fill_value } as ArrayMetadata;
  const bytes = fillBytes(metadata, form);
  return bytes && [...bytes];
}

const named = (name: string, configuration: Record<string, unknown>) => ({
  name,
  configuration,
});
const DATE = named("numpy.datetime64", { unit: "s", scale_factor: 1 });
const TEXT = named("fixed_length_utf32", { length_bytes: 8 });
const TERMINATED = named("null_terminated_bytes", { length_bytes: 3 });
const STRUCT = named("structured", {
  fields: [["a", "int16"], ["b", "float32"]],
});
const LEAST_64 = [0, 0, 0, 0, 0, 0, 0, 0x80];

const CASES: [DataType, unknown, number[] | undefined][] = [
  ["bool", true, [1]],
  ["bool", false, [0]],
  ["int8", -1, [255]],
  ["uint16", 258, [2, 1]],
  ["int32", -2, [254, 255, 255, 255]],
  ["int64", -(2n ** 63n), LEAST_64],
  ["int64", "-9223372036854775808", LEAST_64],
  ["uint64", "18446744073709551615", Array(8).fill(255)],
  ["uint8", 1.5, undefined],
  ["uint8", "1.5", undefined],
  ["uint8", { a: 1 }, undefined],
  ["uint8", [1, 2], undefined],
  ["uint8", undefined, [0]],
  ["float32", null, [0, 0, 0, 0]],
  ["float16", 1.5, [0, 0x3e]],
  ["float16", "NaN", [0, 0x7e]],
  ["float16", "-Infinity", [0, 0xfc]],
  ["float32", "NaN", [0, 0, 0xc0, 0x7f]],
  ["float32", "0x7fc00001", [1, 0, 0xc0, 0x7f]],
  ["float32", "0x7fc0000", undefined],
  ["float32", "0x7fc000010", undefined],
  ["float32", "one", undefined],
  ["float32", true, [0, 0, 0x80, 0x3f]],
  ["int16", true, [1, 0]],
  ["float64", 1, [0, 0, 0, 0, 0, 0, 0xf0, 0x3f]],
  ["float64", 2n ** 60n, [0, 0, 0, 0, 0, 0, 0xb0, 0x43]],
  ["float64", "NaN", [0, 0, 0, 0, 0, 0, 0xf8, 0x7f]],
  ["float64", "-Infinity", [0, 0, 0, 0, 0, 0, 0xf0, 0xff]],
  ["bfloat16", 1, [0x80, 0x3f]],
  ["bfloat16", "NaN", [0xc0, 0x7f]],
  ["bfloat16", 0.1, undefined],
  ["float8_e4m3fn", 0, [0]],
  ["float8_e4m3fn", -0, undefined],
  ["float8_e4m3fn", 1, undefined],
  ["complex64", [1, "Infinity"], [0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x7f]],
  ["complex64", [1], undefined],
  ["complex64", 1, undefined],
  [
    "complex128",
    [-0, "NaN"],
    [...LEAST_64, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f],
  ],
  ["r24", [1, 2, 3], [1, 2, 3]],
  ["r24", [1, 2], [1, 2, 0]],
  ["r24", [1, 2, 3, 4], undefined],
  ["r24", [1, 2, 256], undefined],
  ["r24", "AQI=", [1, 2, 0]],
  ["r24", "?", undefined],
  ["r24", 5, undefined],
  ["r8", [5], [5]],
  [TERMINATED, "YWI=", [97, 98, 0]],
  [TERMINATED, "YWJjZA==", undefined],
  [TEXT, "a😀", [97, 0, 0, 0, 0, 0xf6, 1, 0]],
  [TEXT, "a", [97, 0, 0, 0, 0, 0, 0, 0]],
  [TEXT, "abc", undefined],
  [TEXT, 5, undefined],
  [DATE, "NaT", LEAST_64],
  [DATE, -1, Array(8).fill(255)],
  [DATE, "soon", undefined],
  [STRUCT, "AQAAAIA/", [1, 0, 0, 0, 0x80, 0x3f]],
  [STRUCT, "AQAAAIA/AAAA", undefined],
];

for (const [type, value, bytes] of CASES) {
  const name = typeof type === "string" ? type : type.name;
  Deno.test(`fillBytes knows the fill value ${Deno.inspect(value)} of ${name}`, () => {
    assertEquals(bytesOf(type, value), bytes);
  });
}

Deno.test("fillBytes rounds floats as typed arrays do", () => {
  const half = fc.oneof(
    fc.double(),
    fc.integer({ min: 0, max: 0xffff }).chain((bits) => {
      // Numbers in the middle of two floats of 16 bits, and beside it.
      const [one] = new Float16Array(Uint16Array.of(bits).buffer);
      const [other] = new Float16Array(Uint16Array.of(bits ^ 1).buffer);
      const middle = (one! + other!) / 2;
      return fc.constantFrom(one!, middle, middle * (1 + 2 ** -40));
    }),
    fc.constantFrom(65504, 65519.99, 65520, 2 ** -24, 2 ** -25, 2 ** -14),
  );
  const lists = [Float16Array, Float32Array, Float64Array];
  fc.assert(
    fc.property(half, (number) => {
      for (const List of lists) {
        const name = `float${8 * List.BYTES_PER_ELEMENT}`;
        if (Number.isNaN(number)) continue;
        const expected = new Uint8Array(List.of(number).buffer);
        assertEquals(bytesOf(name, number), [...expected], `${name} ${number}`);
      }
    }),
    { numRuns: 2000 },
  );
});

for (
  const type of [
    "string",
    "unknown_type",
    named("structured", { fields: [] }),
    named("structured", { fields: ["a"] }),
    named("structured", { fields: [["a", 5]] }),
    named("structured", { fields: [["a", "string"]] }),
    named("structured", {}),
    named("fixed_length_utf32", { length_bytes: 6 }),
    named("fixed_length_utf32", { length_bytes: 0 }),
    named("null_terminated_bytes", { length_bytes: -1 }),
    named("raw_bytes", { length_bytes: "4" }),
  ]
) {
  Deno.test(`elementForm knows no length of ${JSON.stringify(type)}`, () => {
    assertEquals(elementForm(type), undefined);
  });
}
