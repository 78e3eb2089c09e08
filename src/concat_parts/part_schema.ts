import * as v from "valibot";
import { describe } from "../metadata/describe.ts";
import { expected, members } from "../metadata/schema.ts";
import type { Part } from "../splitter/part.ts";
import { keyProblem } from "../stores/store_key.ts";

const KEY_SUFFIX = v.pipe(
  v.string(expected("a key_suffix, a string")),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    // Any chunk key will do to judge the suffix by itself; what the finished
    // keys look like is checked with the array's own chunk key encoding.
    const problem = keyProblem(`c${dataset.value}`);
    if (problem !== undefined) {
      addIssue({
        message: `The key_suffix ${
          describe(dataset.value)
        } makes no part key: with it, the key ${problem}`,
      });
    }
  }),
);

const EXPECTED_SIZE = expected(
  "a part's size to be a whole number of bytes from 0 to 2^53−1",
);
const SIZE = v.pipe(
  v.number(EXPECTED_SIZE),
  v.safeInteger(EXPECTED_SIZE),
  v.minValue(0, EXPECTED_SIZE),
);

/** The rules that hold for any list of parts, whatever its members are called. */
function partsOf<P extends v.GenericSchema<unknown, Part>>(
  part: P,
): v.GenericSchema<unknown, Part[]> {
  return v.pipe(
    v.array(part, expected("parts to be a list")),
    v.nonEmpty("Expected at least one part, found an empty list"),
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      const seen = new Set<string>();
      for (const { keySuffix } of dataset.value) {
        if (seen.has(keySuffix)) {
          addIssue({
            message: `Two parts have the key_suffix ${
              describe(keySuffix)
            }, where each part needs its own`,
          });
        }
        seen.add(keySuffix);
      }
    }),
  );
}

/** Parts as a program gives them. */
export const PARTS: v.GenericSchema<unknown, Part[]> = partsOf(
  v.object(
    { keySuffix: KEY_SUFFIX, size: v.optional(SIZE) },
    expected("a part, an object with a keySuffix"),
  ),
);

/** The configuration of `concat-parts` in metadata. */
export const CONFIGURATION: v.GenericSchema<unknown, { parts: Part[] }> =
  members("the configuration of concat-parts", {
    parts: partsOf(
      v.pipe(
        members("a part", {
          key_suffix: KEY_SUFFIX,
          size: v.exactOptional(SIZE),
        }),
        v.transform(({ key_suffix, size }): Part =>
          size === undefined
            ? { keySuffix: key_suffix }
            : { keySuffix: key_suffix, size }
        ),
      ),
    ),
  });
