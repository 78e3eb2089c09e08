import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { MetadataError } from "../../mod.ts";
import { chunkOf, packbits } from "./packbits_support.ts";

const REFUSED: [unknown, string, string][] = [
  [
    { padding_encoding: "start_byte" },
    "/configuration/padding_encoding",
    '"first_byte" or "last_byte", found "start_byte"',
  ],
  [{ padding_encoding: null }, "/configuration/padding_encoding", "found null"],
  [{ padding_encoding: 1 }, "/configuration/padding_encoding", "found 1"],
  [
    { first_bit: -1 },
    "/configuration/first_bit",
    "whole numbers from 0, or null, found -1",
  ],
  [{ first_bit: 1.5 }, "/configuration/first_bit", "found 1.5"],
  [{ first_bit: "1" }, "/configuration/first_bit", 'found "1"'],
  [
    { first_bit: 16 },
    "/configuration/first_bit",
    'first_bit of packbits to be a bit of "int16", from 0 to 15, found 16',
  ],
  [{ last_bit: -1 }, "/configuration/last_bit", "found -1"],
  [{ last_bit: 1e300 }, "/configuration/last_bit", "found 1e+300"],
  [
    { last_bit: 16 },
    "/configuration/last_bit",
    'last_bit of packbits to be a bit of "int16", from 0 to 15, found 16',
  ],
  [{ first_bit: 3, last_bit: 16 }, "/configuration/last_bit", "found 16"],
  [
    { first_bit: 3, last_bit: 2 },
    "/configuration/last_bit",
    "not to be less than first_bit, 3, found 2",
  ],
  [
    { first_bit: 1, last_bit: 0 },
    "/configuration/last_bit",
    "not to be less than first_bit, 1, found 0",
  ],
  [
    { start_bit: 0 },
    "/configuration/start_bit",
    'Unknown member "start_bit" in the configuration of packbits; known are "padding_encoding", "first_bit" and "last_bit"',
  ],
  [null, "/configuration", "Expected a configuration object, found null"],
  [[], "/configuration", "Expected a configuration object"],
  ["none", "/configuration", "Expected a configuration object"],
];

for (const [configuration, path, part] of REFUSED) {
  Deno.test(`packbits rejects the configuration ${JSON.stringify(configuration)}`, () => {
    const error = assertThrows(
      () => packbits("int16", [1], configuration),
      MetadataError,
    );
    assertEquals(error.path, path);
    assertStringIncludes(error.message, part);
  });
}

Deno.test("packbits accepts the first and last bit of each data type, and none beyond", () => {
  for (
    const [dataType, last] of Object.entries({ bool: 0, uint8: 7, float64: 63 })
  ) {
    packbits(dataType, [1], { first_bit: last, last_bit: last });
    for (const place of ["first_bit", "last_bit"]) {
      const error = assertThrows(
        () => packbits(dataType, [1], { [place]: last + 1 }),
        MetadataError,
        `from 0 to ${last}, found ${last + 1}`,
      );
      assertEquals(error.path, `/configuration/${place}`);
    }
  }
});

Deno.test("packbits needs no configuration", () => {
  const chunk = chunkOf(new Uint8Array([5, 6]), [2]);
  assertEquals(packbits("uint8", [2]).encode(chunk), new Uint8Array([5, 6]));
});

Deno.test("packbits rejects data types that are neither numbers nor bool", () => {
  for (
    const dataType of [
      "string",
      "v2:object",
      "v2:U4",
      "v2:S3",
      "int4",
      "toString",
    ]
  ) {
    const error = assertThrows(
      () => packbits(dataType, [1]),
      MetadataError,
      `Unknown data type "${dataType}" for packbits; known are "bool", "int8"`,
    );
    assertEquals(error.path, "");
  }
});
