import type { Answer } from "./exchange.ts";
import { parseContentRange } from "./content_range.ts";

/**
 * The headers that hold the generation of a chunk's parts: an identifier of the
 * write, which object stores send back as metadata of the object.
 */
const GENERATION_HEADERS: readonly string[] = [
  "x-amz-meta-zarr-parts-generation",
];

/** Two writes within this time may have the same `Last-Modified`, in milliseconds. */
const YOUTH = 2000;
/** The resolution of dates in headers, in milliseconds. */
const RESOLUTION = 1000;
/** The clocks of writer and server do not agree if they differ by more, in milliseconds. */
const SKEW = 10_000;

/** The version of a value, as the headers of a response tell it. */
export interface Validators {
  /** The write that the value belongs to. */
  readonly generation: string | undefined;
  /** The entity tag. A weak one counts like a strong one, and so only tells values apart. */
  readonly etag: string | undefined;
  /** Whether the value was uploaded in pieces: `Last-Modified` is then the start of the upload. */
  readonly isMultipart: boolean;
  /** `Last-Modified`, in milliseconds. */
  readonly modified: number | undefined;
  /** When the server, and not a cache, sent the response, in milliseconds of its clock. */
  readonly served: number | undefined;
  /** The length of the value in bytes, if `Content-Range` tells it. */
  readonly size: number | undefined;
}

/** Reads the headers of a response. */
export function validatorsOf({ headers }: Answer): Validators {
  const etag = headers.get("etag") ?? undefined;
  return {
    generation: GENERATION_HEADERS.map((name) => headers.get(name))
      .find((tag) => tag !== null) ?? undefined,
    etag: etag && withoutEncoding(etag),
    isMultipart: etag !== undefined && /^"[0-9a-f]{32}-\d+"$/i.test(etag),
    modified: dateOf(headers, "last-modified"),
    served: servedAt(headers),
    size: parseContentRange(headers).size,
  };
}

/** Removes what servers add to the entity tag of a compressed response. */
function withoutEncoding(etag: string): string {
  return etag.replace(/^W\//, "").replace(/[-;]+(gzip|br|zstd|deflate)"$/, '"');
}

function dateOf(headers: Headers, name: string): number | undefined {
  const date = Date.parse(headers.get(name) ?? "");
  return Number.isNaN(date) ? undefined : date;
}

function servedAt(headers: Headers): number | undefined {
  const date = dateOf(headers, "date");
  const age = Number(headers.get("age") ?? 0) * 1000;
  if (date === undefined || !(age > 0)) return date;
  // Most caches keep the date of the server, and some replace it by that of the cache.
  const elapsed = Date.now() - date;
  return Math.abs(elapsed) <= Math.abs(elapsed - age) ? date - age : date;
}

/** Whether later responses can be told apart from this one. */
export function tellsVersion(
  { generation, etag, modified }: Validators,
): boolean {
  return (generation ?? etag ?? modified) !== undefined;
}

/** Whether nothing tells apart two responses to requests for one key. */
export function isSameValue(a: Validators, b: Validators): boolean {
  return a.generation === b.generation &&
    (a.generation !== undefined ||
      (["etag", "modified", "size"] as const).every((name) =>
        a[name] === undefined || b[name] === undefined || a[name] === b[name]
      ));
}

/** Joins what two responses with the same value tell. */
export function joinValidators(a: Validators, b: Validators): Validators {
  const served = Math.min(a.served ?? Infinity, b.served ?? Infinity);
  return {
    generation: a.generation,
    etag: a.etag ?? b.etag,
    isMultipart: a.isMultipart || b.isMultipart,
    modified: a.modified ?? b.modified,
    served: served === Infinity ? undefined : served,
    size: a.size ?? b.size,
  };
}

/**
 * Whether two parts were both in place for some time when either was sent, so that
 * they belong to the same write. A writer removes the last part first, and puts its
 * new value in place after those of the others.
 */
export function isSettled(last: Validators, other: Validators): boolean {
  return !last.isMultipart && !other.isMultipart &&
    isBefore(last.modified, other.served, YOUTH) &&
    isBefore(other.modified, last.served, YOUTH);
}

function isBefore(
  modified: number | undefined,
  served: number | undefined,
  distance: number,
): boolean {
  return modified !== undefined && served !== undefined &&
    modified + distance < served;
}

/**
 * Whether the last part is the same before and after another part was sent, so that
 * the two belong to the same write. Responses that caches sent do not count.
 */
export function isUnchanged(
  last: Validators,
  other: Validators,
  lastAgain: Validators,
): boolean {
  return isSameValue(last, lastAgain) && !isStale(other, last) &&
    !isStale(lastAgain, other);
}

/** Whether a response was sent before another value was put in place, and so by a cache. */
function isStale(response: Validators, value: Validators): boolean {
  return response.served !== undefined && value.modified !== undefined &&
    !isAhead(value) && !isBefore(value.modified, response.served, 0);
}

/** Whether a value was modified in the server's future: the writer has another clock. */
function isAhead({ modified, served }: Validators): boolean {
  return modified !== undefined && served !== undefined &&
    modified > served + SKEW;
}

/**
 * The time in milliseconds until a value is old enough: other values that were
 * written within the same second would have had the same `Last-Modified`.
 */
export function youthOf(value: Validators): number {
  const { modified, served } = value;
  return modified === undefined || served === undefined || isAhead(value)
    ? 0
    : Math.max(0, modified + YOUTH + RESOLUTION - served);
}
