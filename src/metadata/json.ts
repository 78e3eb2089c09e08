import {
  describe,
  JsonNumber,
  MetadataError,
  sentence,
} from "../errors/mod.ts";

/** A JSON object. */
export type Members = Readonly<Record<string, unknown>>;

/** The greatest size of a document in bytes, far above that of usual ones. It limits the memory for parsing. */
export const LONGEST_DOCUMENT: number = 16 * 1024 * 1024;

/**
 * Parses a metadata document: JSON in UTF-8, in which numbers may also be `NaN`,
 * `Infinity` and `-Infinity`, as zarr-python writes them. A whole number beyond 2^53 that
 * is written with all of its digits becomes a `bigint`.
 */
export function parseZarrJson(bytes: Uint8Array): unknown {
  return parse(bytes, valueOf);
}

/**
 * Parses a metadata document, and keeps the text of all numbers that JavaScript would
 * write otherwise, as {@linkcode JsonNumber}.
 */
export function parseExactZarrJson(bytes: Uint8Array): unknown {
  return parse(bytes, (text) => new JsonNumber(text));
}

/**
 * Changes a metadata document. The text of unchanged numbers is kept. Returns the same
 * bytes if nothing changes.
 *
 * @param change Returns the changed document, or the same one.
 */
export function changeZarrJson(
  bytes: Uint8Array,
  change: (document: unknown) => unknown,
): Uint8Array {
  const document = parseExactZarrJson(bytes);
  const changed = change(document);
  return changed === document ? bytes : formatZarrJson(changed);
}

/**
 * Changes a metadata document as {@linkcode changeZarrJson} does, for readers of JSON:
 * `NaN`, `Infinity` and `-Infinity`, which JSON does not have, become strings.
 */
export function showZarrJson(
  bytes: Uint8Array,
  change: (document: unknown) => unknown = (document) => document,
): Uint8Array {
  const shown = changeZarrJson(bytes, change);
  return hasNonFinite(shown)
    ? formatZarrJson(parseExactZarrJson(shown), { nonFinite: "strings" })
    : shown;
}

/**
 * Formats a metadata document with a final newline, and with an indentation of two spaces
 * unless the document is too long with it.
 *
 * @param options `nonFinite`: `"strings"` to write `NaN` and the infinities of a document
 * that was read as strings. By default, they are written as they were read.
 */
export function formatZarrJson(
  metadata: unknown,
  { nonFinite }: { nonFinite?: "strings" } = {},
): Uint8Array {
  const isShown = nonFinite === "strings";
  let bytes = encode(metadata, 2, isShown);
  if (bytes.length > LONGEST_DOCUMENT) bytes = encode(metadata, 0, isShown);
  assertReadable(bytes);
  return bytes;
}

/** Whether a document holds `NaN`, `Infinity` or `-Infinity`, which JSON does not have. */
export function hasNonFinite(bytes: Uint8Array): boolean {
  const text = new TextDecoder().decode(bytes);
  let isFound = false;
  if (/NaN|Infinity/.test(text)) {
    replaceNumbers(text, (number) => {
      isFound ||= NON_FINITE.test(number);
      return number;
    });
  }
  return isFound;
}

/**
 * Converts a {@linkcode JsonNumber} to a `number`, or to a `bigint` if it is a whole
 * number beyond 2^53 with all of its digits. Returns any other value as it is.
 */
export function numberOf(value: unknown): unknown {
  const { isRawJSON } = JSON as { isRawJSON?: (value: unknown) => boolean };
  const isRaw = value instanceof JsonNumber || isRawJSON?.(value);
  return isRaw ? valueOf((value as JsonNumber).rawJSON) : value;
}

/** Converts all numbers of a document of {@linkcode parseExactZarrJson} by {@linkcode numberOf}. */
export function withNumbers(document: unknown): unknown {
  if (Array.isArray(document)) return document.map(withNumbers);
  if (!isMembers(document)) return numberOf(document);
  const members = Object.entries(document);
  // Assignment would not define a member called __proto__.
  return Object.fromEntries(
    members.map(([name, value]) => [name, withNumbers(value)]),
  );
}

/** Whether a value is a JSON object. */
export function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null &&
    !Array.isArray(value) && !(value instanceof JsonNumber);
}

/** Whether two values in documents are equal, regardless of the order of members and the spelling of numbers. */
export function isSameJson(a: unknown, b: unknown): boolean {
  const [one, other] = [numberOf(a), numberOf(b)];
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length &&
      one.every((item, i) => isSameJson(item, other[i]));
  }
  if (!isMembers(one) || !isMembers(other)) return isSameValue(one, other);
  const names = Object.keys(one);
  return names.length === Object.keys(other).length &&
    names.every((name) =>
      Object.hasOwn(other, name) && isSameJson(one[name], other[name])
    );
}

/** The greatest number of characters of a whole number that becomes a `bigint`. */
const MOST_DIGITS = 1000;

function valueOf(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) || text.length > MOST_DIGITS ||
      !/^-?\d+$/.test(text)
    ? number
    : BigInt(text);
}

/** Matches numbers that `JSON.parse` refuses or JavaScript may write otherwise, and texts that look like them. */
const UNUSUAL = /\d[.eE]|\d{16}|-0|NaN|Infinity/;

/** Matches a number of JSON. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Matches a number that JSON does not have, as zarr-python writes it. */
const NON_FINITE = /^(?:NaN|-?Infinity)$/;

