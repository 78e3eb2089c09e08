import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { MetadataError } from "../../mod.ts";
import { changeZarrJson } from "../../src/metadata/json.ts";
import { utf8 } from "../support/documents.ts";

/** Inserts a member `added` with `changeZarrJson`. */
function withMember(text: string): string {
  return new TextDecoder().decode(
    changeZarrJson(
      utf8(text),
      (document) => ({ added: true, ...document as object }),
    ),
  );
}

/** Numbers in all spellings of JSON. */
const digits = (maxLength: number) =>
  fc.stringMatching(new RegExp(`^[0-9]{1,${maxLength}}$`));
const number = fc.tuple(
  fc.constantFrom("", "-"),
  fc.oneof(
    fc.constant("0"),
    fc.tuple(fc.constantFrom("1", "9", "4"), digits(25)).map((all) =>
      all.join("")
    ),
  ),
  fc.option(digits(25).map((text) => `.${text}`), { nil: "" }),
  fc.option(
    fc.tuple(
      fc.constantFrom("e", "E"),
      fc.constantFrom("", "+", "-"),
      digits(4),
    ).map((all) => all.join("")),
    { nil: "" },
  ),
).map((all) => all.join(""));

Deno.test("changeZarrJson keeps the spelling of every number", () => {
  fc.assert(
    fc.property(fc.array(number, { minLength: 1, maxLength: 5 }), (numbers) => {
      assertEquals(
        withMember(`{"n":[${numbers}],"o":{"n":${numbers[0]}}}`),
        `{\n  "added": true,\n  "n": [\n    ${
          numbers.join(",\n    ")
        }\n  ],\n  "o": {\n    "n": ${numbers[0]}\n  }\n}\n`,
      );
    }),
    { numRuns: 1000 },
  );
});

Deno.test("changeZarrJson keeps the digits of long numbers", () => {
  for (
    const number of [
      "18446744073709551615",
      "-9223372036854775808",
      "9007199254740993",
      "0.1234567890123456789",
      "1e400",
      "-1E-400",
      "-0",
      "-0.0",
      "1.0",
      "1e3",
      "100000000000000000000000",
      "0.1",
      "3",
    ]
  ) {
    assertEquals(
      withMember(`{"fill_value": ${number}}`),
      `{\n  "added": true,\n  "fill_value": ${number}\n}\n`,
    );
  }
});

Deno.test("changeZarrJson keeps all other members and their order", () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      const document = JSON.parse(json);
      assertEquals(
        withMember(`{"value":${json}}`),
        // `JSON.stringify` wrote these numbers.
        `${JSON.stringify({ added: true, value: document }, null, 2)}\n`,
      );
    }),
    { numRuns: 500 },
  );
  const text = '{"__proto__": {"a": 1}, "constructor": "1.0", "a": "\\ud800"}';
  assertEquals(
    JSON.parse(withMember(text)),
    JSON.parse(text.replace("{", '{"added": true,')),
  );
});

Deno.test("changeZarrJson passes plain values, except raw numbers", () => {
  changeZarrJson(
    utf8('{"a": [1, 2.5, "1.0", null, true], "b": {}}'),
    (found) => {
      assertEquals(found, { a: [1, 2.5, "1.0", null, true], b: {} });
      return found;
    },
  );
});

Deno.test("changeZarrJson returns the same bytes if nothing changes", () => {
  for (
    const text of [
      ' { "a" :\t1.0 , "a": 2, "\\u0061": "\\/" }\r\n',
      "[1E3]",
      "1.0",
      '"é"',
      "null",
      "\u{feff}{}",
    ]
  ) {
    const bytes = utf8(text);
    assertStrictEquals(changeZarrJson(bytes, (document) => document), bytes);
    assertEquals(bytes, utf8(text));
  }
});

Deno.test("changeZarrJson formats a new document with a final newline", () => {
  for (const bytes of [utf8("{}"), utf8("4"), utf8("null")]) {
    assertEquals(
      changeZarrJson(bytes, () => ({ é: [] })),
      utf8('{\n  "é": []\n}\n'),
    );
  }
});

Deno.test("changeZarrJson refuses invalid JSON before it calls change", () => {
  const wrong: [Uint8Array, string][] = [
    [utf8(""), "The metadata document is empty, where JSON is expected"],
    [utf8("{"), 'not JSON in UTF-8, it starts with "{"'],
    [utf8('{"a": -NaN}'), "not JSON in UTF-8"],
    [utf8('{"a": 01}'), "not JSON in UTF-8"],
    [Uint8Array.of(0x22, 0xff, 0x22), "not JSON in UTF-8"],
    [
      new Uint8Array(16 * 1024 * 1024 + 1).fill(0x20),
      "is 16777217 bytes long, where at most 16777216 are read",
    ],
  ];
  for (const [bytes, message] of wrong) {
    assertThrows(
      () =>
        changeZarrJson(bytes, () => {
          throw new Error("Nothing was to be changed");
        }),
      MetadataError,
      message,
    );
  }
});

Deno.test("changeZarrJson refuses a change to a value that JSON cannot express", () => {
  assertThrows(
    () => changeZarrJson(utf8("{}"), () => ({ fill_value: NaN })),
    MetadataError,
    'Member "fill_value" is NaN, which JSON cannot hold',
  );
});
