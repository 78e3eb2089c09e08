import { describe } from "../errors/mod.ts";
import { keyProblem, type StoreKey } from "../stores/mod.ts";

/**
 * Converts an array's path to the prefix of its keys, without a last `/`: empty
 * for the root.
 *
 * @throws {TypeError} If the path is not a string.
 * @throws {RangeError} If the path is not names joined by `/`.
 */
export function arrayRoot(path: string): "" | StoreKey {
  const expected =
    `the array's path in the store, such as "elevation" or "" for the root`;
  if (typeof path !== "string") {
    throw new TypeError(`Expected ${expected}, found ${describe(path)}`);
  }
  if (path === "" || path === "/") return "";
  const names = path.replace(/^\/|\/$/g, "");
  const problem = keyProblem(names);
  if (problem === undefined) return `/${names}`;
  throw new RangeError(
    `Path ${describe(path)} ${problem}; expected ${expected}`,
  );
}
