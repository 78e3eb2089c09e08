import { closest, distance } from "fastest-levenshtein";
import { describe, describeAll, sentence } from "./describe.ts";

/** What an option must be. */
export interface OptionRule {
  /** What the option must be, in words that follow "to be". */
  readonly expected: string;
  /** Whether a value is as expected. An absent option is always valid, unless it is required. */
  readonly isValid: (value: unknown) => boolean;
  /** For which invalid values a `RangeError` is thrown, and not a `TypeError`. */
  readonly outOfRange?: "numbers" | "lists of numbers" | "all";
  readonly isRequired?: boolean;
}

/** The rules of all options of a function. */
export type OptionRules<T> = {
  readonly [K in keyof Required<T>]: OptionRule;
};

/**
 * Checks the options of a function: their names, and the value of each.
 *
 * @param owner The function or class whose options these are, for messages.
 * @param settings `within`: the name of the option whose members these are;
 * `otherNames`: the right names of options, by the names that other programs use.
 * @throws {TypeError} If an option is unknown, or has a wrong type.
 * @throws {RangeError} If the value of an option is out of range.
 */
export function checkOptions<T extends object>(
  options: T,
  rules: OptionRules<T>,
  owner: string,
  { within, otherNames = {} }: {
    within?: string;
    otherNames?: Readonly<Record<string, string>>;
  } = {},
): void {
  const isObject = typeof options === "object" && options !== null &&
    !Array.isArray(options);
  if (!isObject) {
    const what = within === undefined
      ? `the options of ${owner}`
      : `the option "${within}"`;
    throw new TypeError(
      `Expected ${what} as an object, found ${describe(options)}`,
    );
  }
  const prefix = within === undefined ? "" : `${within}.`;
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(rules, name)) continue;
    const known = Object.keys(rules);
    const camelCase = name.replace(
      /_(\w)/g,
      (_, letter: string) => letter.toUpperCase(),
    );
    const meant = Object.hasOwn(otherNames, camelCase)
      ? otherNames[camelCase]
      : nearestName(camelCase, known);
    throw new TypeError(
      `Unknown option ${describe(prefix + name)} of ${owner}; ${
        meant === undefined
          ? `known are ${describeAll(known.map((each) => prefix + each))}`
          : sentence`expected ${prefix + meant}`
      }`,
    );
  }
  // Faster than a loop over entries, which matters for short calls.
  for (const name in rules) {
    const value = options[name];
    if (value === undefined && !rules[name].isRequired) continue;
    checkOption(prefix + name, value, rules[name]);
  }
}

/** Checks the value of one option. */
export function checkOption(
  name: string,
  value: unknown,
  { expected, isValid, outOfRange, isRequired }: OptionRule,
): void {
  if (value === undefined ? !isRequired : isValid(value)) return;
  const isOutOfRange = outOfRange === "all" ||
    outOfRange === "numbers" && typeof value === "number" ||
    outOfRange === "lists of numbers" && Array.isArray(value) &&
      value.every((each) => typeof each === "number");
  throw new (isOutOfRange ? RangeError : TypeError)(
    `Expected the option "${name}" to be ${expected}, found ${describe(value)}`,
  );
}

/** Refuses two options that exclude each other. An option that is `false` counts as absent. */
export function checkExclusive<T extends object>(
  options: T,
  pairs: readonly (readonly [keyof T & string, keyof T & string])[],
): void {
  const isGiven = (name: keyof T) =>
    options[name] !== undefined && options[name] !== false;
  for (const pair of pairs) {
    if (!pair.every(isGiven)) continue;
    throw new TypeError(
      `Expected one of the options ${describeAll(pair)}, found both`,
    );
  }
}

/** Returns the known name that is most similar to a wrong one, if it may be the name that was meant. */
export function nearestName(
  name: string,
  known: readonly string[],
): string | undefined {
  const nearest = closest(name, [...known]);
  const isNear = distance(name, nearest) <= Math.max(2, name.length / 3);
  return isNear ? nearest : undefined;
}

/** A rule for an option that may have any value. */
export const ANY: OptionRule = { expected: "any value", isValid: () => true };

export const BOOLEAN: OptionRule = /* @__PURE__ */ oneOf(true, false);

export const TEXT: OptionRule = {
  expected: "a string",
  isValid: (value) => typeof value === "string",
};

export const FUNCTION: OptionRule = {
  expected: "a function",
  isValid: (value) => typeof value === "function",
};

export const SIGNAL: OptionRule = /* @__PURE__ */ objectRule("an AbortSignal");

/** A rule for objects other than lists. */
export function objectRule(expected = "an object"): OptionRule {
  return {
    expected,
    isValid: (value) =>
      typeof value === "object" && value !== null && !Array.isArray(value),
  };
}

/** A rule for one of several values. */
export function oneOf(...values: unknown[]): OptionRule {
  const words = values.map(describe);
  const last = words.pop();
  return {
    expected: words.length === 0 ? `${last}` : `${words.join(", ")} or ${last}`,
    isValid: (value) => values.includes(value),
  };
}

/** A rule for numbers that are not below `least`. */
export function numberFrom(least: number): OptionRule {
  return {
    expected: `a number of at least ${least}`,
    isValid: (value) => typeof value === "number" && value >= least,
    outOfRange: "numbers",
  };
}

/** A rule for whole numbers. */
export function wholeFrom(
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): OptionRule {
  const isLimited = most < Number.MAX_SAFE_INTEGER;
  return {
    expected: `a whole number from ${least}${isLimited ? ` to ${most}` : ""}`,
    isValid: (value) =>
      Number.isSafeInteger(value) && value as number >= least &&
      value as number <= most,
  };
}