/** Returns a random text, which no document holds. */
function newMark(): string {
  const [a, b, c] = crypto.getRandomValues(new Uint32Array(3));
  return `zarr-parts number ${a} ${b} ${c} `;
}

/**
 * Parses a metadata document.
 *
 * @param number Converts the text of a number that JavaScript would write otherwise.
 */
function parse(bytes: Uint8Array, number: (text: string) => unknown): unknown {
  assertReadable(bytes);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    // A reviver is slow.
    if (!UNUSUAL.test(text)) return JSON.parse(text);
    const mark = newMark();
    const marked = replaceNumbers(
      text,
      // Unlike a string, an object cannot become the name of a member.
      (found) => `{"${mark}":"${found}"}`,
    );
    try {
      return JSON.parse(
        marked,
        (_, value) =>
          isMembers(value) && Object.hasOwn(value, mark)
            ? number(value[mark] as string)
            : value,
      );
    } catch (error) {
      // Throws an error about the text without marks: with other numbers of the same lengths.
      JSON.parse(replaceNumbers(text, (found) => "0".padEnd(found.length)));
      throw error;
    }
  } catch (error) {
    const start = describe(new TextDecoder().decode(bytes.subarray(0, 40)));
    throw new MetadataError(
      bytes.length === 0
        ? "The metadata document is empty, where JSON is expected"
        : `The metadata document is not JSON in UTF-8, it starts with ${start}: ${
          error instanceof Error ? error.message : String(error)
        }`,
      "",
      { cause: error },
    );
  }
}

/** Replaces the numbers of a JSON text that JavaScript would write otherwise. */
function replaceNumbers(
  text: string,
  replace: (number: string) => string,
): string {
  const token = /"|-?(?:\d[\d.eE+-]*|NaN|Infinity)/g;
  let replaced = "";
  let end = 0;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [found] = match;
    if (found === '"') {
      token.lastIndex = endOfString(text, token.lastIndex);
    } else if (isUnusual(found)) {
      replaced += text.slice(end, match.index) + replace(found);
      end = token.lastIndex;
    }
  }
  return end === 0 ? text : replaced + text.slice(end);
}

function isUnusual(text: string): boolean {
  const number = Number(text);
  const isKept = String(number) === text &&
    Math.abs(number) <= Number.MAX_SAFE_INTEGER;
  return NON_FINITE.test(text) || !isKept && NUMBER.test(text);
}

/** Returns the index after the quote that ends a string. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start); end >= 0;) {
    let first = end;
    while (first > start && text[first - 1] === "\\") first--;
    if ((end - first) % 2 === 0) return end + 1;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
}

/** The greatest depth of lists and objects in a document, far below the limit of call stacks. */
const DEEPEST = 500;

/** Refuses a document that takes too much memory or too deep a call stack. */
function assertReadable(bytes: Uint8Array): void {
  if (bytes.length > LONGEST_DOCUMENT) {
    throw new MetadataError(
      sentence`The metadata document is ${bytes.length} bytes long, where at most ${LONGEST_DOCUMENT} are read`,
    );
  }
  if (bytes.length <= DEEPEST || !isDeep(bytes)) return;
  throw new MetadataError(
    sentence`The metadata document nests lists and objects more than ${DEEPEST} deep`,
  );
}

/** Whether JSON nests lists and objects too deep. */
function isDeep(bytes: Uint8Array): boolean {
  let depth = 0;
  let isString = false;
  for (let i = 0; i < bytes.length; i++) {
    switch (bytes[i]) {
      case 0x22: // "
        isString = !isString;
        break;
      case 0x5c: // \
        i++;
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (!isString && ++depth > DEEPEST) return true;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        if (!isString) depth--;
    }
  }
  return false;
}

function encode(
  metadata: unknown,
  indentation: number,
  isShown: boolean,
): Uint8Array {
  const mark = newMark();
  let isMarked = false;
  // Some runtimes have no `JSON.rawJSON`.
  const raw = (text: string) => {
    isMarked = true;
    return mark + text;
  };
  const replace = (name: string, value: unknown) => {
    if (value instanceof JsonNumber) {
      const text = value.rawJSON;
      return isShown && NON_FINITE.test(text) ? text : raw(text);
    }
    if (typeof value === "bigint") return raw(String(value));
    // JSON.stringify would write 0 and null.
    if (Object.is(value, -0)) return raw("-0.0");
    if (typeof value !== "number" || isFinite(value)) return value;
    throw new MetadataError(
      sentence`Member ${name} is ${value}, which JSON cannot hold; Zarr writes such fill values as strings, such as "NaN" or "-Infinity"`,
    );
  };
  try {
    const text = JSON.stringify(metadata, replace, indentation);
    const numbers = new RegExp(`"${mark}([^"]*)"`, "g");
    const json = isMarked ? text.replace(numbers, "$1") : text;
    return new TextEncoder().encode(`${json}\n`);
  } catch (error) {
    if (error instanceof MetadataError) throw error;
    throw new MetadataError(
      "The metadata cannot be written as JSON: it holds itself, or nests too deep",
      "",
      { cause: error },
    );
  }
}

/**
 * Whether two values without members are equal. A whole number beyond 2^53 is a `number` if
 * it is written as `1e20`, and a `bigint` if it is written with its digits. These are often
 * rounded: programs write 2^67 with zeros at its end.
 */
function isSameValue(one: unknown, other: unknown): boolean {
  const isMixed = typeof one === "bigint" && typeof other === "number" ||
    typeof one === "number" && typeof other === "bigint";
  return isMixed
    ? one == other || String(one) === String(other)
    : Object.is(one, other);
}
