/**
 * Tests the functions of the standard library that this project uses. The tests
 * run with what `@std/…` resolves to: the library, or its stand-ins.
 */
import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertMatch,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";

class Reading {
  #value: number;
  constructor(value: number) {
    this.#value = value;
  }
  get value(): number {
    return this.#value;
  }
}
class Estimate extends Reading {}

/** Fails unless `check` fails as an assertion, with a message that includes `text`. */
function assertFails(check: () => void, text = ""): void {
  const error = caught(check);
  if (!(error instanceof Error) || error.name !== "AssertionError") {
    throw new Error("Expected an AssertionError", { cause: error });
  }
  if (!error.message.includes(text)) {
    throw new Error(`Expected ${JSON.stringify(text)}`, { cause: error });
  }
}

function caught(run: () => void): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
}

Deno.test("assert() fails on falsy values", () => {
  assert("0");
  for (const value of [0, "", null, undefined, NaN, false]) {
    assertFails(() => assert(value, "message"), "message");
  }
});

Deno.test("assertEquals() accepts equal structures", () => {
  const pairs: [unknown, unknown][] = [
    [0, -0],
    [NaN, NaN],
    [{ a: 1, b: [2] }, { b: [2], a: 1 }],
    [{ a: 1 }, Object.assign(Object.create(null), { a: 1 })],
    [new Uint8Array([1, 2]), new Uint8Array([0, 1, 2]).subarray(1)],
    [new Float64Array([NaN, 0]), new Float64Array([NaN, -0])],
    [new Uint8Array([1]).buffer, new Uint8Array([1]).buffer],
    [new Set([[1], [2]]), new Set([[2], [1]])],
    [new Map([[[1], { a: 1 }]]), new Map([[[1], { a: 1 }]])],
    [new Date(5), new Date(5)],
    [/a/g, /a/g],
    [new URL("file:///a"), new URL("file:///a")],
    [new Reading(1), new Reading(1)],
  ];
  for (const [actual, expected] of pairs) assertEquals(actual, expected);
});

Deno.test("assertEquals() fails if a value, a class or a property differs", () => {
  const pairs: [unknown, unknown][] = [
    [1, 1n],
    [1, "1"],
    [null, undefined],
    [{}, null],
    [{ a: undefined }, {}],
    [{ a: undefined }, { b: undefined }],
    [[undefined], [,]],
    [[1, 2], [1]],
    [{ [Symbol.iterator]: 1 }, {}],
    [{ 0: 1 }, [1]],
    [new Uint8Array([1, 2]), new Uint8Array([1, 3])],
    [new Uint8Array([1, 2]), new Uint8Array([1, 2, 0])],
    [new Uint8Array([1]), new Uint8ClampedArray([1])],
    [new Uint8Array([1]), [1]],
    [new Uint8Array([1]).buffer, new Uint8Array([2]).buffer],
    [new Set([1]), new Set([2])],
    [new Map([[1, 2]]), new Map([[1, 3]])],
    [new Date(5), new Date(6)],
    [/a/g, /a/i],
    [new URL("file:///a"), new URL("file:///b")],
    [new Reading(1), new Reading(2)],
    [new Reading(1), new Estimate(1)],
    [() => 1, () => 1],
  ];
  for (const [actual, expected] of pairs) {
    assertFails(() => assertEquals(actual, expected, "message"), "message");
    assertFails(() => assertEquals(expected, actual), "Values are not equal");
  }
});

Deno.test("assertEquals() compares cyclic structures", () => {
  const cycle = (last: number) => {
    const list: unknown[] = [];
    return Object.assign(list, [list, last]);
  };
  assertEquals(cycle(1), cycle(1));
  assertFails(() => assertEquals(cycle(1), cycle(2)));
});

Deno.test("assertStrictEquals() accepts the same value only", () => {
  assertStrictEquals(NaN, NaN);
  assertFails(() => assertStrictEquals(0, -0), "not strictly equal");
  assertFails(() => assertStrictEquals([1], [1]), "not reference-equal");
});

Deno.test("assertInstanceOf(), assertMatch() and assertStringIncludes() name both values when they fail", () => {
  assertInstanceOf(new Estimate(1), Reading);
  assertFails(() => assertInstanceOf(new Reading(1), Estimate), "Estimate");
  assertMatch("abc", /b/);
  assertFails(() => assertMatch("abc", /d/), '"abc" to match: "/d/"');
  assertStringIncludes("abc", "b");
  assertFails(() => assertStringIncludes("abc", "d"), '"abc" to contain: "d"');
});

Deno.test("assertThrows() returns the error of the class, with the text", () => {
  const error = new RangeError("Out of range");
  const run = () => {
    throw error;
  };
  assertStrictEquals(assertThrows(run), error);
  assertStrictEquals(assertThrows(run, RangeError, "Out of"), error);
  assertStrictEquals(assertThrows(run, Error), error);
  assertFails(() => assertThrows(run, TypeError), '"TypeError"');
  assertFails(() => assertThrows(run, RangeError, "inside"), '"inside"');
  assertFails(() => assertThrows(() => 1), "Expected function to throw");
  assertFails(
    () =>
      assertThrows(() => {
        throw "text";
      }, Error),
    "non-Error",
  );
});

Deno.test("assertRejects() returns the error of the class, with the text", async () => {
  const error = new RangeError("Out of range");
  const run = () => Promise.reject(error);
  assertStrictEquals(await assertRejects(run), error);
  assertStrictEquals(await assertRejects(run, RangeError, "Out of"), error);
  const failures: [() => Promise<unknown>, string][] = [
    [() => assertRejects(run, TypeError), '"TypeError"'],
    [() => assertRejects(run, RangeError, "inside"), '"inside"'],
    [() => assertRejects(() => Promise.resolve()), "to reject"],
    [() => assertRejects(() => Promise.reject("text"), Error), "non-Error"],
    [
      () =>
        assertRejects(() => {
          throw error;
        }),
      "Function throws when expected to reject",
    ],
  ];
  for (const [check, text] of failures) {
    const error = await check().catch((error) => error);
    assertFails(() => {
      throw error;
    }, text);
  }
});
