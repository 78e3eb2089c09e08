import { assertEquals, assertThrows } from "@std/assert";
import { MetadataError } from "../../mod.ts";
import { parseArrayMetadata } from "../../src/metadata/array_metadata.ts";

const VALID = {
  zarr_format: 3,
  node_type: "array",
  shape: [10, 7],
  data_type: "uint8",
  chunk_grid: { name: "regular", configuration: { chunk_shape: [4, 7] } },
  chunk_key_encoding: "default",
  fill_value: 0,
  codecs: [{ name: "bytes" }],
};

function gridOf(chunk_shape: unknown, others: object = {}) {
  const configuration = { chunk_shape, ...others };
  return { chunk_grid: { name: "regular", configuration } };
}

function codecOf(name: string, configuration: object) {
  return { codecs: [{ name, configuration }] };
}

Deno.test("parseArrayMetadata counts the chunks along each dimension exactly up to 2^53−1", () => {
  const most = 2 ** 53 - 1;
  for (
    const [shape, chunkShape, expected] of [
      [[10, 7], [4, 7], [3, 1]],
      [[8, 9, 7], [4, 4, 8], [2, 3, 1]],
      [[0, 1], [4, 4], [0, 1]],
      [[], [], []],
      [[most, most], [1, 2], [most, 2 ** 52]],
      [[most], [3], [Number((BigInt(most) + 2n) / 3n)]],
      [[most, most - 1], [most, most], [1, 1]],
    ] as const
  ) {
    const document = { ...VALID, shape, ...gridOf(chunkShape) };
    const { gridShape, chunkShape: found } = parseArrayMetadata(document);
    assertEquals([gridShape, found], [[...expected], [...chunkShape]]);
  }
});

/** Members that are refused, by the path of what is wrong. */
const REFUSED: Record<string, object[]> = {
  "/zarr_format": [{ zarr_format: 2 }, { zarr_format: "3" }],
  "/node_type": [{ node_type: "group" }],
  "/extra": [{ extra: 1 }, { extra: null }, { extra: { name: "x" } }],
  "/a~1b~0": [{ "a/b~": [] }],
  "/__proto__": [JSON.parse('{"__proto__": {"x": 1}}')],
  "/constructor": [JSON.parse('{"constructor": {"x": 1}}')],
  "/shape": [
    ...["10", 10, null, {}].map((shape) => ({ shape })),
    { shape: new Array(257).fill(1), ...gridOf(new Array(257).fill(1)) },
  ],
  "/shape/1": [-1, 0.5, 2 ** 53, "4", null, [1]]
    .map((length) => ({ shape: [10, length] })),
  "/chunk_grid": [{ chunk_grid: 7 }, { chunk_grid: "other" }],
  "/chunk_grid/name": [{ chunk_grid: { name: "rectilinear" } }],
  "/chunk_grid/configuration/chunk_shape": [
    { chunk_grid: "regular" },
    gridOf([4]),
    gridOf(4),
  ],
  "/chunk_grid/configuration/chunk_shape/1": [gridOf([4, 0]), gridOf([4, "7"])],
  "/chunk_grid/configuration/origin": [gridOf([4, 7], { origin: 0 })],
  "/storage_transformers": [{ storage_transformers: {} }],
  "/attributes": [{ attributes: [] }, { attributes: "x" }],
  "/dimension_names": [["y"], ["y", 1], "yx", ["a", "b", "c"]]
    .map((dimension_names) => ({ dimension_names })),
  "/data_type": [{ data_type: 5 }],
  "/fill_value": [
    ...[256, -1, 0.5, "x", true, [0]].map((fill_value) => ({ fill_value })),
    { data_type: "bool", fill_value: 2 },
    { data_type: "float32", fill_value: "0x7fc0" },
    { data_type: "complex64", fill_value: [1] },
    { data_type: "string", fill_value: 1 },
    { data_type: "int64", fill_value: 2n ** 63n },
    { data_type: "int64", fill_value: "9223372036854775808" },
  ],
  "/codecs": [{ codecs: 5 }],
  "/codecs/0": [{ codecs: [5] }],
  "/codecs/0/configuration/endian": [codecOf("bytes", { endian: "middle" })],
  "/codecs/0/configuration/order": [[0], [0, 0], [0, 2], [1, 0, 2], "A"]
    .map((order) => codecOf("transpose", { order })),
  "/codecs/0/configuration/codecs/0/configuration/order": [
    codecOf("sharding_indexed", codecOf("transpose", { order: [0] })),
  ],
};

