import { assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import fc from "fast-check";
import { storageOf } from "../../src/arrays/mod.ts";
import {
  checkV2Attributes,
  convertV2Array,
  convertV2Consolidated,
  convertV2Group,
  formatZarrJson,
  parseExactZarrJson,
  parseZarrJson,
} from "../../src/metadata/mod.ts";
import { MetadataError } from "../../mod.ts";
import { utf8, V2_GROUP, v2Metadata } from "../support/documents.ts";
import { runs } from "../support/runs.ts";

type Json = Record<string, unknown>;

const ARRAY = v2Metadata({ shape: [7, 5], chunks: [4, 3], dtype: "<f4" });

/** Converts an array through the text of its document, as a view does. */
function converted(changes: Json | string, attributes: Json = {}): Json {
  const text = typeof changes === "string"
    ? JSON.stringify(ARRAY).replace(/}$/, `,${changes}}`)
    : JSON.stringify({ ...ARRAY, ...changes });
  const array = parseExactZarrJson(utf8(text));
  const bytes = formatZarrJson(convertV2Array(array, attributes));
  storageOf(parseZarrJson(bytes));
  return JSON.parse(new TextDecoder().decode(bytes));
}

Deno.test("convertV2Array writes all members of the metadata of a Zarr v3 array", () => {
  assertEquals(converted({ order: "F", dtype: ">i2" }, { a: 1 }), {
    zarr_format: 3,
    node_type: "array",
    shape: [7, 5],
    data_type: "int16",
    chunk_grid: { name: "regular", configuration: { chunk_shape: [4, 3] } },
    chunk_key_encoding: { name: "v2", configuration: { separator: "." } },
    fill_value: 0,
    codecs: [
      { name: "transpose", configuration: { order: [1, 0] } },
      { name: "bytes", configuration: { endian: "big" } },
    ],
    attributes: { a: 1 },
  });
});

const TYPES: Record<string, [dtype: unknown, json: unknown, endian?: string]> =
  {
    bool: ["|b1", "bool"],
    "bool with a byte order": ["<b1", "bool"],
    byte: ["|u1", "uint8"],
    "byte with a byte order": [">i1", "int8"],
    integer: ["<u8", "uint64", "little"],
    "big-endian": [">f2", "float16", "big"],
    "the order of the machine": ["=i4", "int32", "little"],
    complex: [">c16", "complex128", "big"],
    date: ["<M8[ns]", {
      name: "numpy.datetime64",
      configuration: { unit: "ns", scale_factor: 1 },
    }, "little"],
    "date of 25 seconds": [">M8[25s]", {
      name: "numpy.datetime64",
      configuration: { unit: "s", scale_factor: 25 },
    }, "big"],
    "duration without a unit": ["<m8", {
      name: "numpy.timedelta64",
      configuration: { unit: "generic", scale_factor: 1 },
    }, "little"],
    bytes: ["|S10", {
      name: "null_terminated_bytes",
      configuration: { length_bytes: 10 },
    }],
    text: [">U10", {
      name: "fixed_length_utf32",
      configuration: { length_bytes: 40 },
    }, "big"],
    raw: ["|V3", { name: "raw_bytes", configuration: { length_bytes: 3 } }],
    bfloat16: ["bfloat16", "bfloat16", "little"],
    fields: [[["a", "|u1"], ["", "|V1"], ["b", [["c", "<f4"]]]], {
      name: "structured",
      configuration: {
        fields: [
          ["a", "uint8"],
          ["f1", { name: "raw_bytes", configuration: { length_bytes: 1 } }],
          ["b", {
            name: "structured",
            configuration: { fields: [["c", "float32"]] },
          }],
        ],
      },
    }, "little"],
  };

for (const [name, [dtype, json, endian]] of Object.entries(TYPES)) {
  Deno.test(`convertV2Array converts the data type ${name}`, () => {
    const { data_type, codecs } = converted({ dtype, fill_value: null });
    assertEquals(data_type, json);
    assertEquals(codecs, [
      endian ? { name: "bytes", configuration: { endian } } : { name: "bytes" },
    ]);
  });
}

