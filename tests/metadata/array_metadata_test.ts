import { assertEquals, assertThrows } from "@std/assert";
import { MetadataError } from "../../mod.ts";
import { describe, describeAll } from "../../src/errors/describe.ts";
import { parseArrayMetadata } from "../../src/metadata/array_metadata.ts";
import { refusing } from "../support/metadata.ts";

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

const assertRefused = refusing((change: Record<string, unknown>) =>
  parseArrayMetadata({ ...VALID, ...change })
);

function gridShape(shape: number[], chunkShape: number[]): readonly number[] {
  return parseArrayMetadata({
    ...VALID,
    shape,
    chunk_grid: { name: "regular", configuration: { chunk_shape: chunkShape } },
  }).gridShape;
}

Deno.test("parseArrayMetadata counts the chunks along each dimension, partial ones included", () => {
  assertEquals(gridShape([10, 7], [4, 7]), [3, 1]);
  assertEquals(gridShape([8, 9, 7], [4, 4, 8]), [2, 3, 1]);
  assertEquals(gridShape([0, 1], [4, 4]), [0, 1]);
  assertEquals(gridShape([], []), []);
});

Deno.test("parseArrayMetadata counts chunks exactly up to 2^53−1", () => {
  const most = 2 ** 53 - 1;
  assertEquals(gridShape([most], [1]), [most]);
  assertEquals(gridShape([most], [2]), [2 ** 52]);
  assertEquals(gridShape([most], [3]), [Number((BigInt(most) + 2n) / 3n)]);
  assertEquals(gridShape([most], [most]), [1]);
  assertEquals(gridShape([most - 1], [most]), [1]);
});

Deno.test("parseArrayMetadata refuses documents that are not those of Zarr v3 arrays", () => {
  for (const document of [null, 5, "array", true]) {
    assertThrows(
      () => parseArrayMetadata(document),
      MetadataError,
      "Expected array metadata to be an object, found",
    );
  }
  assertThrows(() => parseArrayMetadata([]), MetadataError);
  assertThrows(
    () => parseArrayMetadata({}),
    MetadataError,
    'Missing member "zarr_format"',
  );
  assertRefused(
    { zarr_format: 2 },
    "Expected 3 as zarr_format, found 2",
    "/zarr_format",
  );
  assertRefused(
    { node_type: "group" },
    'Expected "array" as node_type, found "group"',
    "/node_type",
  );
});

Deno.test("parseArrayMetadata names a missing member", () => {
  for (
    const name of [
      "zarr_format",
      "node_type",
      "shape",
      "chunk_grid",
      "chunk_key_encoding",
    ]
  ) {
    const { [name]: _, ...rest } = VALID as Record<string, unknown>;
    assertThrows(
      () => parseArrayMetadata(rest),
      MetadataError,
      `Missing member "${name}" in array metadata`,
    );
  }
});

Deno.test("parseArrayMetadata refuses unknown members without must_understand: false", () => {
  assertRefused(
    { extra: 1 },
    'Unknown member "extra" in array metadata',
    "/extra",
  );
  assertRefused({ extra: null }, 'Unknown member "extra"', "/extra");
  assertRefused(
    { extra: { must_understand: true } },
    'Unknown member "extra"',
    "/extra",
  );
  assertRefused({ "a/b~": [] }, 'Unknown member "a/b~"', "/a~1b~0");
  for (const name of ["__proto__", "constructor"]) {
    const document = JSON.parse(
      `{"${name}": {"x": 1}, ${JSON.stringify(VALID).slice(1)}`,
    );
    assertThrows(
      () => parseArrayMetadata(document),
      MetadataError,
      `Unknown member "${name}"`,
    );
  }
  parseArrayMetadata({ ...VALID, extra: { must_understand: false } });
});

Deno.test("parseArrayMetadata refuses invalid shapes", () => {
  for (const shape of ["10", 10, null, {}]) {
    assertRefused(
      { shape },
      "Expected shape to be a list of lengths",
      "/shape",
    );
  }
  for (const length of [-1, 0.5, 2 ** 53, "4", null, [1]]) {
    assertRefused(
      { shape: [10, length] },
      "a length in shape to be a whole number from 0 to 2^53−1, found",
      "/shape/1",
    );
  }
});

