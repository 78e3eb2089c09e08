/** Stands in for the functions of `@std/assert` that this project uses, without JSR. */
import { AssertionError } from "node:assert";
import { inspect, stripVTControlCharacters } from "node:util";
import { equal } from "./equal.ts";

// deno-lint-ignore no-explicit-any
type Class<T> = abstract new (...args: any[]) => T;

export function assert(value: unknown, message = ""): asserts value {
  if (!value) fail(message);
}

export function assertEquals<T>(
  actual: T,
  expected: T,
  message?: string,
): void {
  if (equal(actual, expected)) return;
  const difference = new AssertionError({
    actual,
    expected,
    operator: "deepStrictEqual",
  });
  fail(`Values are not equal${suffix(message)}\n${difference.message}`);
}

export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  message?: string,
): asserts actual is T {
  if (Object.is(actual, expected)) return;
  const [found, wanted] = [actual, expected].map((value) => inspect(value));
  const problem = found === wanted
    ? "have the same structure but are not reference-equal"
    : "are not strictly equal";
  fail(
    `Values ${problem}${suffix(message)}\n` +
      `    actual: ${found}\n  expected: ${wanted}`,
  );
}

export function assertInstanceOf<T>(
  actual: unknown,
  type: Class<T>,
  message?: string,
): asserts actual is T {
  if (actual instanceof type) return;
  fail(
    `Expected object to be an instance of "${type.name}", found ${
      inspect(actual)
    }${suffix(message)}`,
  );
}

export function assertStringIncludes(
  actual: string,
  expected: string,
  message?: string,
): void {
  if (actual.includes(expected)) return;
  fail(
    `Expected actual: "${actual}" to contain: "${expected}"${suffix(message)}`,
  );
}

export function assertMatch(
  actual: string,
  expected: RegExp,
  message?: string,
): void {
  if (expected.test(actual)) return;
  fail(
    `Expected actual: "${actual}" to match: "${expected}"${suffix(message)}`,
  );
}

export function assertThrows(run: () => unknown, message?: string): unknown;
export function assertThrows<E extends Error = Error>(
  run: () => unknown,
  type: Class<E>,
  includes?: string,
  message?: string,
): E;
export function assertThrows(
  run: () => unknown,
  ...expected: Expected
): unknown {
  try {
    run();
  } catch (error) {
    return checkError(error, "thrown", expected);
  }
  fail(`Expected function to throw${suffix(messageOf(expected))}`);
}

export function assertRejects(
  run: () => PromiseLike<unknown>,
  message?: string,
): Promise<unknown>;
export function assertRejects<E extends Error = Error>(
  run: () => PromiseLike<unknown>,
  type: Class<E>,
  includes?: string,
  message?: string,
): Promise<E>;
export async function assertRejects(
  run: () => PromiseLike<unknown>,
  ...expected: Expected
): Promise<unknown> {
  const ending = suffix(messageOf(expected));
  let promise: unknown;
  try {
    promise = run();
  } catch {
    // Reported below, since there is no promise.
  }
  if (!isPromiseLike(promise)) {
    fail(`Function throws when expected to reject${ending}`);
  }
  try {
    await promise;
  } catch (error) {
    return checkError(error, "rejected", expected);
  }
  fail(`Expected function to reject${ending}`);
}

/** The arguments after the function: a message, or a class, a text in its message, and a message. */
type Expected = [
  typeOrMessage?: Class<Error> | string,
  includes?: string,
  message?: string,
];

function checkError(
  error: unknown,
  how: "thrown" | "rejected",
  expected: Expected,
): unknown {
  const [type, includes = ""] = expected;
  if (typeof type !== "function") return error;
  const ending = suffix(messageOf(expected));
  if (!(error instanceof Error)) fail(`A non-Error object was ${how}${ending}`);
  const { name } = error.constructor;
  if (!(error instanceof type)) {
    fail(
      `Expected error to be instance of "${type.name}", but was "${name}"${ending}`,
    );
  }
  const [text, part] = [error.message, includes].map(stripVTControlCharacters);
  if (!text!.includes(part!)) {
    fail(
      `Expected error message to include ${JSON.stringify(includes)}, but got ${
        JSON.stringify(error.message)
      }${ending}`,
    );
  }
  return error;
}

function messageOf([typeOrMessage, , message]: Expected): string | undefined {
  return typeof typeOrMessage === "string" ? typeOrMessage : message;
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value &&
    typeof value.then === "function";
}

function suffix(message: string | undefined): string {
  return message ? `: ${message}` : ".";
}

function fail(message: string): never {
  throw new AssertionError({ message });
}
