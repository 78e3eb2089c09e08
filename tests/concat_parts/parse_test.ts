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

const SIZES = [-1, 0.5, 2 ** 53, 1e300, Infinity, "4", null, true, [4], {}];

/** Key suffixes that no chunk key can have, and their problems. */
const HOSTILE: Record<string, string> = {
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

/** Lists of parts that are refused, the messages, and the places below `parts`. */
const REFUSED_PARTS: [unknown, message: string, path: string][] = [
  [[], "at least one part, found an empty list", ""],
  [{}, "parts to be a list, found an object without members", ""],
  ["abc", 'parts to be a list, found "abc"', ""],
  [null, "parts to be a list, found null", ""],
  [[7], "Expected a part to be an object, found 7", "/0"],
  [[{ key_suffix: "" }, null], "found null", "/1"],
  [[{}], 'Missing member "key_suffix" in a part', "/0/key_suffix"],
  [[{ key_suffix: 5 }], "a string, found 5", "/0/key_suffix"],
  [
    [{ key_suffix: "", length: 4 }],
    'Unknown member "length" in a part; known are "key_suffix" and "size"',
    "/0/length",
  ],
  [
    [{ key_suffix: ".a", size: 1 }, { key_suffix: "" }, { key_suffix: ".a" }],
    'Two parts have the key_suffix ".a"',
    "",
  ],
  ...SIZES.map((size): typeof REFUSED_PARTS[number] => [
    [{ key_suffix: "" }, { key_suffix: ".x", size }],
    "Expected a part's size to be a whole number of bytes from 0 to 2^53−1, found ",
    "/1/size",
  ]),
  ...Object.entries(HOSTILE).map((
    [key_suffix, problem],
  ): typeof REFUSED_PARTS[number] => [
    [{ key_suffix }],
    problem,
    "/0/key_suffix",
  ]),
  ...["__proto__", "constructor", "toString"].map((
    name,
  ): typeof REFUSED_PARTS[number] => [
    JSON.parse(`[{"key_suffix": "", "${name}": {"parts": []}}]`),
    `Unknown member "${name}"`,
    `/0/${name}`,
  ]),
];

/** Metadata that is refused, the messages, and the places. */
const REFUSED: [unknown, message: string, path: string][] = [
  ...REFUSED_PARTS.map(([parts, message, path]): typeof REFUSED[number] => [
    { name: "concat-parts", configuration: { parts } },
    message,
    `/configuration/parts${path}`,
  ]),
  ...[
    "concat-parts",
    { name: "concat-parts" },
    { name: "concat-parts", configuration: {} },
  ].map((metadata): typeof REFUSED[number] => [
    metadata,
    'Missing member "parts" in the configuration of concat-parts',
    "/configuration/parts",
  ]),
  ...["__proto__", "constructor"].map((name): typeof REFUSED[number] => [
    JSON.parse(
      `{"name": "concat-parts", "${name}": {}, "configuration": {"parts": []}}`,
    ),
    `Unknown member "${name}"`,
    `/${name}`,
  ]),
  [{ name: "concat" }, 'transformer "concat-parts", found "concat"', "/name"],
  ["other", 'transformer "concat-parts", found "other"', ""],
  ...[undefined, null, 5, [], true].map((metadata): typeof REFUSED[number] => [
    metadata,
    "Expected a storage transformer",
    "",
  ]),
  [{}, 'Missing member "name"', "/name"],
  [{ name: 7 }, "Expected a name, found 7", "/name"],
  [
    { name: "concat-parts", configuration: [] },
    "Expected a configuration object, found []",
    "/configuration",
  ],
  [
    { name: "concat-parts", must_understand: "no" },
    'Expected true or false, found "no"',
    "/must_understand",
  ],
];

Deno.test("ConcatParts.parse refuses metadata that is not valid, with its place", () => {
  for (const [metadata, message, path] of REFUSED) {
    assertRefused(metadata, message, path);
  }
});

Deno.test("ConcatParts.parse takes sizes up to 2^53−1, and any key suffix that a key can have", () => {
  const suffixes = ["/x", "..", "/...", ".", "é", "😀", " ", "%2e%2e", "a/b/c"]
    .concat(["zarr.json", "/zarr.json/x", "/zarr.json5"]);
  for (const key_suffix of suffixes) {
    for (const size of [0, 1, 2 ** 53 - 1]) {
      assertEquals(parse({ parts: [{ key_suffix, size }] }).parts, [
        { keySuffix: key_suffix, size },
      ]);
    }
  }
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
    [[{ key_suffix: "" }], TypeError, "an object with a keySuffix"],
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
