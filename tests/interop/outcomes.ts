import { assertEquals } from "@std/assert";
import type { InteropArray } from "./interop_array.ts";
import type { ExchangedArray } from "./exchange.ts";
import { WRONG_ELEMENTS } from "./zarrita_limits.ts";

/** Reads arrays; returns the errors, or {@linkcode WRONG_ELEMENTS} for wrong elements, by path. */
export async function failuresOf(
  arrays: readonly Pick<ExchangedArray, "path" | "elements">[],
  read: (path: string) => Promise<Uint8Array>,
): Promise<Record<string, string>> {
  const failures: Record<string, string> = {};
  for (const { path, elements } of arrays) {
    try {
      if (!areEqual(await read(path), elements)) {
        failures[path] = WRONG_ELEMENTS;
      }
    } catch (error) {
      failures[path] = String(error);
    }
  }
  return failures;
}

/** Asserts that the known failures of arrays occur, and no others. */
export function assertFailures(
  failures: Readonly<Record<string, string>>,
  known: Readonly<Record<string, string>>,
  arrays: readonly InteropArray[],
): void {
  const expected = arrays.map(({ path }) => path).filter((path) =>
    path in known
  );
  const found = Object.entries(failures).map(([path, failure]) => [
    path,
    failure.startsWith(known[path] ?? "\0") ? known[path] : failure,
  ]);
  assertEquals(
    Object.fromEntries(found),
    Object.fromEntries(expected.map((path) => [path, known[path]])),
  );
}

function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