const FILLS: [dtype: unknown, fill: string, expected: unknown][] = [
  ["|b1", "null", false],
  ["|b1", "1", true],
  ["<i8", "null", 0],
  ["<i8", "-3.0", -3],
  ["<u2", '"12"', 12],
  ["<f4", "null", 0],
  ["<f4", "NaN", "NaN"],
  ["<f4", '"nan"', "NaN"],
  ["<f4", "-Infinity", "-Infinity"],
  ["<f4", '"-inf"', "-Infinity"],
  ["<f4", '"1e999"', "Infinity"],
  ["<f4", '"-1e999"', "-Infinity"],
  ["<f4", '"1e3"', 1000],
  ["<c8", "null", [0, 0]],
  ["<c8", "2.5", [2.5, 0]],
  ["<c8", '[1, "NaN"]', [1, "NaN"]],
  ["<M8[s]", "null", "NaT"],
  ["<M8[s]", '"NaT"', "NaT"],
  ["<m8[s]", "-7", -7],
  ["|S2", "null", ""],
  ["|S2", '"YQ=="', "YQ=="],
  ["<U2", '"añ"', "añ"],
  ["<U1", '"😀"', "😀"],
  ["|V2", "null", "AAA="],
  [[["a", "|u1"]], "null", "AA=="],
  [[["a", "|u1"]], "0", "AA=="],
];

for (const [dtype, fill, expected] of FILLS) {
  Deno.test(`convertV2Array converts the fill value ${fill} of ${JSON.stringify(dtype)}`, () => {
    const { fill_value } = converted(
      `"dtype":${JSON.stringify(dtype)},"fill_value":${fill}`,
    );
    assertEquals(fill_value, expected);
  });
}

Deno.test("convertV2Array keeps the text of numbers", () => {
  const cases = [
    ["<u8", "18446744073709551615"],
    ["<i8", "-9223372036854775808"],
    ["<f8", "1.10"],
    ["<f8", "-0.0"],
    ["<f8", "9.969209968386869e+36"],
    ["<M8[ns]", "1234567890123456789"],
  ];
  for (const [dtype, fill] of cases) {
    const array = parseExactZarrJson(utf8(
      JSON.stringify({ ...ARRAY, dtype }).replace(
        '"fill_value":0',
        `"fill_value":${fill}`,
      ),
    ));
    const attributes = checkV2Attributes(
      parseExactZarrJson(
        utf8(`{"n": 1.0, "x": NaN, "big": ${"9".repeat(30)}}`),
      ),
    );
    const text = new TextDecoder().decode(
      formatZarrJson(convertV2Array(array, attributes)),
    );
    for (
      const part of [
        `"fill_value": ${fill},`,
        '"n": 1.0,',
        '"x": NaN,',
        `"big": ${"9".repeat(30)}`,
      ]
    ) assertEquals(text.includes(part), true, `${part} in ${text}`);
  }
});

const LITTLE = { name: "bytes", configuration: { endian: "little" } };
const BIG = { name: "bytes", configuration: { endian: "big" } };
const numcodecs = (id: string, configuration: Json) => ({
  name: `numcodecs.${id}`,
  configuration,
});

