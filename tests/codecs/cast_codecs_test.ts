import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { DamageError, MetadataError } from "../../mod.ts";
import type { NumberType } from "../../src/codecs/cast_elements.ts";
import { coderOf } from "./codec_fixtures.ts";
import { OWN_CODECS } from "./zarrita_codecs.ts";

type Scalar = number | bigint;

const ARRAYS = {
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  float16: Float16Array,
  float32: Float32Array,
  float64: Float64Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
} as const;

const TYPES = Object.keys(ARRAYS) as NumberType[];

function bytesOf(type: NumberType, values: readonly Scalar[]): Uint8Array {
  const elements = (ARRAYS[type] as Float64ArrayConstructor).from(
    values as number[],
  );
  return new Uint8Array(elements.buffer);
}

function valuesOf(type: NumberType, bytes: Uint8Array): Scalar[] {
  return [...new ARRAYS[type](bytes.slice().buffer) as Float64Array];
}

function codec(
  name: string,
  dataType: NumberType,
  configuration: object,
  count: number,
) {
  const bytes = bytesOf(
    dataType,
    Array(count).fill(dataType.endsWith("int64") ? 0n : 0),
  );
  return coderOf({
    name,
    configuration: { ...configuration },
    dataType,
    bytes,
  });
}

async function encode(
  name: string,
  [from, to]: readonly [NumberType, NumberType],
  configuration: object,
  values: readonly Scalar[],
): Promise<Scalar[]> {
  const coder = await codec(name, from, configuration, values.length);
  return valuesOf(to, await coder.encode(bytesOf(from, values)));
}

async function decode(
  name: string,
  [from, to]: readonly [NumberType, NumberType],
  configuration: object,
  values: readonly Scalar[],
): Promise<Scalar[]> {
  const coder = await codec(name, from, configuration, values.length);
  return valuesOf(from, await coder.decode(bytesOf(to, values)));
}

type Case = [
  from: NumberType,
  to: NumberType,
  configuration: object,
  values: Scalar[],
  stored: Scalar[],
];

const MIN64 = -(2n ** 63n);

const CASTS: Case[] = [
  ["float64", "int8", {}, [0.5, 1.5, 2.5, -0.5, -1.5, 126.5], [
    0,
    2,
    2,
    0,
    -2,
    126,
  ]],
  ["float64", "int8", { rounding: "towards-zero" }, [1.9, -1.9], [1, -1]],
  ["float64", "int8", { rounding: "towards-positive" }, [1.1, -1.9], [2, -1]],
  ["float64", "int8", { rounding: "towards-negative" }, [1.9, -1.1], [1, -2]],
  ["float64", "int8", { rounding: "nearest-away" }, [
    0.5,
    -2.5,
    0.49999999999999994,
  ], [1, -3, 0]],
  ["float64", "int8", { out_of_range: "clamp" }, [128, -129, 1e300], [
    127,
    -128,
    127,
  ]],
  ["float64", "int8", { out_of_range: "wrap" }, [128, -129, 256 + 7], [
    -128,
    127,
    7,
  ]],
  ["int32", "int16", { out_of_range: "wrap" }, [32768, 32769, -32769], [
    -32768,
    -32767,
    32767,
  ]],
  ["float32", "int64", { out_of_range: "clamp" }, [2 ** 63, -(2 ** 80), 5], [
    2n ** 63n - 1n,
    MIN64,
    5n,
  ]],
  ["int64", "uint8", { out_of_range: "wrap" }, [-1n, 256n, MIN64], [255, 0, 0]],
  ["uint64", "int64", { out_of_range: "wrap" }, [2n ** 64n - 1n], [-1n]],
  ["int64", "float32", {}, [
    2n ** 60n + 2n ** 36n,
    2n ** 60n + 2n ** 36n + 1n,
    7n,
  ], [2 ** 60, 2 ** 60 + 2 ** 37, 7]],
  ["uint64", "float32", {}, [2n ** 64n - 1n], [2 ** 64]],
  ["float64", "float16", {}, [1.0001, NaN, -0, Infinity], [
    1,
    NaN,
    -0,
    Infinity,
  ]],
  ["float64", "float16", { out_of_range: "clamp" }, [1e9, -1e9], [
    Infinity,
    -Infinity,
  ]],
  [
    "float64",
    "uint8",
    {
      scalar_map: {
        encode: [["NaN", 0], ["+Infinity", 255], ["NaN", 7], [
          "0x4008000000000000",
          9,
        ]],
      },
    },
    [NaN, Infinity, 3, 4],
    [0, 255, 9, 4],
  ],
];

for (const [from, to, configuration, values, stored] of CASTS) {
  Deno.test(`cast_value stores ${from} as ${to}, ${JSON.stringify(configuration)}`, async () => {
    const full = { data_type: to, ...configuration };
    assertEquals(await encode("cast_value", [from, to], full, values), stored);
  });
}

const UNFIT: [NumberType, NumberType, object, Scalar][] = [
  ["float64", "int8", {}, 128],
  ["float64", "int8", {}, NaN],
  ["float64", "int8", { out_of_range: "clamp" }, Infinity],
  ["float64", "float32", {}, 1e300],
  ["float64", "float32", { rounding: "towards-zero" }, 0.1],
  ["int64", "uint64", {}, -1n],
  ["uint32", "int32", {}, 2 ** 31],
];

for (const [from, to, configuration, value] of UNFIT) {
  Deno.test(`cast_value refuses ${value} of ${from} as ${to}, ${JSON.stringify(configuration)}`, async () => {
    const full = { data_type: to, ...configuration };
    await assertRejects(
      () => encode("cast_value", [from, to], full, [value]),
      RangeError,
      `${value} is no ${to}`,
    );
    // The other way, the same value is damage.
    if (Object.hasOwn(configuration, "rounding")) return;
    const back = { ...configuration, data_type: from };
    await assertRejects(
      () => decode("cast_value", [to, from], back, [value]),
      DamageError,
      `${value} is no ${to}`,
    );
  });
}

