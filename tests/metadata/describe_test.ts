import { assertEquals } from "@std/assert";
import { describe, describeAll } from "../../src/errors/describe.ts";

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