const CODECS: Record<string, [changes: Json, codecs: unknown[]]> = {
  "blosc with the defaults of numcodecs": [
    { compressor: { id: "blosc" } },
    [LITTLE, {
      name: "blosc",
      configuration: {
        typesize: 4,
        cname: "lz4",
        clevel: 5,
        shuffle: "shuffle",
        blocksize: 0,
      },
    }],
  ],
  "blosc that shuffles bits of bytes by itself": [
    { dtype: "|u1", compressor: { id: "blosc", shuffle: -1, clevel: 1 } },
    [{ name: "bytes" }, {
      name: "blosc",
      configuration: {
        typesize: 1,
        cname: "lz4",
        clevel: 1,
        shuffle: "bitshuffle",
        blocksize: 0,
      },
    }],
  ],
  "blosc with elements that are too long": [
    {
      dtype: "|S256",
      fill_value: null,
      compressor: { id: "blosc", shuffle: 0, cname: "zstd", blocksize: 5 },
    },
    [{ name: "bytes" }, {
      name: "blosc",
      configuration: {
        typesize: 1,
        cname: "zstd",
        clevel: 5,
        shuffle: "noshuffle",
        blocksize: 5,
      },
    }],
  ],
  "blosc after a filter that narrows elements": [
    {
      dtype: "<f8",
      filters: [{
        ...{ id: "fixedscaleoffset", scale: 10, offset: 0.5 },
        ...{ dtype: "float64", astype: "i2" },
      }],
      compressor: { id: "blosc", shuffle: -1 },
    },
    [
      numcodecs("fixedscaleoffset", {
        ...{ scale: 10, offset: 0.5, dtype: "<f8", astype: "<i2" },
      }),
      LITTLE,
      {
        name: "blosc",
        configuration: {
          ...{ typesize: 2, cname: "lz4", clevel: 5 },
          ...{ shuffle: "shuffle", blocksize: 0 },
        },
      },
    ],
  ],
  zstd: [{ compressor: { id: "zstd", level: 30 } }, [LITTLE, {
    name: "zstd",
    configuration: { level: 22, checksum: false },
  }]],
  "gzip with the default level of zlib": [
    { compressor: { id: "gzip", level: -1 } },
    [LITTLE, { name: "gzip", configuration: { level: 6 } }],
  ],
  "zlib with a level in a string": [
    { compressor: { id: "zlib", level: "4" } },
    [LITTLE, numcodecs("zlib", { level: 4 })],
  ],
  lz4: [{ compressor: { id: "lz4" } }, [
    LITTLE,
    numcodecs("lz4", { acceleration: 1 }),
  ]],
  bz2: [{ compressor: { id: "bz2", level: 9 } }, [
    LITTLE,
    numcodecs("bz2", { level: 9 }),
  ]],
  lzma: [{ compressor: { id: "lzma", preset: 1 } }, [
    LITTLE,
    numcodecs("lzma", { format: 1, check: -1, preset: 1, filters: null }),
  ]],
  "a delta whose results are big-endian": [
    {
      dtype: "<i8",
      filters: [{ id: "delta", dtype: "<i8", astype: ">i4" }, {
        id: "shuffle",
      }],
    },
    [
      numcodecs("delta", { dtype: "<i8", astype: ">i4" }),
      BIG,
      numcodecs("shuffle", { elementsize: 4 }),
    ],
  ],
  "a delta of dates": [
    {
      dtype: ">M8[s]",
      fill_value: null,
      filters: [{ id: "delta", dtype: ">i8" }],
    },
    [numcodecs("delta", { dtype: ">i8", astype: ">i8" }), BIG],
  ],
  "a quantize that narrows elements": [
    {
      dtype: "<f8",
      filters: [{ id: "quantize", digits: 3, dtype: "<f8", astype: "<f4" }],
    },
    [
      numcodecs("quantize", { digits: 3, dtype: "<f8", astype: "<f8" }),
      numcodecs("astype", { encode_dtype: "<f4", decode_dtype: "<f8" }),
      LITTLE,
    ],
  ],
  "packbits of columns": [
    {
      dtype: "|b1",
      fill_value: false,
      order: "F",
      filters: [{ id: "packbits" }],
      compressor: { id: "bz2" },
    },
    [
      { name: "transpose", configuration: { order: [1, 0] } },
      numcodecs("packbits", {}),
      { name: "bytes" },
      numcodecs("bz2", { level: 1 }),
    ],
  ],
  "bitround of unsigned integers": [
    { dtype: "<u2", filters: [{ id: "bitround", keepbits: 3 }] },
    [numcodecs("bitround", { keepbits: 3 }), LITTLE],
  ],
  bitround: [{ filters: [{ id: "bitround", keepbits: 3 }] }, [
    numcodecs("bitround", { keepbits: 3 }),
    LITTLE,
  ]],
  checksums: [
    {
      filters: [
        { id: "crc32" },
        { id: "adler32", location: "end" },
        { id: "crc32c" },
        { id: "crc32c", location: "start" },
        { id: "fletcher32" },
        { id: "jenkins_lookup3", initval: 5, prefix: null },
        { id: "jenkins_lookup3", initval: 0 },
      ],
    },
    [
      LITTLE,
      numcodecs("crc32", {}),
      numcodecs("adler32", { location: "end" }),
      { name: "crc32c" },
      numcodecs("crc32c", { location: "start" }),
      numcodecs("fletcher32", {}),
      numcodecs("jenkins_lookup3", { initval: 5, prefix: null }),
      numcodecs("jenkins_lookup3", { initval: 0, prefix: null }),
    ],
  ],
  "a string": [
    {
      dtype: "|O",
      fill_value: null,
      order: "F",
      filters: [{ id: "vlen-utf8" }, { id: "zlib" }],
      compressor: { id: "zstd", level: 1, checksum: true },
    },
    [
      { name: "transpose", configuration: { order: [1, 0] } },
      { name: "vlen-utf8" },
      numcodecs("zlib", { level: 1 }),
      { name: "zstd", configuration: { level: 1, checksum: true } },
    ],
  ],
  "bytes of any length that the compressor makes": [
    { dtype: "|O", fill_value: null, compressor: { id: "vlen-bytes" } },
    [{ name: "vlen-bytes" }],
  ],
  "codecs of imagecodecs": [
    {
      filters: [{ id: "imagecodecs_deflate", level: 6, raw: false }],
      compressor: { id: "imagecodecs_lzw" },
    },
    [
      LITTLE,
      { name: "imagecodecs_deflate", configuration: { level: 6 } },
      { name: "imagecodecs_lzw" },
    ],
  ],
  "an image of imagecodecs": [
    {
      dtype: "<u2",
      compressor: {
        ...{ id: "imagecodecs_tiff", level: null, asrgb: false },
        squeeze: true,
      },
    },
    [{ name: "imagecodecs_tiff" }],
  ],
  "no filter in a list": [{ filters: [] }, [LITTLE]],
};

