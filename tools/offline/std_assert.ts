/** Stands in for `@std/assert` where JSR cannot be reached: what this project uses of it, over `node:assert`. */
import { AssertionError, deepStrictEqual } from "node:assert";

// deno-lint-ignore no-explicit-any
type ErrorClass<E> = abstract new (...args: any[]) => E;

export function assert(
  value: unknown,
  message = "Expected a truthy value",
): asserts value {
  if (!value) throw new AssertionError({ message });
}

export function assertEquals<T>(
  actual: T,
  expected: T,
  message?: string,
): void {
  deepStrictEqual(actual, expected, message);
}

export function assertStrictEquals<T>(
  actual: unknown,
  expected: T,
  message?: string,
): asserts actual is T {
  assert(
    Object.is(actual, expected),
    message ?? `Expected ${String(expected)}, found ${String(actual)}`,
  );
}

export function assertInstanceOf<E>(
  value: unknown,
  type: ErrorClass<E>,
  message?: string,
): asserts value is E {
  assert(
    value instanceof type,
    message ?? `Expected an instance of ${type.name}, found ${String(value)}`,
  );
}

export function assertStringIncludes(actual: string, expected: string): void {
  assert(
    actual.includes(expected),
    `Expected ${JSON.stringify(actual)} to include ${JSON.stringify(expected)}`,
  );
}

export function assertMatch(actual: string, expected: RegExp): void {
  assert(
    expected.test(actual),
    `Expected ${JSON.stringify(actual)} to match ${expected}`,
  );
}

export function assertThrows<E extends Error = Error>(
  run: () => unknown,
  type?: ErrorClass<E>,
  includes = "",
): E {
  try {
    run();
  } catch (error) {
    return checked(error, type, includes);
  }
  throw new AssertionError({ message: "Expected the function to throw" });
}

export async function assertRejects<E extends Error = Error>(
  run: () => PromiseLike<unknown>,
  type?: ErrorClass<E>,
  includes = "",
): Promise<E> {
  try {
    await run();
  } catch (error) {
    return checked(error, type, includes);
  }
  throw new AssertionError({ message: "Expected the promise to be rejected" });
}

function checked<E extends Error>(
  error: unknown,
  type: ErrorClass<E> | undefined,
  includes: string,
): E {
  assertInstanceOf(error, type ?? (Error as unknown as ErrorClass<E>));
  assertStringIncludes(error.message, includes);
  return error;
}