Deno.test("parseArrayMetadata refuses what the specification does not allow, at its place", () => {
  for (const [path, all] of Object.entries(REFUSED)) {
    for (const members of all) {
      const document = Object.fromEntries(
        [VALID, members].flatMap(Object.entries),
      );
      const parse = () => parseArrayMetadata(document);
      assertEquals(assertThrows(parse, MetadataError).path, path);
    }
  }
  for (const name of Object.keys(VALID)) {
    if (name === "fill_value") continue;
    const { [name]: _, ...others } = VALID as Record<string, unknown>;
    const parse = () => parseArrayMetadata(others);
    assertEquals(assertThrows(parse, MetadataError).path, `/${name}`);
  }
  for (const document of [null, 5, "array", true, [], undefined]) {
    assertThrows(() => parseArrayMetadata(document), MetadataError, "object");
  }
});

Deno.test("parseArrayMetadata accepts what other programs write, and returns the fill value to use", () => {
  for (
    const [members, fill = 0] of [
      [{ extra: { must_understand: false } }],
      [{ attributes: null, dimension_names: null }],
      [{ dimension_names: ["y", null], storage_transformers: [] }],
      [{ fill_value: null }, null],
      [{ data_type: "other.type", fill_value: "x" }, "x"],
      [{ data_type: "bool", fill_value: 1 }, 1],
      [{ data_type: "int64", fill_value: "-5" }, "-5"],
      [{ data_type: "uint64", fill_value: 2n ** 63n }, 2n ** 63n],
      [{ data_type: "float32", fill_value: 10n ** 20n }, 1e20],
      [{ data_type: "float16", fill_value: "0x7e00" }, "0x7e00"],
      [codecOf("transpose", { order: "F" })],
      [codecOf("transpose", { order: [1, 0] })],
    ] as [object, unknown?][]
  ) {
    const { metadata } = parseArrayMetadata({ ...VALID, ...members });
    assertEquals(metadata, { ...VALID, ...members, fill_value: fill });
  }
  const { fill_value: _, ...without } = VALID;
  assertEquals("fill_value" in parseArrayMetadata(without).metadata, false);
});

Deno.test("the errors of parseArrayMetadata say what was wrong and what would be right", () => {
  for (
    const [members, message] of [
      [
        { zarr_format: 2 },
        "Expected 3 as zarr_format, found 2 (at /zarr_format)",
      ],
      [
        { extra: 1 },
        'Unknown member "extra" in array metadata, without must_understand: false (at /extra)',
      ],
      [
        { shape: [1, -1] },
        "Expected a length in shape to be a whole number from 0 to 2^53−1, found -1 (at /shape/1)",
      ],
      [
        { chunk_grid: "rectilinear" },
        'Unknown chunk grid "rectilinear"; known is "regular" (at /chunk_grid)',
      ],
      [
        gridOf([4]),
        "Expected a chunk_shape of as many dimensions as the array, 2, found [4] (at /chunk_grid/configuration/chunk_shape)",
      ],
      [
        { fill_value: 256 },
        'Expected a fill_value of the data type "uint8", a whole number from 0 to 255, found 256 (at /fill_value)',
      ],
    ] as [object, string][]
  ) {
    const parse = () => parseArrayMetadata({ ...VALID, ...members });
    assertEquals(assertThrows(parse, MetadataError).message, message);
  }
  const { shape: _, ...rest } = VALID;
  const message = 'Missing member "shape" in array metadata (at /shape)';
  assertThrows(() => parseArrayMetadata(rest), MetadataError, message);
});
