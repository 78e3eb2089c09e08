/** The parts of a request by RFC 9110: the key in its path, its range, and its conditions, with the validators that they compare. */
import {
  type ByteRange,
  isTemporary,
  keyProblem,
  type StoreKey,
} from "../stores/mod.ts";

/** The greatest length of a key in bytes, that of object stores. */
const LONGEST_KEY = 1024;

/** The key of a request, or the answer that refuses it. */
type RequestKey =
  | { readonly key: StoreKey }
  | { readonly status: 400 | 404; readonly body: string };

/**
 * Returns the path below a mount; `undefined` for other paths.
 *
 * @param mount Empty, or a path without a `/` at its end.
 */
export function pathBelow(mount: string, url: string): string | undefined {
  // Finding the path takes a fraction of the time that a URL takes to parse.
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.search(/[?#]|$/);
  const path = start < 0 || start > end ? "/" : url.slice(start, end);
  if (path === mount) return "/";
  return path.startsWith(`${mount}/`) ? path.slice(mount.length) : undefined;
}

/** The answer for an absent value. */
export const NOT_FOUND = { status: 404, body: "Not found\n" } as const;

/** Decodes the path of a request to a key. Folders and temporary files have no key. */
export function keyOfPath(path: string): RequestKey {
  let key: string;
  try {
    key = path.includes("%") ? path.split("/").map(decodeName).join("/") : path;
  } catch {
    return { status: 400, body: "Expected a path in percent-encoded UTF-8\n" };
  }
  const names = key.split("/");
  if (names.at(-1) === "" || names.some(isTemporary)) return NOT_FOUND;
  const problem = keyProblem(key.slice(1));
  if (problem !== undefined) {
    return { status: 400, body: `The path ${problem}\n` };
  }
  // No character has more than 3 bytes for each unit of UTF-16.
  return 3 * key.length > LONGEST_KEY &&
      new TextEncoder().encode(key).length > LONGEST_KEY
    ? { status: 400, body: `Expected a path of at most ${LONGEST_KEY} bytes\n` }
    : { key: key as StoreKey };
}

/** Decodes one name, which must not hold a `/` of its own. */
function decodeName(name: string): string {
  const decoded = decodeURIComponent(name);
  if (decoded.includes("/")) throw new URIError("A name holds a slash");
  return decoded;
}

/**
 * Parses a `Range` header (RFC 9110, section 14.2). Returns `undefined` for a header that
 * is to be ignored, so that the whole value is sent: no header, a malformed one, another
 * unit, or several ranges.
 */
export function parseRangeHeader(header: string | null): ByteRange | undefined {
  const [, first = "", last = ""] = SINGLE_RANGE.exec(header ?? "") ?? [];
  if (first === "") {
    return last === "" ? undefined : { suffixLength: limited(last) };
  }
  const offset = limited(first);
  if (last === "") return { offset, length: Number.MAX_SAFE_INTEGER };
  if (BigInt(first) > BigInt(last)) return undefined;
  return { offset, length: Math.max(limited(last) - offset, 0) + 1 };
}

/** A list with one range. Lists may have empty elements. */
const SINGLE_RANGE = /^bytes=[ \t,]*(\d*)-(\d*)[ \t,]*$/i;

/** Returns a number of any length, at most 2^53−2, so that one may be added to it. */
function limited(digits: string): number {
  return Math.min(Number(digits), Number.MAX_SAFE_INTEGER - 1);
}

/** The entity tag and the date of a value, which conditions compare, and the headers that show them. */
export interface Validators {
  /** The entity tag with its quotes, a strong one. */
  readonly etag: string | undefined;
  /** `Last-Modified` in milliseconds since 1970, a whole number of seconds. */
  readonly modified: number | undefined;
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

/**
 * Evaluates the conditions of a request for a present value, in the order of RFC 9110,
 * section 13.2.2. Returns the status 304 or 412, or `undefined` to go on.
 */
export function failedCondition(
  headers: Headers,
  { etag, modified }: Validators,
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
  { etag, modified }: Validators,
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
