/** The configurations that are taken and refused. */
import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { ConcatParts, MetadataError, type Part } from "../../mod.ts";
import { refusing } from "../support/metadata.ts";

const SHARD = [
  { keySuffix: ".header", size: 64 },
  { keySuffix: "" },
  { keySuffix: ".index", size: 1604 },
];

function parse(configuration: unknown): ConcatParts {
  return ConcatParts.parse({ name: "concat-parts", configuration });
}

/** Asserts that parsing fails with a message and a place. */
const assertRefused = refusing((metadata) => ConcatParts.parse(metadata));

function assertPartsRefused(
  parts: unknown,
  message: string,
  path: string,
): void {
  assertRefused(
    { name: "concat-parts", configuration: { parts } },
    message,
    `/configuration/parts${path}`,
  );
}

Deno.test("ConcatParts.parse reads both examples of the document", () => {
  assertEquals(
    parse({
      parts: [{ key_suffix: "" }, { key_suffix: ".crc32c", size: 4 }],
    }).parts,
    [{ keySuffix: "" }, { keySuffix: ".crc32c", size: 4 }],
  );
  assertEquals(
    parse({
      parts: [
        { key_suffix: ".header", size: 64 },
        { key_suffix: "" },
        { key_suffix: ".index", size: 1604 },
      ],
    }).parts,
    SHARD,
  );
});

Deno.test("ConcatParts.parse reads what toJSON writes", () => {
  const metadata = JSON.parse(JSON.stringify(new ConcatParts(SHARD)));
  assertEquals(ConcatParts.parse(metadata).parts, SHARD);
});

Deno.test("ConcatParts.parse refuses an empty list, values that are not a list, and missing parts", () => {
  assertPartsRefused([], "at least one part, found an empty list", "");
  assertPartsRefused(
    {},
    "parts to be a list, found an object without members",
    "",
  );
  assertPartsRefused("abc", 'parts to be a list, found "abc"', "");
  assertPartsRefused(null, "parts to be a list, found null", "");
  assertRefused(
    { name: "concat-parts", configuration: {} },
    'Missing member "parts" in the configuration of concat-parts',
    "/configuration/parts",
  );
  assertRefused(
    "concat-parts",
    'Missing member "parts"',
    "/configuration/parts",
  );
  assertRefused(
    { name: "concat-parts" },
    'Missing member "parts"',
    "/configuration/parts",
  );
});

Deno.test("ConcatParts.parse refuses list items that are not parts", () => {
  assertPartsRefused([7], "Expected a part to be an object, found 7", "/0");
  assertPartsRefused([{ key_suffix: "" }, null], "found null", "/1");
  assertPartsRefused(
    [{}],
    'Missing member "key_suffix" in a part',
    "/0/key_suffix",
  );
  assertPartsRefused([{ key_suffix: 5 }], "a string, found 5", "/0/key_suffix");
  assertPartsRefused(
    [{ key_suffix: "", length: 4 }],
    'Unknown member "length" in a part; known are "key_suffix" and "size"',
    "/0/length",
  );
});

Deno.test("ConcatParts.parse refuses sizes that are not a whole number from 0 to 2^53−1", () => {
  for (
    const size of [-1, 0.5, 2 ** 53, 1e300, Infinity, "4", null, true, [4], {}]
  ) {
    assertPartsRefused(
      [{ key_suffix: "" }, { key_suffix: ".x", size }],
      "Expected a part's size to be a whole number of bytes from 0 to 2^53−1, found ",
      "/1/size",
    );
  }
  for (const size of [0, 1, 2 ** 53 - 1]) {
    assertEquals(parse({ parts: [{ key_suffix: "", size }] }).parts, [
      { keySuffix: "", size },
    ]);
  }
});

Deno.test("ConcatParts.parse refuses two parts with one key suffix", () => {
  assertPartsRefused(
    [{ key_suffix: ".a", size: 1 }, { key_suffix: "" }, {
      key_suffix: ".a",
      size: 2,
    }],
    'Two parts have the key_suffix ".a"',
    "",
  );
});

