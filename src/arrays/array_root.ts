import { describe } from "../metadata/describe.ts";
import type { StoreKey } from "../stores/store.ts";
import { keyProblem } from "../stores/store_key.ts";

const PATH =
  `the array's path in the store, such as "elevation" or "" for the root`;

/**
 * Converts an array's path to the prefix of its keys, without a last `/`: empty
 * for the root.
 *
 * @throws {TypeError} If the path is not a string.
 * @throws {RangeError} If the path is not names joined by `/`.
 */
export function arrayRoot(path: string): "" | StoreKey {
  if (typeof path !== "string") {
    throw new TypeError(`Expected ${PATH}, found ${describe(path)}`);
  }
  if (path === "" || path === "/") return "";
  const names = path.replace(/^\/|\/$/g, "");
  const problem = keyProblem(names);
  if (problem === undefined) return `/${names}`;
  throw new RangeError(`Path ${describe(path)} ${problem}; expected ${PATH}`);
}