Deno.test("cast_value decodes whole numbers as zarrita does", async () => {
  const Theirs = await OWN_CODECS.get("cast_value")!() as unknown as {
    fromConfig(configuration: object, metadata: object): {
      decode(chunk: object): { data: Float64Array };
    };
  };
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...TYPES),
      fc.constantFrom(...TYPES),
      fc.constantFrom("clamp", "wrap"),
      fc.array(fc.integer({ min: -(2 ** 33), max: 2 ** 33 }), { minLength: 1 }),
      async (from, to, given, integers) => {
        const isFloat = from.startsWith("float") || to.startsWith("float");
        const out_of_range = isFloat ? "clamp" : given;
        const values = integers.map((value) =>
          to.endsWith("int64") ? BigInt(value) : value
        );
        const bytes = bytesOf(to, values);
        const stored = valuesOf(to, bytes);
        // zarrita wraps larger integers around by way of a float.
        if (stored.some((value) => Math.abs(Number(value)) > 2 ** 53)) return;
        const configuration = { data_type: to, out_of_range };
        const theirs = Theirs.fromConfig(configuration, { dataType: from });
        const chunk = { data: stored, shape: [stored.length], stride: [1] };
        const { data } = theirs.decode(chunk);
        assertEquals(
          await decode("cast_value", [from, to], configuration, stored),
          [...data],
        );
      },
    ),
  );
});

Deno.test("scale_offset computes in the data type, and back", async () => {
  const cases: [NumberType, object, Scalar[], Scalar[]][] = [
    ["uint16", { offset: 1000 }, [1000, 1255], [0, 255]],
    ["int8", { offset: -100, scale: 3 }, [-100, -90], [0, 30]],
    ["int64", { offset: 1, scale: 2 }, [2n ** 61n + 1n], [2n ** 62n]],
    ["float64", { offset: -10, scale: 0.5 }, [30, NaN], [20, NaN]],
    ["float32", {}, [0.1], [Math.fround(0.1)]],
  ];
  for (const [type, configuration, values, stored] of cases) {
    const way = [type, type] as const;
    assertEquals(
      await encode("scale_offset", way, configuration, values),
      stored,
    );
    const back = await decode("scale_offset", way, configuration, stored);
    assertEquals(back, valuesOf(type, bytesOf(type, values)));
  }
  // Rounded to float32 after each step.
  const [decoded] = await decode(
    "scale_offset",
    ["float32", "float32"],
    { offset: 1e8, scale: 3 },
    [1, 10],
  );
  assertEquals(decoded, Math.fround(Math.fround(1 / 3) + 1e8));
});

Deno.test("scale_offset refuses values that do not fit", async () => {
  const uint8 = ["uint8", "uint8"] as const;
  const offset = { offset: 10 };
  await assertRejects(
    () => encode("scale_offset", uint8, offset, [9]),
    RangeError,
    "-1 is no uint8",
  );
  await assertRejects(
    () => encode("scale_offset", uint8, { scale: 2 }, [128]),
    RangeError,
    "256 is no uint8",
  );
  await assertRejects(
    () => decode("scale_offset", uint8, { scale: 2 }, [3]),
    DamageError,
    "3 is no multiple of the scale, 2",
  );
  await assertRejects(
    () => decode("scale_offset", uint8, offset, [250]),
    DamageError,
    "260 is no uint8",
  );
  await assertRejects(
    () => decode("scale_offset", ["int64", "int64"], { scale: 2 }, [3n]),
    DamageError,
    "3 is no multiple",
  );
});

const INVALID: [string, NumberType, object, string][] = [
  ["cast_value", "int8", {}, "/configuration/data_type"],
  ["cast_value", "int8", { data_type: "bool" }, "/configuration/data_type"],
  [
    "cast_value",
    "int8",
    { data_type: "int16", rounding: "up" },
    "/configuration/rounding",
  ],
  [
    "cast_value",
    "int8",
    { data_type: "int16", out_of_range: "no" },
    "/configuration/out_of_range",
  ],
  [
    "cast_value",
    "int8",
    { data_type: "float32", out_of_range: "wrap" },
    "/configuration/out_of_range",
  ],
  [
    "cast_value",
    "int8",
    { data_type: "int16", scalar_map: { encode: 1 } },
    "/configuration/scalar_map/encode",
  ],
  [
    "cast_value",
    "int8",
    { data_type: "int16", scalar_map: { encode: [[1]] } },
    "/configuration/scalar_map/encode/0",
  ],
  ["cast_value", "int8", {
    data_type: "int16",
    scalar_map: { decode: [[1, 200]] },
  }, "/configuration/scalar_map/decode/0/1"],
  [
    "cast_value",
    "int8",
    { data_type: "int16", scale: 1 },
    "/configuration/scale",
  ],
  ["scale_offset", "uint8", { offset: 256 }, "/configuration/offset"],
  ["scale_offset", "uint8", { offset: 1.5 }, "/configuration/offset"],
  ["scale_offset", "uint8", { scale: 0 }, "/configuration/scale"],
  ["scale_offset", "float32", { scale: "0x3f80" }, "/configuration/scale"],
  ["scale_offset", "float32", { scale: "inf" }, "/configuration/scale"],
];

for (const [name, type, configuration, path] of INVALID) {
  Deno.test(`${name} of ${type} refuses ${JSON.stringify(configuration)}`, async () => {
    const error = await assertRejects(
      () => codec(name, type, configuration, 1),
      MetadataError,
    );
    assertEquals(error.path, path);
  });
}
