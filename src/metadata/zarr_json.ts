import { describe } from "./describe.ts";
import { MetadataError } from "./metadata_error.ts";

/** Larger than any sensible metadata document of one array; protects what reads it. */
const LARGEST = 16 * 1024 * 1024;

/** What `JSON` has where numbers are kept as they are written; TypeScript does not know it yet. */
const { rawJSON } = JSON as { rawJSON?: (source: string) => unknown };

/**
 * Reads a metadata document: JSON in UTF-8. A fill value that is a whole number of
 * more digits than a `number` has is a `bigint`, where the runtime tells.
 */
export function parseZarrJson(bytes: Uint8Array): unknown {
  return parse(bytes, exactFillValue, LONG_FILL_VALUE);
}

const LONG_FILL_VALUE = /"fill_value"\s*:\s*-?\d{16}/;

/** Reads a metadata document with numbers of more digits than a `number` has kept as they are written. */
export function parseExactZarrJson(bytes: Uint8Array): unknown {
  return parse(bytes, keepNumber);
}

/**
 * Changes a metadata document. What is not changed stays as it is, also a number
 * of more digits than a `number` has; where there is no change, so do the bytes.
 *
 * @param change Gives the document changed, or the same one.
 */
export function changeZarrJson(
  bytes: Uint8Array,
  change: (document: unknown) => unknown,
): Uint8Array {
  const document = parseExactZarrJson(bytes);
  const changed = change(document);
  if (changed === document) return bytes;
  if (rawJSON === undefined) assertNumbersKept(bytes);
  return formatZarrJson(changed);
}

/** Refuses numbers that do not survive where `JSON` does not keep them as they are written. */
function assertNumbersKept(bytes: Uint8Array): void {
  const text = new TextDecoder().decode(bytes);
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g)) {
    if (token.startsWith('"')) continue;
    const isKept = isFinite(Number(token)) && /^-?\d+$/.test(token)
      ? BigInt(token) === BigInt(Number(token))
      : isFinite(Number(token));
    if (isKept) continue;
    throw new MetadataError(
      `The metadata document holds the number ${token}, which this runtime cannot keep where the document is changed`,
    );
  }
}

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
      !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? "")
    ? BigInt(source!)
    : value;
}

/** @param revive Changes values, in a document that `needed` finds something in. */
function parse(
  bytes: Uint8Array,
  revive: (name: string, value: unknown) => unknown,
  needed?: RegExp,
): unknown {
  if (bytes.length > LARGEST) {
    throw new MetadataError(
      `The metadata document is ${bytes.length} bytes long, where at most ${LARGEST} are read`,
    );
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    // It is slow, and does not go as deep as documents may.
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

/** Writes a metadata document, as people and other programs like to read it. */
export function formatZarrJson(metadata: unknown): Uint8Array {
  const text = JSON.stringify(metadata, exactly, 2);
  return new TextEncoder().encode(`${text}\n`);
}

/** `JSON.stringify` writes NaN and the infinities as null, -0 as 0, and fails on a bigint without a place. */
function exactly(name: string, value: unknown): unknown {
  if (rawJSON !== undefined) {
    if (typeof value === "bigint") return rawJSON(String(value));
    if (Object.is(value, -0)) return rawJSON("-0.0");
  }
  if (
    typeof value === "bigint" || typeof value === "number" && !isFinite(value)
  ) {
    throw new MetadataError(
      `Member ${describe(name)} is ${describe(value)}, which JSON cannot hold${
        typeof value === "bigint" ? " in this runtime" : ""
      }; Zarr writes such fill values as strings, such as "NaN" or "-Infinity"`,
    );
  }
  return value;
}
