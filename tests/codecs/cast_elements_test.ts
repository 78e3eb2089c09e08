import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  castValues,
  type NumberType,
  readValues,
  sizeOfType,
  writeValues,
} from "../../src/codecs/cast_elements.ts";
import { fromNumpy, storedForm } from "../../src/codecs/decoded_length.ts";

const INTEGERS = [8, 16, 32, 64].flatMap((bits) =>
  [`int${bits}`, `uint${bits}`] as NumberType[]
);
const TYPES: NumberType[] = [...INTEGERS, "float16", "float32", "float64"];

Deno.test("readValues and writeValues keep the elements of all data types", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...TYPES),
      fc.uint8Array({ maxLength: 64 }),
      (type, given) => {
        const size = sizeOfType(type);
        const bytes = given.slice(0, given.length - given.length % size);
        const values = readValues(bytes, type);
        const written = writeValues(values, type);
        // NaN may lose its bits.
        const again = readValues(written, type);
        assertEquals([...again], [...values]);
        assertEquals(written.length, bytes.length);
      },
    ),
  );
});

Deno.test("castValues wraps integers around, as bigints do", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...INTEGERS),
      fc.constantFrom(...INTEGERS),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
      (from, to, any) => {
        const bits = (type: NumberType) => 8 * sizeOfType(type);
        const wrap = (type: NumberType, value: bigint) =>
          type.startsWith("u")
            ? BigInt.asUintN(bits(type), value)
            : BigInt.asIntN(bits(type), value);
        const value = wrap(from, any);
        const bytes = new Uint8Array(8);
        new DataView(bytes.buffer).setBigInt64(
          0,
          BigInt.asIntN(64, value),
          true,
        );
        const [read] = readValues(bytes.slice(0, sizeOfType(from)), from);
        assertEquals(BigInt(read!), value);
        const casted = castValues(
          readValues(bytes.slice(0, sizeOfType(from)), from),
          to,
        );
        assertEquals(BigInt(casted[0]!), wrap(to, value));
      },
    ),
  );
});

Deno.test("castValues makes floats integers without their fraction, and rounds bigints once", () => {
  const floats = Float64Array.of(1.9, -1.9, 0.5, -0.5);
  assertEquals([...castValues(floats, "int8")], [1, -1, 0, 0]);
  assertEquals([...castValues(floats, "uint64")], [1n, 2n ** 64n - 1n, 0n, 0n]);
  const outside = [
    -1e19,
    -(2 ** 64),
    1e19,
    2 ** 63,
    -(2 ** 63),
    NaN,
    -Infinity,
  ];
  for (const to of ["int64", "uint64"] as const) {
    // What processors of the x86 family make of floats that are outside.
    assertEquals(
      [...castValues(Float64Array.from(outside), to)],
      outside.map((value) => {
        const isUnsigned = to === "uint64" && value >= 0;
        const found = isUnsigned ? BigInt(value) : -(2n ** 63n);
        return to === "uint64" ? BigInt.asUintN(64, found) : found;
      }),
    );
  }
  // Halfway between two floats of 32 bits, and one more: by way of 64 bits, both are even.
  const middle = 2n ** 60n + 2n ** 36n;
  const [even, above] = castValues(
    BigInt64Array.of(middle, middle + 1n),
    "float32",
  );
  assertEquals([even, above], [2 ** 60, 2 ** 60 + 2 ** 37]);
});

Deno.test("fromNumpy reads the data types of NumPy", () => {
  const known = {
    "<u2": "uint16",
    ">u2": "uint16",
    "|u1": "uint8",
    "u1": "uint8",
    "<f2": "float16",
    "=f8": "float64",
    "<i8": "int64",
    "|b1": "bool",
    uint16: "uint16",
    bool: "bool",
    float32: "float32",
  };
  for (const [dtype, name] of Object.entries(known)) {
    assertEquals(fromNumpy(dtype), name);
  }
  for (const dtype of ["<u3", "S3", "<U2", "<M8[s]", "", 2, null]) {
    assertEquals(fromNumpy(dtype), undefined);
  }
});

Deno.test("storedForm follows the data types and shapes of filters", () => {
  const form = { dataType: "bool", shape: [3, 7] };
  const formOf = (...codecs: { name: string; configuration?: unknown }[]) =>
    storedForm(codecs, form);
  assertEquals(formOf({ name: "transpose" }), form);
  assertEquals(formOf({ name: "numcodecs.packbits" }), {
    dataType: "uint8",
    shape: [4],
  });
  assertEquals(
    formOf(
      { name: "numcodecs.astype", configuration: { encode_dtype: "<f4" } },
      { name: "numcodecs.fixedscaleoffset", configuration: { astype: ">i2" } },
      { name: "numcodecs.delta", configuration: { astype: null } },
    ).dataType,
    "int16",
  );
  const unknown = { name: "numcodecs.delta", configuration: { astype: "<M8" } };
  assertEquals(formOf(unknown).dataType, "");
});