Deno.test("parseArrayMetadata refuses unknown and invalid chunk grids", () => {
  assertRefused(
    { chunk_grid: { name: "rectilinear", configuration: {} } },
    'Unknown chunk grid "rectilinear"; known is "regular"',
    "/chunk_grid/name",
  );
  assertRefused(
    { chunk_grid: "regular" },
    'Missing member "chunk_shape"',
    "/chunk_grid/configuration/chunk_shape",
  );
  assertRefused({ chunk_grid: 7 }, "Expected a chunk grid", "/chunk_grid");
  const grid = (configuration: unknown) => ({
    chunk_grid: { name: "regular", configuration },
  });
  assertRefused(
    grid({ chunk_shape: [4] }),
    "as many dimensions as the array, 2, found [4]",
    "/chunk_grid/configuration/chunk_shape",
  );
  assertRefused(
    grid({ chunk_shape: [4, 0] }),
    "a length in chunk_shape to be a whole number from 1 to 2^53−1, found 0",
    "/chunk_grid/configuration/chunk_shape/1",
  );
  assertRefused(
    grid({ chunk_shape: [4, 7], origin: 0 }),
    'Unknown member "origin" in the configuration of a regular chunk grid; known are "chunk_shape"',
    "/chunk_grid/configuration/origin",
  );
});

Deno.test("parseArrayMetadata refuses storage_transformers other than arrays", () => {
  assertRefused(
    { storage_transformers: {} },
    "Expected storage_transformers to be a list",
    "/storage_transformers",
  );
});

Deno.test("parseArrayMetadata leaves the elements of metadata that is to be completed", () => {
  const document = { ...VALID, fill_value: "NaN", codecs: 5, attributes: null };
  assertThrows(() => parseArrayMetadata(document), MetadataError);
  const { metadata } = parseArrayMetadata(document, { isComplete: false });
  assertEquals(metadata, document as unknown);
  const { fill_value: _, ...without } = VALID;
  parseArrayMetadata(without);
});

Deno.test("describe renders short values completely", () => {
  const descriptions: [unknown, string][] = [
    ["a", '"a"'],
    ['"\n', '"\\"\\n"'],
    [5, "5"],
    [-0, "-0"],
    [NaN, "NaN"],
    [10n, "10n"],
    [null, "null"],
    [undefined, "undefined"],
    [true, "true"],
    [[], "[]"],
    [[1, "a", null], '[1, "a", null]'],
    [[[1]], "a list of 1 members"],
    [{}, "an object without members"],
    [{ a: 1, b: 2 }, 'an object with the members "a", "b"'],
    [Object.create(null), "an object without members"],
    [() => 1, "a function"],
    [new Uint16Array(3), "Uint16Array of 6 bytes"],
    [new ArrayBuffer(1_000_000), "ArrayBuffer of 1000000 bytes"],
    [Symbol("s"), "Symbol(s)"],
  ];
  for (const [value, description] of descriptions) {
    assertEquals(describe(value), description);
  }
});

Deno.test("describe shortens long values and does not recurse", () => {
  let deep: unknown = [];
  for (let i = 0; i < 1_000_000; i++) deep = [deep];
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  for (
    const value of [
      deep,
      cyclic,
      "x".repeat(1_000_000),
      new Array(1_000_000).fill(1),
      { ["m".repeat(1_000_000)]: 1 },
    ]
  ) {
    const { length } = describe(value);
    assertEquals(length < 250, true, `${length} characters`);
  }
});

Deno.test('describeAll joins names with commas and "and"', () => {
  assertEquals(describeAll([]), "none");
  assertEquals(describeAll(["a"]), '"a"');
  assertEquals(describeAll(["a", "b"]), '"a" and "b"');
  assertEquals(describeAll(["a", "b", "c"]), '"a", "b" and "c"');
});
