import { assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { MetadataError } from "../../mod.ts";
import {
  changeZarrJson,
  formatZarrJson,
  isSameJson,
  parseExactZarrJson,
  parseZarrJson,
  showZarrJson,
  withNumbers,
} from "../../src/metadata/json.ts";
import { utf8 } from "../support/documents.ts";

function assertRefused(bytes: Uint8Array, ...messages: string[]): void {
  for (const message of messages) {
    const error = assertThrows(
      () => parseZarrJson(bytes),
      MetadataError,
      message,
    );
    assertEquals(error.message.length < 400, true, error.message);
  }
}

Deno.test("parseZarrJson refuses invalid JSON", () => {
  assertRefused(utf8(""), "is empty, where JSON is expected");
  assertRefused(
    utf8("<html>"),
    'is not JSON in UTF-8, it starts with "<html>"',
  );
  for (
    const wrong of [
      ...["-NaN", "nan", "+Infinity", "inf", "NaNs", "1NaN", "NaN.0", "- 1"],
      ...["01", "1.", ".5", "1e", "-", "--1", "0x10", "1_000", "1.5.2"],
    ]
  ) {
    assertRefused(utf8(`{"a": ${wrong}, "b": NaN}`), "not JSON");
    assertRefused(utf8(`{"a": 1.0, "b": ${wrong}}`), "not JSON");
  }
  // A number is no name of a member.
  assertRefused(utf8("{NaN: 1}"), "not JSON");
  assertRefused(utf8("{1e400: 1}"), "not JSON");
  // The message tells the place in the text.
  assertRefused(utf8('{"a": NaN, "b": 1e400, "c": }'), "Unexpected token '}'");
  assertRefused(utf8('{"a": [NaN, 1.50'), "position 16");
  assertRefused(Uint8Array.of(0x22, 0xff, 0x22), "not JSON in UTF-8");
  assertRefused(new Uint8Array(100), "not JSON");
});

Deno.test("parseZarrJson refuses JSON that is truncated anywhere, and 50 MB of brackets before it parses them", () => {
  const whole = formatZarrJson({ zarr_format: 3, shape: [1, 2], name: "é" });
  // The last byte is a newline; the JSON is complete without it.
  for (let length = 0; length < whole.length - 1; length++) {
    assertThrows(() => parseZarrJson(whole.subarray(0, length)), MetadataError);
  }
  assertRefused(new Uint8Array(50_000_000).fill(0x5b), "at most 16777216");
});

/** JSON that nests lists and objects by turns. */
function nested(depth: number): string {
  let text = "1";
  for (let i = 0; i < depth; i++) text = i % 2 ? `[${text}]` : `{"a":${text}}`;
  return text;
}

Deno.test("parseZarrJson, parseExactZarrJson and formatZarrJson take documents that nest 500 deep, and no deeper", () => {
  const message = "nests lists and objects more than 500 deep";
  for (const parse of [parseZarrJson, parseExactZarrJson]) {
    for (const around of [nested, (depth: number) => ` ${nested(depth)}\n`]) {
      const document = parse(utf8(around(500)));
      assertEquals(JSON.stringify(document), nested(500));
      assertEquals(parse(formatZarrJson(document)), document);
      assertThrows(() => parse(utf8(around(501))), MetadataError, message);
    }
    // Neither brackets in strings nor those that are closed count.
    const wide = `[${new Array(600).fill('["\\\\\\"[{"]').join()}]`;
    assertEquals((parse(utf8(wide)) as unknown[]).length, 600);
    assertThrows(
      () => parse(new Uint8Array(2_000_000).fill(0x5b)),
      MetadataError,
      message,
    );
  }
  const deep = JSON.parse(nested(501));
  assertThrows(() => formatZarrJson(deep), MetadataError, message);
});

Deno.test("formatZarrJson refuses documents that JSON cannot hold, or that could not be read again", () => {
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  let deep: unknown = 1;
  for (let i = 0; i < 100_000; i++) deep = [deep];
  for (const document of [cyclic, deep]) {
    assertThrows(
      () => formatZarrJson(document),
      MetadataError,
      "cannot be written as JSON: it holds itself, or nests too deep",
    );
  }
  const text = "x".repeat(16 * 1024 * 1024 - 3); // And two quotes and a newline.
  assertEquals(formatZarrJson(text).length, 16 * 1024 * 1024);
  assertThrows(
    () => formatZarrJson(text + "x"),
    MetadataError,
    "is 16777217 bytes long, where at most 16777216 are read",
  );
});

Deno.test("formatZarrJson indents documents unless they are too long then", () => {
  // All but the letters y takes 16 bytes.
  const most = 16 * 1024 * 1024 - 16;
  for (const [length, isIndented] of [[most, true], [most + 1, false]]) {
    const document = ["x", "y".repeat(length as number)];
    const text = new TextDecoder().decode(formatZarrJson(document));
    assertEquals(text.startsWith('[\n  "x",\n  "y'), isIndented);
    assertEquals(JSON.parse(text), document);
  }
});

Deno.test("parseZarrJson gives whole numbers beyond 2^53 of up to 1000 characters as bigint", () => {
  for (
    const [text, value] of [
      ["9007199254740991", 2 ** 53 - 1],
      ["-9007199254740991", 1 - 2 ** 53],
      ["9007199254740992", 2n ** 53n],
      ["-9007199254740992", -(2n ** 53n)],
      ["18446744073709551615", 2n ** 64n - 1n],
      ["-9223372036854775808", -(2n ** 63n)],
      ["9".repeat(1000), BigInt("9".repeat(1000))],
      ["1".repeat(309), BigInt("1".repeat(309))],
      ["9".repeat(1001), Infinity],
      ["9".repeat(1_000_000), Infinity],
      ["9007199254740993.0", 2 ** 53],
      ["1e20", 1e20],
      ["1e400", Infinity],
      ["-1e400", -Infinity],
      ["1e-400", 0],
      ["NaN", NaN],
      ["Infinity", Infinity],
      ["-Infinity", -Infinity],
      ["-0", -0],
    ] as const
  ) {
    const document = parseZarrJson(
      utf8(`{"fill_value":${text},"attributes":{"a":[${text},{"b":${text}}]}}`),
    );
    assertEquals(document, {
      fill_value: value,
      attributes: { a: [value, { b: value }] },
    });
    assertEquals(parseZarrJson(utf8(text)), value);
    // Texts of strings are no numbers.
    const string = `\\"${text}\\\\`;
    const strings = `{"${string}":"${string}","a":[1.0,"NaN","\\\\"]}`;
    assertEquals(parseZarrJson(utf8(strings)), JSON.parse(strings));
  }
});

/** Numbers in all spellings of JSON. */
const number = fc.tuple(
  fc.constantFrom("", "-"),
  fc.stringMatching(/^(0|[149][0-9]{0,45})$/),
  fc.stringMatching(/^(\.[0-9]{1,25})?$/),
  fc.stringMatching(/^([eE][+-]?[0-9]{1,3})?$/),
).map((all) => all.join(""));

/** Any UTF-16 code unit. fast-check takes seconds to prepare its unit "binary". */
const anyUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

/** JSON with such numbers, and strings that look like them. */
const anyJson = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.string({ unit: anyUnit }).map((text) => JSON.stringify(text)),
    fc.array(fc.constantFrom("NaN", '"', "\\", "1.0", "{", "é", "1e400"))
      .map((texts) => JSON.stringify(texts.join(""))),
    number,
    fc.constantFrom("1.0", "-0", "1e400", "null", "true", "0"),
    fc.array(tie("value")).map((values) => `[${values.join(" ,\t")}]`),
    fc.array(fc.tuple(fc.string(), tie("value"))).map((members) =>
      `{${
        members.map(([name, value]) => `${JSON.stringify(name)}:\n${value}`)
      }}`
    ),
  ),
})).value;