for (const [name, [changes, codecs]] of Object.entries(CODECS)) {
  Deno.test(`convertV2Array converts ${name}`, () => {
    assertEquals(converted(changes).codecs, codecs);
  });
}

Deno.test("convertV2Array transposes chunks in the order F from two dimensions on", () => {
  for (let rank = 0; rank < 5; rank++) {
    const lengths = Array.from({ length: rank }, () => 3);
    const { codecs } = converted({
      ...{ shape: lengths, chunks: lengths, order: "F" },
      ...{ dtype: "|u1", dimension_separator: "/" },
    });
    const order = Array.from({ length: rank }, (_, i) => rank - 1 - i);
    assertEquals(codecs, [
      ...rank < 2 ? [] : [{ name: "transpose", configuration: { order } }],
      { name: "bytes" },
    ]);
  }
});

Deno.test("convertV2Array ignores other members, and the shape of chunks of an empty array", () => {
  const { chunk_grid, chunk_key_encoding } = converted({
    ...{ shape: [0, 5], chunks: [0, 3], _NCZARR_ARRAY: {}, order: undefined },
    dimension_separator: "/",
  });
  assertEquals(chunk_grid, {
    name: "regular",
    configuration: { chunk_shape: [1, 3] },
  });
  assertEquals(chunk_key_encoding, {
    name: "v2",
    configuration: { separator: "/" },
  });
});

Deno.test("convertV2Array takes names of dimensions from xarray", () => {
  const named = (names: unknown) =>
    converted({}, { _ARRAY_DIMENSIONS: names }).dimension_names;
  assertEquals(named(["y", "x"]), ["y", "x"]);
  for (const names of [["y"], ["y", 1], "yx", null, [], ["y", null]]) {
    assertEquals(named(names), undefined);
  }
});

