import { describe } from "./describe.ts";
import { MetadataError } from "./metadata_error.ts";
import { JsonNumber } from "./json_number.ts";
import {
  assertReadable,
  hasNonFinite,
  LONGEST_DOCUMENT,
  newMark,
  NON_FINITE,
  parseExactZarrJson,
} from "./zarr_json.ts";

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
  change: (document: unknown) => unknown,
): Uint8Array {
  const document = parseExactZarrJson(bytes);
  const changed = change(document);
  return changed === document && !hasNonFinite(bytes)
    ? bytes
    : formatZarrJson(changed, { nonFinite: "strings" });
}

/**
 * Formats a metadata document: indented by two spaces unless it is too long then, and
 * with a final newline.
 *
 * @param options `nonFinite`: whether `NaN` and the infinities of a document that was
 * read stay as they are there, which is the default, or become strings.
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

function encode(
  metadata: unknown,
  indentation: number,
  isShown: boolean,
): Uint8Array {
  const mark = newMark();
  let isMarked = false;
  // Not all runtimes have `JSON.rawJSON`.
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
      `Member ${describe(name)} is ${
        describe(value)
      }, which JSON cannot hold; Zarr writes such fill values as strings, such as "NaN" or "-Infinity"`,
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