Deno.test("ConcatParts.parse refuses key suffixes that no chunk key can have", () => {
  const hostile = {
    "/../../x": 'holds the segment ".."',
    "/..": 'holds the segment ".."',
    "/./x": 'holds the segment "."',
    "/": "holds an empty segment",
    "//x": "holds an empty segment",
    "a/": "holds an empty segment",
    "\\x": "holds a backslash",
    "\0": "holds a control character (U+0000)",
    "\n": "holds a control character (U+000A)",
    "\u007f": "holds a control character (U+007F)",
    "\u0085": "holds a control character (U+0085)",
    "\ud800": "holds half a surrogate pair (U+D800)",
    "/zarr.json": "is that of a metadata document",
    "/x/.zarray": "is that of a metadata document",
  };
  for (const [suffix, problem] of Object.entries(hostile)) {
    assertPartsRefused([{ key_suffix: suffix }], problem, "/0/key_suffix");
  }
  for (
    const suffix of [
      "/x",
      "..",
      "/...",
      ".",
      "é",
      "😀",
      " ",
      "%2e%2e",
      "a/b/c",
      "zarr.json",
      "/zarr.json/x",
      "/zarr.json5",
    ]
  ) {
    assertEquals(parse({ parts: [{ key_suffix: suffix }] }).parts, [
      { keySuffix: suffix },
    ]);
  }
});

Deno.test("ConcatParts.parse treats __proto__ and constructor as unknown members", () => {
  for (const name of ["__proto__", "constructor", "toString"]) {
    const member = `"${name}": {"parts": []}`;
    const message = `Unknown member "${name}"`;
    assertRefused(
      JSON.parse(
        `{"name": "concat-parts", ${member}, "configuration": {"parts": [{"key_suffix": ""}]}}`,
      ),
      message,
      `/${name}`,
    );
    assertRefused(
      JSON.parse(
        `{"name": "concat-parts", "configuration": {"parts": [{"key_suffix": ""}], ${member}}}`,
      ),
      message,
      `/configuration/${name}`,
    );
    assertPartsRefused(
      JSON.parse(`[{"key_suffix": "", ${member}}]`),
      message,
      `/0/${name}`,
    );
  }
});

Deno.test("ConcatParts.parse refuses values that are not a storage transformer of this name", () => {
  assertRefused(
    { name: "concat" },
    'transformer "concat-parts", found "concat"',
    "/name",
  );
  assertRefused("other", 'transformer "concat-parts", found "other"', "");
  for (const metadata of [undefined, null, 5, [], true]) {
    assertRefused(metadata, "Expected a storage transformer", "");
  }
  assertRefused({}, 'Missing member "name"', "/name");
  assertRefused({ name: 7 }, "Expected a name, found 7", "/name");
  assertRefused(
    { name: "concat-parts", configuration: [] },
    "Expected a configuration object, found []",
    "/configuration",
  );
  assertRefused(
    { name: "concat-parts", must_understand: "no" },
    'Expected true or false, found "no"',
    "/must_understand",
  );
});

Deno.test("new ConcatParts throws TypeError and RangeError for what ConcatParts.parse refuses", () => {
  const refused: [unknown, new () => Error, string][] = [
    [[], RangeError, "at least one part"],
    [undefined, TypeError, "parts to be a list"],
    [[{}], TypeError, "a keySuffix"],
    [[1], TypeError, "Expected a part, an object with a keySuffix, found 1"],
    [[{ keySuffix: 1 }], TypeError, "a string, found 1"],
    [[{ keySuffix: "" }, { keySuffix: "" }], RangeError, 'keySuffix ""'],
    [[{ keySuffix: "/.." }], RangeError, ".."],
    [
      [{ keySuffix: "/zarr.json" }],
      RangeError,
      'The keySuffix "/zarr.json" makes no part key: with it, the key is that of a metadata document',
    ],
    [[{ key_suffix: "" }], TypeError, 'expected "keySuffix"'],
    [[{ keySuffix: "", size: "4" }], TypeError, 'found "4"'],
    [[{ keySuffix: "", size: -1 }], RangeError, "found -1"],
    [[{ keySuffix: "", size: 1.5 }], RangeError, "found 1.5"],
    [[{ keySuffix: "", size: 2 ** 53 }], RangeError, "found 9007199254740992"],
  ];
  for (const [parts, ErrorClass, message] of refused) {
    const error = assertThrows(
      () => new ConcatParts(parts as Part[]),
      ErrorClass,
      message,
    );
    assertStrictEquals(error instanceof MetadataError, false);
  }
});

Deno.test("ConcatParts.parts cannot be changed", () => {
  const given = [{ keySuffix: "", size: 4 }];
  const { parts } = new ConcatParts(given);
  given[0]!.size = 5;
  given.push({ keySuffix: ".x", size: 1 });
  assertEquals(parts, [{ keySuffix: "", size: 4 }]);
  assertThrows(() => (parts as Part[]).push({ keySuffix: ".y" }), TypeError);
});
