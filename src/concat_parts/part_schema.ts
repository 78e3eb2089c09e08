import { atPath, below, describe, MetadataError } from "../errors/mod.ts";
import {
  checkList,
  checkMembers,
  isMembers,
  isWhole,
} from "../metadata/mod.ts";
import type { Part } from "../splitter/mod.ts";
import { chunkKeyProblem, LONGEST_SUFFIX } from "../stores/mod.ts";
import { MOST_PARTS } from "./part_keys.ts";

/**
 * Checks parts that a program gives.
 *
 * @throws {TypeError} If a member has a wrong type.
 * @throws {RangeError} If a value is out of range, or two parts have one suffix.
 */
export function checkParts(parts: unknown): Part[] {
  if (!Array.isArray(parts)) {
    throw new TypeError(
      `Expected parts to be a list, found ${describe(parts)}`,
    );
  }
  const checked = parts.map((part: unknown): Part => {
    if (!isMembers(part) || part.keySuffix === undefined) {
      throw new TypeError(withoutSuffix(part));
    }
    const keySuffix = checkSuffix(part.keySuffix, "keySuffix");
    return part.size === undefined
      ? { keySuffix }
      : { keySuffix, size: checkSize(part.size) };
  });
  assertDistinct(checked, "keySuffix");
  return checked;
}

/**
 * Checks the configuration of `concat-parts` in metadata.
 *
 * @throws {MetadataError} If the document does not allow the configuration.
 */
export function checkConfiguration(configuration: unknown): Part[] {
  const { parts } = checkMembers(
    configuration,
    "the configuration of concat-parts",
    ["parts"],
  );
  const list = checkList(parts, "parts");
  if (list.length > MOST_PARTS) {
    throw new MetadataError(
      `A chunk would be stored in ${list.length} parts, where at most ${MOST_PARTS} are supported`,
      "/parts",
    );
  }
  const checked = list.map((part, i) =>
    below(`/parts/${i}`, () => {
      if (isMembers(part) && !("key_suffix" in part) && "keySuffix" in part) {
        throw new MetadataError(
          misspelt("keySuffix", "key_suffix", "programs spell"),
          "/keySuffix",
        );
      }
      const { key_suffix, size } = checkMembers(
        part,
        "a part",
        ["key_suffix"],
        ["size"],
      );
      const keySuffix = atPath(
        "/key_suffix",
        () => checkSuffix(key_suffix, "key_suffix"),
      );
      return Object.hasOwn(part as object, "size")
        ? { keySuffix, size: atPath("/size", () => checkSize(size)) }
        : { keySuffix };
    })
  );
  atPath("/parts", () => assertDistinct(checked, "key_suffix"));
  return checked;
}

/** Metadata spells the member `key_suffix`, programs spell it `keySuffix`. */
type SuffixName = "key_suffix" | "keySuffix";

function checkSuffix(suffix: unknown, name: SuffixName): string {
  if (typeof suffix !== "string") {
    throw new TypeError(
      `Expected a ${name}, a string, found ${describe(suffix)}`,
    );
  }
  if (suffix.length > LONGEST_SUFFIX) {
    throw new RangeError(
      `Expected a ${name} of at most ${LONGEST_SUFFIX} characters, found ${
        describe(suffix)
      }`,
    );
  }
  // Every chunk key ends in a name such as "c", and what follows the name decides
  // whether the key is allowed. Whole part keys are checked when the chunk key
  // encoding is known.
  const problem = chunkKeyProblem(`c${suffix}`);
  if (problem === undefined) return suffix;
  throw new RangeError(
    `The ${name} ${
      describe(suffix)
    } makes no part key: with it, the key ${problem}`,
  );
}

function checkSize(size: unknown): number {
  if (isWhole(size)) return size;
  const ErrorClass = typeof size === "number" ? RangeError : TypeError;
  throw new ErrorClass(
    `Expected a part's size to be a whole number of bytes from 0 to 2^53−1, found ${
      describe(size)
    }`,
  );
}

function assertDistinct(parts: readonly Part[], name: SuffixName): void {
  if (parts.length === 0) {
    throw new RangeError("Expected at least one part, found an empty list");
  }
  const seen = new Set<string>();
  for (const { keySuffix } of parts) {
    if (seen.has(keySuffix)) {
      throw new RangeError(
        `Two parts have the ${name} ${
          describe(keySuffix)
        }, where each part needs its own`,
      );
    }
    seen.add(keySuffix);
  }
}

function withoutSuffix(part: unknown): string {
  return isMembers(part) && "key_suffix" in part
    ? misspelt("key_suffix", "keySuffix", "metadata spells")
    : `Expected a part, an object with a keySuffix, found ${describe(part)}`;
}

function misspelt(found: SuffixName, right: SuffixName, who: string): string {
  return `Unknown member "${found}" in a part; expected "${right}", as only ${who} it "${found}"`;
}
