import { assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import fc from "fast-check";
import { parseArray } from "../../src/arrays/mod.ts";
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

/** Converts an array with other members through the text of its document, as a view does. */
function textOf(members: string, attributes = "{}"): string {
  const text = JSON.stringify(ARRAY).replace(/}$/, `,"_":0,${members}}`)
    .replace(/,}$/, "}");
  const array = parseExactZarrJson(utf8(text));
  const checked = checkV2Attributes(parseExactZarrJson(utf8(attributes)));
  const bytes = formatZarrJson(convertV2Array(array, checked));
  parseArray(parseZarrJson(bytes));
  return new TextDecoder().decode(bytes);
}

function converted(members: Json | string, attributes: Json = {}): Json {
  const text = typeof members === "string"
    ? members
    : JSON.stringify(members).slice(1, -1);
  return JSON.parse(textOf(text, JSON.stringify(attributes)));
}

/** Extensions in short: their names and configurations without quotes. */
function short(extensions: unknown): string {
  const list = Array.isArray(extensions) ? extensions : [extensions];
  return list.map((each) =>
    typeof each === "string"
      ? each
      : each.configuration === undefined
      ? each.name
      : each.name + JSON.stringify(each.configuration).replaceAll('"', "")
  ).join(" ");
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

const TYPES: [dtype: unknown, dataType: string, endian?: string][] = [
  ["|b1", "bool"],
  ["<b1", "bool"],
  ["|u1", "uint8"],
  [">i1", "int8"],
  ["<u8", "uint64", "little"],
  [">f2", "float16", "big"],
  ["=i4", "int32", "little"],
  [">c16", "complex128", "big"],
  ["<M8[ns]", "numpy.datetime64{unit:ns,scale_factor:1}", "little"],
  [">M8[25s]", "numpy.datetime64{unit:s,scale_factor:25}", "big"],
  ["<m8", "numpy.timedelta64{unit:generic,scale_factor:1}", "little"],
  ["|S10", "null_terminated_bytes{length_bytes:10}"],
  [">U10", "fixed_length_utf32{length_bytes:40}", "big"],
  ["|V3", "raw_bytes{length_bytes:3}"],
  ["bfloat16", "bfloat16", "little"],
  ["int4", "int4"],
  [
    [["a", "|u1"], ["", "|V1"], ["b", [["c", "<f4"]]]],
    "structured{fields:[[a,uint8],[f1,{name:raw_bytes,configuration:{length_bytes:1}}],[b,{name:structured,configuration:{fields:[[c,float32]]}}]]}",
    "little",
  ],
];

Deno.test("convertV2Array converts data types", () => {
  for (const [dtype, dataType, endian] of TYPES) {
    const { data_type, codecs } = converted({ dtype, fill_value: null });
    assertEquals(short(data_type), dataType);
    assertEquals(short(codecs), endian ? `bytes{endian:${endian}}` : "bytes");
  }
});

Deno.test("convertV2Array converts fill values", () => {
  for (
    const [dtype, fill, expected] of [
      ["|b1", "null", false],
      ["|b1", "1", true],
      ["<i8", "null", 0],
      ["<i8", "-3.0", -3],
      ["<i8", "-0.0", 0],
      ["<u2", '"12"', 12],
      ["int4", "-8", -8],
      ["<f4", "null", 0],
      ["<f4", "NaN", "NaN"],
      ["<f4", '"nan"', "NaN"],
      ["<f4", "-Infinity", "-Infinity"],
      ["<f4", '"-inf"', "-Infinity"],
      ["<f4", '"1e999"', "Infinity"],
      ["<f4", '"1e3"', 1000],
      ["bfloat16", "1.5", 1.5],
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
    ]
  ) {
    const members = `"dtype":${JSON.stringify(dtype)},"fill_value":${fill}`;
    const { fill_value } = converted(members);
    assertEquals(fill_value, expected, members);
  }
  const strings = '"dtype":"|O","filters":[{"id":"vlen-utf8"}],"fill_value":';
  assertEquals(converted(`${strings}"é"`).fill_value, "é");
  assertEquals(converted(`${strings}0`).fill_value, "0");
});

Deno.test("convertV2Array keeps the text of numbers", () => {
  for (
    const [dtype, fill] of [
      ["<u8", "18446744073709551615"],
      ["<i8", "-9223372036854775808"],
      ["<f8", "1.10"],
      ["<f8", "-0.0"],
      ["<f8", "9.969209968386869e+36"],
      ["<M8[ns]", "1234567890123456789"],
    ]
  ) {
    const attributes = ['"n": 1.0', '"x": NaN', `"big": ${"9".repeat(30)}`];
    const members = `"dtype":"${dtype}","fill_value":${fill}`;
    const text = textOf(members, `{${attributes}}`);
    for (const part of [`"fill_value": ${fill},`, ...attributes]) {
      assertEquals(text.includes(part), true, `${part} in ${text}`);
    }
  }
});

const STRINGS = '"dtype":"|O","fill_value":null';
const CODECS: [members: string, codecs: string][] = [
  ['"filters":[]', "bytes{endian:little}"],
  [
    '"compressor":{"id":"blosc"}',
    "bytes{endian:little} blosc{typesize:4,cname:lz4,clevel:5,shuffle:shuffle,blocksize:0}",
  ],
  [
    '"dtype":"|u1","compressor":{"id":"blosc","shuffle":-1,"clevel":1,"typesize":9}',
    "bytes blosc{typesize:1,cname:lz4,clevel:1,shuffle:bitshuffle,blocksize:0}",
  ],
  [
    '"dtype":"|S256","fill_value":null,"compressor":{"id":"blosc","shuffle":0,"cname":"zstd","blocksize":5}',
    "bytes blosc{typesize:1,cname:zstd,clevel:5,shuffle:noshuffle,blocksize:5}",
  ],
  [
    '"dtype":"<f8","filters":[{"id":"fixedscaleoffset","scale":10,"offset":0.50,"dtype":"float64","astype":"i2"}],"compressor":{"id":"blosc","shuffle":-1}',
    "numcodecs.fixedscaleoffset{scale:10,offset:0.5,dtype:<f8,astype:<i2} bytes{endian:little} blosc{typesize:2,cname:lz4,clevel:5,shuffle:shuffle,blocksize:0}",
  ],
  [
    '"compressor":{"id":"zstd","level":30}',
    "bytes{endian:little} zstd{level:22,checksum:false}",
  ],
  [
    '"compressor":{"id":"gzip","level":-1}',
    "bytes{endian:little} gzip{level:6}",
  ],
  ['"compressor":{"id":"gzip"}', "bytes{endian:little} gzip{level:1}"],
  [
    '"compressor":{"id":"zlib","level":"4"}',
    "bytes{endian:little} numcodecs.zlib{level:4}",
  ],
  [
    '"compressor":{"id":"lz4"}',
    "bytes{endian:little} numcodecs.lz4{acceleration:1}",
  ],
  [
    '"compressor":{"id":"bz2","level":9}',
    "bytes{endian:little} numcodecs.bz2{level:9}",
  ],
  [
    '"compressor":{"id":"lzma","preset":1}',
    "bytes{endian:little} numcodecs.lzma{format:1,check:-1,preset:1,filters:null}",
  ],
  [
    '"dtype":"<i8","filters":[{"id":"delta","dtype":"<i8","astype":">i4"},{"id":"shuffle"}]',
    "numcodecs.delta{dtype:<i8,astype:>i4} bytes{endian:big} numcodecs.shuffle{elementsize:4}",
  ],
  [
    '"dtype":">M8[s]","fill_value":null,"filters":[{"id":"delta","dtype":">i8"}]',
    "numcodecs.delta{dtype:>i8,astype:>i8} bytes{endian:big}",
  ],
  [
    '"filters":[{"id":"quantize","digits":3,"dtype":"<f4"}]',
    "numcodecs.quantize{digits:3,dtype:<f4,astype:<f4} bytes{endian:little}",
  ],
  [
    '"dtype":"<f8","filters":[{"id":"quantize","digits":3,"dtype":"<f8","astype":"<f4"}]',
    "numcodecs.quantize{digits:3,dtype:<f8,astype:<f8} numcodecs.astype{encode_dtype:<f4,decode_dtype:<f8} bytes{endian:little}",
  ],
  [
    '"filters":[{"id":"astype","encode_dtype":">f8","decode_dtype":"<f4"}]',
    "numcodecs.astype{encode_dtype:>f8,decode_dtype:<f4} bytes{endian:big}",
  ],
  [
    '"dtype":"|b1","fill_value":false,"order":"F","filters":[{"id":"packbits"}],"compressor":{"id":"bz2"}',
    "transpose{order:[1,0]} numcodecs.packbits{} bytes numcodecs.bz2{level:1}",
  ],
  [
    '"dtype":"<u2","filters":[{"id":"bitround","keepbits":3}]',
    "numcodecs.bitround{keepbits:3} bytes{endian:little}",
  ],
  [
    '"filters":[{"id":"crc32"},{"id":"adler32","location":"end"},{"id":"crc32c"},{"id":"crc32c","location":"start"}]',
    "bytes{endian:little} numcodecs.crc32{} numcodecs.adler32{location:end} crc32c numcodecs.crc32c{location:start}",
  ],
  [
    '"filters":[{"id":"fletcher32"},{"id":"jenkins_lookup3","initval":5,"prefix":null},{"id":"jenkins_lookup3","initval":0}]',
    "bytes{endian:little} numcodecs.fletcher32{} numcodecs.jenkins_lookup3{initval:5,prefix:null} numcodecs.jenkins_lookup3{initval:0,prefix:null}",
  ],
  [
    `${STRINGS},"order":"F","filters":[{"id":"vlen-utf8"},{"id":"zlib"}],"compressor":{"id":"zstd","level":1,"checksum":true}`,
    "transpose{order:[1,0]} vlen-utf8 numcodecs.zlib{level:1} zstd{level:1,checksum:true}",
  ],
  [`${STRINGS},"compressor":{"id":"vlen-bytes"}`, "vlen-bytes"],
  [
    '"filters":[{"id":"imagecodecs_deflate","level":6,"raw":false}],"compressor":{"id":"imagecodecs_lzw"}',
    "bytes{endian:little} imagecodecs_deflate{level:6} imagecodecs_lzw",
  ],
  [
    '"dtype":"<u2","compressor":{"id":"imagecodecs_tiff","level":null,"asrgb":false,"squeeze":true}',
    "imagecodecs_tiff",
  ],
  ['"compressor":{"id":"zfpy","mode":4}', "numcodecs.zfpy{mode:4}"],
];

Deno.test("convertV2Array converts codecs", () => {
  for (const [members, codecs] of CODECS) {
    assertEquals(short(converted(members).codecs), codecs);
  }
});

Deno.test("convertV2Array transposes chunks in the order F from two dimensions on", () => {
  for (let rank = 0; rank < 5; rank++) {
    const lengths = new Array(rank).fill(3);
    const { codecs } = converted({
      ...{ shape: lengths, chunks: lengths, order: "F", dtype: "|u1" },
    });
    const order = [4, 3, 2, 1, 0].slice(5 - rank);
    const transpose = rank < 2 ? "" : `transpose{order:[${order}]} `;
    assertEquals(short(codecs), `${transpose}bytes`);
  }
});

Deno.test("convertV2Array ignores other members, and the shape of chunks of an empty array", () => {
  const { chunk_grid, chunk_key_encoding } = converted({
    ...{ shape: [0, 5], chunks: [0, 3], _NCZARR_ARRAY: {}, order: undefined },
    ...{ dimension_separator: "/", zarr_format: "2" },
  });
  assertEquals(short(chunk_grid), "regular{chunk_shape:[1,3]}");
  assertEquals(short(chunk_key_encoding), "v2{separator:/}");
});

Deno.test("convertV2Array takes names of dimensions from xarray", () => {
  const named = (names: unknown) =>
    converted({}, { _ARRAY_DIMENSIONS: names }).dimension_names;
  assertEquals(named(["y", "x"]), ["y", "x"]);
  for (const names of [["y"], ["y", 1], "yx", null, [], ["y", null]]) {
    assertEquals(named(names), undefined);
  }
});

const DELTA = { id: "delta", dtype: "<f4" };
const SCALED = { id: "fixedscaleoffset", scale: 0, offset: 1, dtype: "<f4" };

function nestedFields(depth: number): unknown {
  return depth === 0 ? "|u1" : [["a", nestedFields(depth - 1)]];
}

/** Members of arrays that are refused, by the path of what is wrong. */
const REFUSED: Record<string, Json[]> = {
  "/zarr_format": [{ zarr_format: 3 }, { zarr_format: "3" }],
  "/shape": [{ shape: 5 }],
  "/shape/0": [{ shape: [-1, 5] }],
  "/shape/1": [{ shape: [7, 2.5] }],
  "/chunks": [{ chunks: [4] }, { chunks: true }],
  "/chunks/1": [{ chunks: [4, 0] }],
  "/order": [{ order: "A" }],
  "/dimension_separator": [{ dimension_separator: "-" }],
  "/dtype": [
    ...["<f16", "|i4", "<i3", "<f1", "<c4", "|S0", "|b2", "<M8[fortnight]"],
    ...["<M4[s]", "<M8[0s]", "|M8[s]", "|U2", "<i4[s]", "", 5, [], "|O"],
    ...["float8_none", "<U999999999", "|V2000000"],
  ].map((dtype) => ({ dtype })),
  "/dtype/0": [{ dtype: [["a"]] }, { dtype: ["a"] }],
  "/dtype/0/0": [{ dtype: [[1, "|u1"]] }],
  "/dtype/1/0": [
    { dtype: [["a", "|u1"], ["a", "|u1"]] },
    { dtype: [["", "|u1"], ["f0", "|u1"]] },
  ],
  ["/dtype" + "/0/1".repeat(33)]: [{ dtype: nestedFields(34) }],
  "/dtype/0/2": [{ dtype: [["a", "<f4", [2]]] }],
  "/dtype/0/1": [{ dtype: [["a", "|O"]] }, { dtype: [["a", ">f4"]] }],
  "/dtype/0/1/0/1": [{ dtype: [["a", [["b", ">f4"]]]] }],
  "/fill_value": [
    ...["abc", true, {}].map((fill_value) => ({ fill_value })),
    ...["NaN", 2.5, 2 ** 31].map((fill_value) => ({
      dtype: "<i4",
      fill_value,
    })),
    { dtype: "|u1", fill_value: 256 },
    { dtype: "int4", fill_value: 200 },
    { dtype: "|b1", fill_value: "no" },
    ...[[1], [1, 2, 3], {}].map((fill_value) => ({ dtype: "<c8", fill_value })),
    ...["YWJj", "a"].map((fill_value) => ({ dtype: "|S2", fill_value })),
    { dtype: "|V2", fill_value: "YQ==" },
    { dtype: "<U1", fill_value: "ab" },
    { dtype: [["a", "|u1"]], fill_value: "AAA=" },
    { dtype: "|O", filters: [{ id: "vlen-utf8" }], fill_value: 1.5 },
    { dtype: "|O", filters: [{ id: "vlen-bytes" }], fill_value: 0 },
  ],
  "/fill_value/1": [{ dtype: "<c8", fill_value: [1, {}] }],
  "/filters": [{ filters: {} }],
  "/filters/0": [
    { filters: [5] },
    { filters: [{ id: "packbits" }] },
    { dtype: "<i2", filters: [{ id: "bitround", keepbits: 3 }] },
    { dtype: "|O", filters: [{ id: "zlib" }, { id: "vlen-utf8" }] },
  ],
  "/filters/0/id": [
    ...["base64", "categorize", "vlen-utf8"].map((id) => ({
      filters: [{ id }],
    })),
  ],
  "/filters/1/id": [
    { filters: [{ id: "zlib" }, DELTA] },
    { filters: [{ id: "zlib" }, { id: "vlen-utf8" }] },
  ],
  "/filters/0/dtype": [
    {
      ...{ dtype: "|S4", fill_value: null },
      filters: [{ id: "delta", dtype: "|S4" }],
    },
    ...["<i4", ">f4", undefined].map((dtype) => ({
      filters: [{ ...DELTA, dtype }],
    })),
  ],
  "/filters/0/scale": [{ filters: [SCALED] }],
  "/filters/0/offset": [{ filters: [{ ...SCALED, scale: 1, offset: "1" }] }],
  "/filters/0/keepbits": [{ filters: [{ id: "bitround", keepbits: 53 }] }],
  "/filters/0/astype": [
    {
      filters: [{ id: "quantize", digits: 1, dtype: "<f4", astype: "<i4" }],
    },
  ],
  "/compressor/id": [
    ...[{}, { id: 5 }, { id: "snappy" }, { id: "constructor" }]
      .map((compressor) => ({ compressor })),
    { dtype: ">u2", compressor: { id: "imagecodecs_png" } },
    { dtype: "|u1", order: "F", compressor: { id: "imagecodecs_png" } },
    { dtype: "<i2", compressor: { id: "zfpy" } },
  ],
  "/compressor/level": [
    ...["zlib", "gzip", "bz2"].map((id) => ({ compressor: { id, level: 10 } })),
    { compressor: { id: "zlib", level: 1.5 } },
    { compressor: { id: "imagecodecs_zstd", level: "1" } },
  ],
  "/compressor/wbits": [{ compressor: { id: "zlib", wbits: 5 } }],
  "/compressor/a~1b": [{ compressor: { id: "zlib", "a/b": 5 } }],
  "/compressor/cname": [{ compressor: { id: "blosc", cname: "brotli" } }],
  "/compressor/shuffle": [{ compressor: { id: "blosc", shuffle: 3 } }],
  "/compressor/checksum": [{ compressor: { id: "zstd", checksum: 1 } }],
  "/compressor/preset": [{ compressor: { id: "lzma", preset: -1 } }],
  "/compressor/filters": [{ compressor: { id: "lzma", filters: {} } }],
  "/compressor/location": [{ compressor: { id: "crc32", location: "left" } }],
  "/compressor/prefix": [{ compressor: { id: "jenkins_lookup3", prefix: "" } }],
  "/compressor/raw": [{ compressor: { id: "imagecodecs_deflate", raw: true } }],
  "/compressor/tables": [
    { dtype: "|u1", compressor: { id: "imagecodecs_jpeg", tables: "A" } },
  ],
};

Deno.test("convertV2Array refuses what Zarr v3 cannot represent", () => {
  for (const [path, all] of Object.entries(REFUSED)) {
    for (const members of all) {
      const error = assertThrows(() => converted(members), MetadataError);
      assertEquals(error.path, path, `${JSON.stringify(members)}: ${error}`);
    }
  }
  for (const name of ["zarr_format", "shape", "chunks", "dtype"]) {
    const { [name]: _, ...others } = ARRAY;
    const error = assertThrows(() => convertV2Array(others, {}), MetadataError);
    assertEquals(error.path, `/${name}`);
  }
  assertThrows(() => convertV2Array([], {}), MetadataError, "an object");
  assertThrows(() => checkV2Attributes([]), MetadataError, "an object");
  assertEquals(checkV2Attributes(undefined), {});
});

Deno.test("the errors of convertV2Array say what was wrong and what would be right", () => {
  for (
    const [members, message] of [
      [
        { dtype: "|O", filters: [{ id: "pickle" }] },
        'Zarr v3 has no data type for Python objects that are stored by "pickle"; expected "vlen-utf8" or "vlen-bytes": store the array again with one of these (at /dtype)',
      ],
      [
        { compressor: { id: "zlib", wbits: 5 } },
        'Unknown member "wbits" of the codec "zlib"; known are "id" and "level" (at /compressor/wbits)',
      ],
      [
        { compressor: { id: "zlib", level: 10 } },
        "Expected a whole number from -1 to 9 as level, found 10 (at /compressor/level)",
      ],
    ] as [Json, string][]
  ) {
    const error = assertThrows(() => converted(members), MetadataError);
    assertEquals(error.message, message);
  }
});

Deno.test("convertV2Array refuses any JSON with a MetadataError, or returns metadata that opens", () => {
  const parsed = CODECS.map(([members]) => JSON.parse(`{${members}}`));
  const values = fc.oneof(
    fc.constantFrom(
      ...[...TYPES.map(([dtype]) => dtype), "|O", "<i4"],
      ...parsed.flatMap(({ filters, compressor }) => [filters, compressor]),
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
        parseArray(parseZarrJson(formatZarrJson(document)));
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
      "d/.zgroup": V2_GROUP,
      "a/.zarray": { ...ARRAY, dtype: "|u1" },
      "bad/.zarray": { ...ARRAY, dtype: "|O" },
      "attributes/.zattrs": {},
    },
  });
  const document = convertV2Group("", V2_GROUP, { t: 2 }, nodes);
  const { metadata } = document.consolidated_metadata as { metadata: Json };
  assertEquals(Object.keys(metadata), ["a", "b", "d", "b/a"]);
  assertEquals(metadata.b, group({ n: 1 }) as unknown);
  assertEquals(document.attributes, { t: 2 });
  assertEquals(convertV2Group("", V2_GROUP, {}), group());
  assertThrows(() => convertV2Group("", {}, {}), MetadataError, "zarr_format");
  assertThrows(() => convertV2Group("", [], {}), MetadataError, "an object");
  for (const other of [null, 5, {}, { metadata: [] }]) {
    assertEquals(convertV2Consolidated(other), undefined);
  }
});