Deno.test("parseZarrJson and parseExactZarrJson read what a reviver with the source text of numbers reads", () => {
  const reviver =
    (convert: (source: string) => unknown) =>
    (_: string, value: unknown, context?: { source: string }) =>
      typeof value === "number" ? convert(context!.source) : value;
  const plain = reviver((source) =>
    /^-?\d+$/.test(source) && !Number.isSafeInteger(Number(source))
      ? BigInt(source)
      : Number(source)
  ) as (name: string, value: unknown) => unknown;
  const texts = reviver((source) => `number ${source}`) as typeof plain;
  fc.assert(
    fc.property(anyJson, (json) => {
      assertEquals(parseZarrJson(utf8(json)), JSON.parse(json, plain));
      const exact = parseExactZarrJson(utf8(json));
      assertEquals(withNumbers(exact), JSON.parse(json, plain));
      const written = new TextDecoder().decode(formatZarrJson(exact));
      assertEquals(JSON.parse(written, texts), JSON.parse(json, texts));
    }),
    { numRuns: 300 },
  );
});

Deno.test("changeZarrJson keeps NaN and the infinities, and showZarrJson writes them as strings", () => {
  const text = '{"a":[NaN,-Infinity,"NaN"],"b":{"NaN":Infinity,"c":1e400}}';
  const bytes = utf8(text);
  const written = (bytes: Uint8Array) =>
    new TextDecoder().decode(bytes).replaceAll(/\s/g, "");
  const change = (document: unknown) => ({ ...document as object, d: 2 });
  assertEquals(
    written(changeZarrJson(bytes, change)),
    text.replace("}}", '},"d":2}'),
  );
  assertEquals(changeZarrJson(bytes, (document) => document), bytes);
  const shown =
    '{"a":["NaN","-Infinity","NaN"],"b":{"NaN":"Infinity","c":1e400}}';
  assertEquals(written(showZarrJson(bytes, (document) => document)), shown);
  assertEquals(
    written(showZarrJson(bytes, change)),
    shown.replace("}}", '},"d":2}'),
  );
  const json = utf8('{"a": "NaN", "b": 1.0}');
  assertEquals(showZarrJson(json, (document) => document), json);
});

