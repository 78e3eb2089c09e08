import { describe } from "../metadata/describe.ts";
import type { Part } from "./part.ts";

/**
 * Throws if the arguments of `splitStream` or `concatStream` are not of the right
 * kind, for callers without type checks.
 *
 * @param returns What `open` must return, for the message.
 */
export function assertArguments(
  chunk: { readonly parts: readonly Part[] },
  open: unknown,
  returns: string,
): void {
  if (!Array.isArray((chunk as { parts?: unknown } | undefined)?.parts)) {
    throw new TypeError(
      `Expected the parts as a ConcatParts, found ${describe(chunk)}`,
    );
  }
  if (typeof open !== "function") {
    throw new TypeError(
      `Expected a function that opens a part and returns ${returns}, found ${
        describe(open)
      }`,
    );
  }
}