const REFUSED: [changes: Json, path: string, message: string][] = [
  [{ zarr_format: 3 }, "/zarr_format", "Expected 2 as zarr_format, found 3"],
  [{ shape: undefined }, "/shape", 'Missing member "shape"'],
  [{ shape: [-1, 5] }, "/shape/0", "found -1"],
  [{ shape: [7, 2.5] }, "/shape/1", "found 2.5"],
  [{ chunks: [4] }, "/chunks", "as many dimensions as the array, 2"],
  [{ chunks: [4, 0] }, "/chunks/1", "a length from 1"],
  [{ chunks: true }, "/chunks", "a list of lengths"],
  [{ order: "A" }, "/order", '"C" or "F"'],
  [{ dimension_separator: "-" }, "/dimension_separator", '"." or "/"'],
  [{ dtype: "<f16" }, "/dtype", 'Unknown dtype "<f16"'],
  [{ dtype: "|i4" }, "/dtype", 'Unknown dtype "|i4"'],
  [{ dtype: "<i3" }, "/dtype", 'Unknown dtype "<i3"'],
  [{ dtype: "|S0" }, "/dtype", 'Unknown dtype "|S0"'],
  [{ dtype: "<M8[fortnight]" }, "/dtype", "Unknown dtype"],
  [{ dtype: "<M4[s]" }, "/dtype", "Unknown dtype"],
  [{ dtype: "" }, "/dtype", "Unknown dtype"],
  [{ dtype: 5 }, "/dtype", "a dtype"],
  [{ dtype: [] }, "/dtype", "at least one field"],
  [{ dtype: [["a"]] }, "/dtype/0", "a name and a dtype"],
  [{ dtype: [["a", "|u1"], ["a", "|u1"]] }, "/dtype/1/0", "twice"],
  [{ dtype: [["a", "<f4", [2]]] }, "/dtype/0/2", "fields that are arrays"],
  [{ dtype: [["a", [["b", ">f4"]]]] }, "/dtype/0/1/0/1", "byte order"],
  [{ dtype: [["a", "|O"]] }, "/dtype/0/1", 'a filter "vlen-utf8"'],
  [{ dtype: "|O" }, "/dtype", 'Expected a filter "vlen-utf8"'],
  [{ dtype: "|O", filters: [{ id: "pickle" }] }, "/dtype", '"pickle"'],
  [{ dtype: "|O", filters: [{ id: "json2" }] }, "/dtype", '"json2"'],
  [{ fill_value: "abc" }, "/fill_value", 'found "abc"'],
  [{ fill_value: true }, "/fill_value", "found true"],
  [{ dtype: "<i4", fill_value: "NaN" }, "/fill_value", "a whole number"],
  [{ dtype: "<i4", fill_value: 2.5 }, "/fill_value", "found 2.5"],
  [{ dtype: "|u1", fill_value: 256 }, "/fill_value", "from 0 to 255"],
  [{ dtype: "|b1", fill_value: "no" }, "/fill_value", "true or false"],
  [{ dtype: "<c8", fill_value: [1] }, "/fill_value", "imaginary"],
  [{ dtype: "<c8", fill_value: [1, 2, 3] }, "/fill_value", "imaginary"],
  [{ dtype: "<c8", fill_value: {} }, "/fill_value", "imaginary"],
  [{ dtype: "<c8", fill_value: [1, {}] }, "/fill_value/1", "a number"],
  [{ dtype: "|S2", fill_value: "YWJj" }, "/fill_value", "at most 2 bytes"],
  [{ dtype: "|S2", fill_value: "a" }, "/fill_value", "Base64"],
  [{ dtype: "|V2", fill_value: "YQ==" }, "/fill_value", "exactly 2 bytes"],
  [{ dtype: "<U1", fill_value: "ab" }, "/fill_value", "1 character"],
  [{ filters: {} }, "/filters", "a list or null"],
  [{ filters: [5] }, "/filters/0", "a codec"],
  [{ compressor: {} }, "/compressor/id", "the id of a codec"],
  [{ compressor: { id: "snappy" } }, "/compressor/id", "Unknown codec"],
  [{ compressor: { id: "__proto__" } }, "/compressor/id", "Unknown codec"],
  [{ filters: [{ id: "base64" }] }, "/filters/0/id", "no codec"],
  [{ filters: [{ id: "categorize" }] }, "/filters/0/id", "no codec"],
  [{ filters: [{ id: "vlen-utf8" }] }, "/filters/0/id", 'the dtype "|O"'],
  [
    { compressor: { id: "zlib", level: 10 } },
    "/compressor/level",
    "from -1 to 9",
  ],
  [
    { compressor: { id: "zlib", wbits: 5 } },
    "/compressor/wbits",
    'Unknown member "wbits"',
  ],
  [
    { compressor: { id: "blosc", cname: "brotli" } },
    "/compressor/cname",
    '"zstd"',
  ],
  [{ compressor: { id: "blosc", shuffle: 3 } }, "/compressor/shuffle", "3"],
  [
    { filters: [{ id: "delta", dtype: "<i4" }] },
    "/filters/0/dtype",
    'the data type of the elements, "<f4"',
  ],
  [
    { filters: [{ id: "delta", dtype: ">f4" }] },
    "/filters/0/dtype",
    'the data type of the elements, "<f4"',
  ],
  [{ filters: [{ id: "delta" }] }, "/filters/0/dtype", "NumPy"],
  [
    { filters: [{ id: "zlib" }, { id: "delta", dtype: "<f4" }] },
    "/filters/1/id",
    "follows one that encodes elements as bytes",
  ],
  [
    { dtype: "|u1", compressor: { id: "imagecodecs_jpeg", tables: "A" } },
    "/compressor/tables",
    "no tables",
  ],
  [
    { dtype: ">u2", compressor: { id: "imagecodecs_png" } },
    "/compressor/id",
    'found the data type ">u2"',
  ],
  [
    { dtype: "|u1", order: "F", compressor: { id: "imagecodecs_png" } },
    "/compressor/id",
    'the order "F"',
  ],
  [
    { compressor: { id: "imagecodecs_deflate", raw: true } },
    "/compressor/raw",
    "false as raw",
  ],
  [{ filters: [{ id: "packbits" }] }, "/filters/0", 'data type "|b1"'],
  [
    { dtype: "<i2", filters: [{ id: "bitround", keepbits: 3 }] },
    "/filters/0",
    'found the data type "<i2"',
  ],
  [
    {
      filters: [{ id: "fixedscaleoffset", scale: 0, offset: 1, dtype: "<f4" }],
    },
    "/filters/0/scale",
    "other than 0",
  ],
  [
    { dtype: "|O", filters: [{ id: "zlib" }, { id: "vlen-utf8" }] },
    "/filters/0",
    "before it",
  ],
];