const parsed = (text: string) => parseExactZarrJson(utf8(text));

Deno.test("isSameJson ignores the order of members and the spelling of numbers", () => {
  for (
    const [a, b, isSame] of [
      ['{"a":1,"b":[2]}', '{"b":[2.0],"a":1e0}', true],
      ['{"a":1}', '{"a":1,"b":null}', false],
      ['{"a":1,"b":null}', '{"a":1,"c":null}', false],
      ["[1,2]", "[2,1]", false],
      ["[1]", "[1,2]", false],
      ["[]", "{}", false],
      ["[1]", '{"0":1,"length":1}', false],
      ["null", "{}", false],
      ["0", '"0"', false],
      ["0.1", "1e-1", true],
      ["12345678901234567890", "12345678901234567890", true],
      ["12345678901234567890", "12345678901234567891", false],
      ["9007199254740993", "9007199254740992", false],
      ['{"__proto__":1}', '{"__proto__":2}', false],
      ['{"__proto__":{}}', '{"a":{}}', false],
    ] as const
  ) {
    assertEquals(isSameJson(parsed(a), parsed(b)), isSame, `${a} and ${b}`);
    assertEquals(isSameJson(parsed(b), parsed(a)), isSame, `${b} and ${a}`);
  }
});

Deno.test("isSameJson compares numbers of programs with their digits in documents", () => {
  for (
    const number of [2 ** 53, 2 ** 53 + 2, 1e20, 2 ** 67, 1.2345678901234567e20]
      .flatMap((number) => [number, -number, Math.fround(number)])
  ) {
    const document = parsed(`[${JSON.stringify(number)}]`);
    assertEquals(isSameJson([number], document), true, String(number));
    assertEquals(isSameJson(document, [number]), true, String(number));
    const other = parsed(`[${JSON.stringify(number).replace(/^-?\d/, "3")}]`);
    assertEquals(isSameJson([number], other), false, String(number));
  }
});

Deno.test("isSameJson agrees with comparing sorted JSON texts", () => {
  const value = fc.jsonValue({ maxDepth: 3, depthSize: "small" });
  fc.assert(
    fc.property(value, value, (a, b) => {
      const ordered = (value: unknown): string =>
        JSON.stringify(
          value,
          (_, member) =>
            typeof member === "object" && member !== null &&
              !Array.isArray(member)
              ? Object.fromEntries(
                Object.entries(member).sort(([a], [b]) => a < b ? -1 : 1),
              )
              : member,
        );
      const [one, other] = [a, b].map((value) => parsed(JSON.stringify(value)));
      assertEquals(isSameJson(one, other), ordered(one) === ordered(other));
      assertEquals(isSameJson(one, parsed(JSON.stringify(a))), true);
    }),
  );
});

Deno.test("changeZarrJson keeps the text of numbers, all other members and their order", () => {
  const members =
    '"b":[1E3,-0.0,18446744073709551615,0.1234567890123456789],"a":{"__proto__":{"1":-1E-400}},"constructor":"1.0","0":"\\ud800"';
  const changed = changeZarrJson(
    utf8(`{${members}}`),
    (document) => ({ ...document as object, added: 1n }),
  );
  const text = new TextDecoder().decode(changed);
  assertEquals(
    text.replaceAll(/\s/g, ""),
    // Names that are numbers come first in an object.
    `{"0":"\\ud800",${members.replace(/,"0".*/, "")},"added":1}`,
  );
  assertEquals(text.endsWith("\n}\n"), true);
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

Deno.test("changeZarrJson and formatZarrJson refuse invalid JSON, and values that JSON cannot express", () => {
  const invalid = ["", "{", '{"a": -NaN}', '{"a": 01}'].map(utf8);
  for (const bytes of [...invalid, Uint8Array.of(0x22, 0xff, 0x22)]) {
    const change = () => {
      throw new Error("Nothing was to be changed");
    };
    assertThrows(() => changeZarrJson(bytes, change), MetadataError);
  }
  for (const fill_value of [NaN, Infinity, -Infinity]) {
    const change = () => ({ fill_value });
    const problem = `Member "fill_value" is ${fill_value}, which JSON cannot`;
    assertThrows(
      () => changeZarrJson(utf8("{}"), change),
      MetadataError,
      problem,
    );
    assertThrows(() => formatZarrJson(change()), MetadataError, problem);
  }
  const formatted = new TextDecoder().decode(
    formatZarrJson({ a: -0, b: 2n ** 63n, c: 1e21 }),
  );
  assertEquals(
    formatted,
    '{\n  "a": -0.0,\n  "b": 9223372036854775808,\n  "c": 1e+21\n}\n',
  );
});
