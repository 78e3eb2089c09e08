/**
 * A number with its text in a document, for numbers that JavaScript would write otherwise,
 * such as `1.0` and those beyond 2^53, and for those that JSON does not have.
 */
export class JsonNumber {
  /** The text, such as `18446744073709551615`, `1.0` or `NaN`. */
  readonly rawJSON: string;

  constructor(text: string) {
    this.rawJSON = text;
  }

  toString(): string {
    return this.rawJSON;
  }
}

const LONGEST = 80;

/**
 * Renders any value for an error message: as JSON if that is short, otherwise by
 * kind and length. Never throws, and never walks deep into hostile metadata.
 */
export function describe(value: unknown): string {
  if (typeof value === "string") {
    return value.length <= LONGEST
      ? JSON.stringify(value)
      : `${
        JSON.stringify(value.slice(0, LONGEST))
      }… (${value.length} characters)`;
  }
  if (Array.isArray(value)) {
    return value.every(isShallow)
      ? shortened(`[${value.slice(0, LONGEST).map(describe).join(", ")}]`)
      : `a list of ${value.length} members`;
  }
  if (value instanceof JsonNumber) return shortened(String(value));
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return `${value.constructor.name} of ${value.byteLength} bytes`;
  }
  if (typeof value === "object" && value !== null) {
    const names = Object.keys(value).slice(0, 8).map(describe);
    return names.length === 0
      ? "an object without members"
      : shortened(`an object with the members ${names.join(", ")}`);
  }
  if (typeof value === "function") return "a function";
  if (Object.is(value, -0)) return "-0";
  return shortened(typeof value === "bigint" ? `${value}n` : String(value));
}

/** Composes an error message, whose values are rendered by {@linkcode describe}. */
export function sentence(
  texts: TemplateStringsArray,
  ...values: unknown[]
): string {
  return String.raw({ raw: texts }, ...values.map(describe));
}

/** Renders a list of names for an error message: `"a", "b" and "c"`. */
export function describeAll(names: Iterable<string>): string {
  const quoted = Array.from(names, describe);
  const last = quoted.pop();
  if (last === undefined) return "none";
  return quoted.length === 0 ? last : `${quoted.join(", ")} and ${last}`;
}

/** Cuts a text that is too long for an error message. */
export function shortened(text: string): string {
  return text.length <= 2 * LONGEST ? text : `${text.slice(0, 2 * LONGEST)}…`;
}

/**
 * Describes a value of a wrong type for an error message by its kind and length, such as
 * `Uint16Array of 6 bytes`.
 */
export function describeValue(value: unknown): string {
  if (typeof value === "string") {
    return `a string of ${value.length} characters`;
  }
  if (Array.isArray(value)) return `a list of ${value.length} members`;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return `${value.constructor.name} of ${value.byteLength} bytes`;
  }
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  const name: unknown = value.constructor?.name;
  return typeof name === "string" && name !== "Object" ? name : "an object";
}

function isShallow(value: unknown): boolean {
  return typeof value !== "object" || value === null ||
    value instanceof JsonNumber;
}
