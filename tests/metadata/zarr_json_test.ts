import { assertEquals, assertThrows } from "@std/assert";
import { MetadataError } from "../../mod.ts";
import { parseArrayMetadata } from "../../src/metadata/array_metadata.ts";
import { formatZarrJson, parseZarrJson } from "../../src/metadata/zarr_json.ts";

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

Deno.test("parseZarrJson does not overflow the stack on a million brackets", () => {
  const brackets = new Uint8Array(2_000_000).fill(0x5b);
  assertRefused(brackets, "not JSON");
  brackets.fill(0x5d, brackets.length / 2);
  const document = parseZarrJson(brackets);
  assertThrows(
    () => parseArrayMetadata(document),
    MetadataError,
    "Expected array metadata to be an object",
  );
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
