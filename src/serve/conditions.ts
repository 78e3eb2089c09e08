/** The entity tag and the date of a value, as headers show them. Conditions compare both. */
interface Validated {
  /** The entity tag with its quotes, a strong one. */
  readonly etag: string | undefined;
  /** `Last-Modified` in milliseconds since 1970, a whole number of seconds. */
  readonly modified: number | undefined;
}

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

/** Whether a request has a condition that may make its body unnecessary. */
export function mayBeUnmodified(headers: Headers): boolean {
  return headers.has("if-none-match") || headers.has("if-modified-since");
}

/**
 * Evaluates the conditions of a request for a present value, in the order of RFC 9110,
 * section 13.2.2. Returns the status 304 or 412, or `undefined` to go on.
 */
export function failedCondition(
  headers: Headers,
  { etag, modified }: Validated,
): 304 | 412 | undefined {
  const match = headers.get("if-match");
  if (match !== null) {
    if (!matches(match, etag, false)) return 412;
  } else {
    const since = dateOf(headers.get("if-unmodified-since"));
    if (since !== undefined && modified !== undefined && modified > since) {
      return 412;
    }
  }
  const noneMatch = headers.get("if-none-match");
  if (noneMatch !== null) {
    if (matches(noneMatch, etag, true)) return 304;
  } else {
    const since = dateOf(headers.get("if-modified-since"));
    if (since !== undefined && modified !== undefined && modified <= since) {
      return 304;
    }
  }
}

/** Whether `If-Range` lets a range be sent (RFC 9110, section 13.1.5). */
export function allowsRange(
  headers: Headers,
  { etag, modified }: Validated,
  now: number = Date.now(),
): boolean {
  const condition = headers.get("if-range");
  if (condition === null) return true;
  if (condition.includes('"')) return condition === etag;
  // A date is a strong validator only if it is older than the response.
  return modified !== undefined && dateOf(condition) === modified &&
    modified + 1000 <= now;
}

/** Whether a list of entity tags holds one; `*` stands for that of any present value. */
function matches(
  list: string,
  etag: string | undefined,
  isWeak: boolean,
): boolean {
  if (list.trim() === "*") return true;
  if (etag === undefined) return false;
  for (
    const [tag, weak] of list.matchAll(/(W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g)
  ) {
    if (weak === undefined) {
      if (tag === etag) return true;
    } else if (isWeak && tag.slice(2) === etag) return true;
  }
  return false;
}

/** Parses a date of HTTP; returns `undefined` for any other text, which is to be ignored. */
function dateOf(text: string | null): number | undefined {
  if (text === null || !HTTP_DATE.test(text)) return undefined;
  // The third form names no time zone.
  const time = Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
  return Number.isNaN(time) ? undefined : time;
}

/** The three forms of RFC 9110, section 5.6.7. */
const HTTP_DATE =
  /^[A-Z][a-z]{2,8},? (?:\d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d GMT|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})$/;
