import { describe } from "./describe.ts";
import { MetadataError } from "./metadata_error.ts";

/** The greatest size of a document in bytes, far above that of usual ones; limits the memory for parsing. */
export const LONGEST_DOCUMENT: number = 16 * 1024 * 1024;

/** The greatest depth of lists and objects in a document, far below the limit of call stacks. */
const DEEPEST = 500;

/** The greatest number of digits of a whole number that is kept, above that of 128 bits. */
export const MOST_DIGITS = 40;

/** `JSON.rawJSON`, which keeps the digits of numbers. Some runtimes and TypeScript lack it. */
export const rawJSON: ((source: string) => unknown) | undefined =
  /* @__PURE__ */ findRawJSON();

function findRawJSON(): ((source: string) => unknown) | undefined {
  return (JSON as { rawJSON?: (source: string) => unknown }).rawJSON;
}

/**
 * Parses a metadata document: JSON in UTF-8. A whole fill value that is too long for
 * a `number` becomes a `bigint`, if the runtime passes the source text to revivers.
 */
export function parseZarrJson(bytes: Uint8Array): unknown {
  return parse(bytes, exactFillValue, LONG_FILL_VALUE);
}

const LONG_FILL_VALUE = /"fill_value"\s*:\s*-?\d{16}/;

/** Parses a metadata document, and keeps the digits of all numbers. */
export function parseExactZarrJson(bytes: Uint8Array): unknown {
  return parse(bytes, keepNumber, UNUSUAL_NUMBER);
}

/** Matches numbers that JavaScript may write otherwise, and texts that look like them. */
const UNUSUAL_NUMBER = /\d[.eE]|\d{16}|-0/;

function keepNumber(
  _name: string,
  value: unknown,
  context?: { source?: string },
): unknown {
  const source = context?.source;
  return typeof value === "number" && source !== undefined && rawJSON &&
      String(value) !== source
    ? rawJSON(source)
    : value;
}

function exactFillValue(
  name: string,
  value: unknown,
  context?: { source?: string },
): unknown {
  const source = context?.source;
  return name === "fill_value" && typeof value === "number" &&
      !Number.isSafeInteger(value) && isWholeNumber(source ?? "")
    ? BigInt(source!)
    : value;
}

/** Whether the text is a whole number that is not too long for a `bigint`. */
export function isWholeNumber(text: string): boolean {
  return text.length <= MOST_DIGITS && /^-?\d+$/.test(text);
}

/** @param revive A reviver, which is only used if the document matches `needed`. */
function parse(
  bytes: Uint8Array,
  revive: (name: string, value: unknown) => unknown,
  needed?: RegExp,
): unknown {
  assertReadable(bytes);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    // Revivers are slow, and overflow the stack on deeply nested documents.
    return needed?.test(text) === false
      ? JSON.parse(text)
      : JSON.parse(text, revive);
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

/** Refuses a document that takes too much memory or too deep a call stack. */
export function assertReadable(bytes: Uint8Array): void {
  if (bytes.length > LONGEST_DOCUMENT) {
    throw new MetadataError(
      `The metadata document is ${bytes.length} bytes long, where at most ${LONGEST_DOCUMENT} are read`,
    );
  }
  if (bytes.length <= DEEPEST || !isDeep(bytes)) return;
  throw new MetadataError(
    `The metadata document nests lists and objects more than ${DEEPEST} deep`,
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
