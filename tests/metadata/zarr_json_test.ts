import { assertEquals, assertThrows } from "@std/assert";
import { MetadataError } from "../../mod.ts";
import { formatZarrJson } from "../../src/metadata/format_zarr_json.ts";
import {
  parseExactZarrJson,
  parseZarrJson,
} from "../../src/metadata/zarr_json.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

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

Deno.test("parseZarrJson is the inverse of formatZarrJson", () => {
  const metadata = { zarr_format: 3, attributes: { "é": ["😀", null, 1.5] } };
  assertEquals(parseZarrJson(formatZarrJson(metadata)), metadata);
});

Deno.test("parseZarrJson refuses invalid JSON", () => {
  assertRefused(utf8(""), "is empty, where JSON is expected");
  assertRefused(
    utf8("<html>"),
    'is not JSON in UTF-8, it starts with "<html>"',
  );
  assertRefused(utf8('{"a": NaN}'), "not JSON");
  assertRefused(Uint8Array.of(0x22, 0xff, 0x22), "not JSON in UTF-8");
  assertRefused(new Uint8Array(100), "not JSON");
});

Deno.test("parseZarrJson refuses JSON that is truncated anywhere", () => {
  const whole = formatZarrJson({ zarr_format: 3, shape: [1, 2], name: "é" });
  // The last byte is a newline; the JSON is complete without it.
  for (let length = 0; length < whole.length - 1; length++) {
    assertThrows(() => parseZarrJson(whole.subarray(0, length)), MetadataError);
  }
});

Deno.test("parseZarrJson refuses 50 MB of brackets before it parses them", () => {
  assertRefused(
    new Uint8Array(50_000_000).fill(0x5b),
    "is 50000000 bytes long, where at most 16777216 are read",
  );
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
  const list = (length: number) => new Array(length).fill(1);
  // Each line of a list takes 5 bytes.
  const most = (16 * 1024 * 1024 - 4) / 5;
  for (const [length, isIndented] of [[most, true], [most + 1, false]]) {
    const document = list(Math.floor(length as number));
    const text = new TextDecoder().decode(formatZarrJson(document));
    assertEquals(text.includes("\n  1"), isIndented);
    assertEquals(JSON.parse(text).length, document.length);
  }
});

Deno.test("parseZarrJson keeps the digits of fill values of up to 40 characters", () => {
  for (const digits of [16, 20, 39, 40]) {
    const text = "9".repeat(digits);
    const document = parseZarrJson(utf8(`{"fill_value":${text}}`));
    assertEquals(document, { fill_value: BigInt(text) });
  }
  for (const digits of [41, 1_000_000]) {
    const text = "9".repeat(digits);
    const document = parseZarrJson(utf8(`{"fill_value":${text}}`));
    assertEquals(document, { fill_value: Number(text) });
  }
});

Deno.test("formatZarrJson refuses numbers that JSON cannot express", () => {
  for (const value of [NaN, Infinity, -Infinity]) {
    assertThrows(
      () => formatZarrJson({ fill_value: value }),
      MetadataError,
      `Member "fill_value" is ${value}, which JSON cannot hold`,
    );
  }
});

Deno.test("parseZarrJson and formatZarrJson keep every digit of a fill value", () => {
  for (
    const [source, value] of [
      ["9223372036854775807", 9223372036854775807n],
      ["-9223372036854775808", -9223372036854775808n],
      ["9007199254740993", 9007199254740993n],
      ["9007199254740991", 9007199254740991],
      ["-0.0", -0],
      ["0", 0],
      ["1e21", 1e21],
    ] as const
  ) {
    const document = parseZarrJson(utf8(`{"fill_value":${source}}`));
    assertEquals(document, { fill_value: value });
    const text = new TextDecoder().decode(formatZarrJson(document));
    assertEquals(
      text,
      `{\n  "fill_value": ${source.replace("1e21", "1e+21")}\n}\n`,
    );
  }
  const others = parseZarrJson(utf8('{"attributes":{"n":9007199254740993}}'));
  assertEquals(others, { attributes: { n: 9007199254740992 } });
});
