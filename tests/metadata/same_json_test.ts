import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { isSameJson, parseExactZarrJson } from "../../src/metadata/json.ts";
import { utf8 } from "../support/documents.ts";

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
      ['{"toString":1}', "{}", false],
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
