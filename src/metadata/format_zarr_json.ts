import { describe, shortened } from "./describe.ts";
import { MetadataError } from "./metadata_error.ts";
import {
  assertReadable,
  isWholeNumber,
  LONGEST_DOCUMENT,
  parseExactZarrJson,
  rawJSON,
} from "./zarr_json.ts";

/**
 * Changes a metadata document. The digits of unchanged numbers are kept. Returns
 * the same bytes if nothing changes.
 *
 * @param change Returns the changed document, or the same one.
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

/** Throws if the document has a number that this runtime cannot write back. */
function assertNumbersKept(bytes: Uint8Array): void {
  const text = new TextDecoder().decode(bytes);
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g)) {
    if (token.startsWith('"')) continue;
    const isKept = isWholeNumber(token)
      ? BigInt(token) === BigInt(Number(token))
      : isFinite(Number(token)) && !/^-?\d+$/.test(token);
    if (isKept) continue;
    throw new MetadataError(
      `The metadata document holds the number ${
        shortened(token)
      }, which this runtime cannot write back exactly`,
    );
  }
}

/**
 * Formats a metadata document: indented by two spaces unless it is too long then, and
 * with a final newline.
 */
export function formatZarrJson(metadata: unknown): Uint8Array {
  let bytes = encode(metadata, 2);
  if (bytes.length > LONGEST_DOCUMENT) bytes = encode(metadata, 0);
  assertReadable(bytes);
  return bytes;
}

function encode(metadata: unknown, indentation: number): Uint8Array {
  try {
    const text = JSON.stringify(metadata, replaceNumber, indentation);
    return new TextEncoder().encode(`${text}\n`);
  } catch (error) {
    if (error instanceof MetadataError) throw error;
    throw new MetadataError(
      "The metadata cannot be written as JSON: it holds itself, or nests too deep",
      "",
      { cause: error },
    );
  }
}

/** A replacer, since `JSON.stringify` writes NaN as null, -0 as 0, and throws on a bigint without naming the member. */
function replaceNumber(name: string, value: unknown): unknown {
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
