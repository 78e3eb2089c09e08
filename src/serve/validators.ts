import type { Validated } from "./conditions.ts";

/** The entity tag and the date of a value, and the headers that show them. */
export interface Validators extends Validated {
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Returns the validators of a value.
 *
 * @param tag A text that no other version of the value has, if there is one.
 * @param time When the value was stored, in milliseconds since 1970, if that is known.
 */
export function validatorsOf(
  tag: string | undefined,
  time?: number,
): Validators {
  const etag = tag === undefined ? undefined : `"${encodeURIComponent(tag)}"`;
  const modified = time === undefined
    ? undefined
    : Math.floor(time / 1000) * 1000;
  return {
    etag,
    modified,
    headers: {
      ...etag !== undefined && { etag },
      ...modified !== undefined &&
        { "last-modified": new Date(modified).toUTCString() },
    },
  };
}