for (const [changes, path, message] of REFUSED) {
  Deno.test(`convertV2Array refuses ${JSON.stringify(changes)}`, () => {
    const error = assertThrows(
      () => converted(changes),
      MetadataError,
      message,
    );
    assertEquals(error.path, path);
  });
}

Deno.test("convertV2Array refuses any JSON with a MetadataError, or returns metadata that opens", () => {
  const values = fc.oneof(
    fc.constantFrom(
      ...[...Object.values(TYPES).map(([dtype]) => dtype), "|O", "<i4"],
      ...Object.values(CODECS).flatMap(([{ filters, compressor }]) => [
        filters,
        compressor,
      ]),
      ...[[3, 4], [0], [], "F", "/", "NaN", "YQ==", 2, null],
    ),
    fc.jsonValue({ maxDepth: 3 }),
  );
  const members = fc.record({
    zarr_format: fc.oneof({ weight: 9, arbitrary: fc.constant(2) }, values),
    shape: fc.oneof(fc.array(fc.nat(9), { maxLength: 4 }), values),
    chunks: fc.oneof(fc.array(fc.nat(9), { maxLength: 4 }), values),
    dtype: values,
    compressor: values,
    filters: fc.oneof(fc.array(values, { maxLength: 3 }), values),
    fill_value: values,
    order: fc.oneof(fc.constantFrom("C", "F"), values),
    dimension_separator: values,
  }, { requiredKeys: [] });
  const changes = fc.oneof(
    members.map((each) => ({ ...ARRAY, ...each })),
    members,
    values,
  );
  fc.assert(
    fc.property(changes, fc.jsonValue(), (array, attributes) => {
      try {
        const json = parseExactZarrJson(utf8(JSON.stringify(array ?? null)));
        const document = convertV2Array(json, checkV2Attributes(attributes));
        storageOf(parseZarrJson(formatZarrJson(document)));
      } catch (error) {
        assertInstanceOf(error, MetadataError);
      }
    }),
    { numRuns: runs(3000) },
  );
});

Deno.test("convertV2Group consolidates nodes in the order of their depths, below groups alone", () => {
  const group = (attributes: Json = {}) => ({
    zarr_format: 3,
    node_type: "group",
    attributes,
  });
  const nodes = convertV2Consolidated({
    zarr_consolidated_format: 1,
    metadata: {
      ".zgroup": V2_GROUP,
      "b/a/.zgroup": V2_GROUP,
      "b/.zgroup": V2_GROUP,
      "b/.zattrs": { n: 1 },
      "c/lost/.zgroup": V2_GROUP,
      "a/.zarray": { ...ARRAY, dtype: "|u1" },
      "bad/.zarray": { ...ARRAY, dtype: "|O" },
      "attributes/.zattrs": {},
    },
  });
  const document = convertV2Group(V2_GROUP, { t: 2 }, nodes);
  const { metadata } = document.consolidated_metadata as { metadata: Json };
  assertEquals(Object.keys(metadata), ["a", "b", "b/a"]);
  assertEquals(metadata.b, group({ n: 1 }) as unknown);
  assertEquals(document.attributes, { t: 2 });
  assertEquals(convertV2Group(V2_GROUP, {}), group());
  assertThrows(() => convertV2Group({}, {}), MetadataError, "zarr_format");
  assertThrows(() => convertV2Group([], {}), MetadataError, "an object");
  for (const other of [null, 5, {}, { metadata: [] }]) {
    assertEquals(convertV2Consolidated(other), undefined);
  }
});
