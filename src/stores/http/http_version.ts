import { pause } from "../../runtime/mod.ts";
import type {
  ByteRange,
  StoreKey,
  StoreOptions,
  StoreVersion,
} from "../store.ts";
import type { RequestSender } from "./http_client.ts";
import { fetchRange, HEAD_REFUSED } from "./http_reads.ts";
import type { HttpResponse } from "./http_response.ts";

/**
 * The header with the identifier of the write that a value belongs to. Object stores send
 * it back as metadata of the object.
 */
export const GENERATION_HEADER = "x-amz-meta-zarr-parts-generation";

/** Two writes within this time may have the same `Last-Modified`, in milliseconds. */
const YOUTH = 2000;
/** The resolution of dates in headers, in milliseconds. */
const RESOLUTION = 1000;
/** The greatest difference at which the clocks of writer and server count as equal, in milliseconds. */
const SKEW = 10_000;

/** The headers of a response that tell the version of its value. */
export interface Validators {
  /** The write that the value belongs to. */
  readonly generation: string | undefined;
  /** The entity tag. Weak ones count as strong ones, since they only tell values apart. */
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
function validatorsOf({ headers, contentRange }: HttpResponse): Validators {
  const etag = headers.get("etag") ?? undefined;
  return {
    generation: headers.get(GENERATION_HEADER) ?? undefined,
    etag: etag && withoutEncoding(etag),
    isMultipart: etag !== undefined && /^"[0-9a-f]{32}-\d+"$/i.test(etag),
    modified: dateOf(headers, "last-modified"),
    served: servedAt(headers),
    size: contentRange.size,
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
  // Most caches keep the date of the server, and some replace it by their own.
  const elapsed = Date.now() - date;
  return Math.abs(elapsed) <= Math.abs(elapsed - age) ? date - age : date;
}

/** Whether a response tells enough to tell later versions apart from this one. */
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

/**
 * Asks for the headers of a value: by `HEAD` or, if they do not tell versions apart then,
 * by `GET` without reading the body. Returns `undefined` for an absent value.
 */
export async function fetchValidators(
  requests: RequestSender,
  key: StoreKey,
  options: StoreOptions,
): Promise<Validators | undefined> {
  const head = await requests.send(key, options, [200, ...HEAD_REFUSED], {
    method: "HEAD",
    revalidate: true,
  });
  await head?.cancel();
  if (head?.status === 200 && tellsVersion(validatorsOf(head))) {
    return validatorsOf(head);
  }
  const response = await requests.send(key, options, [200], {
    revalidate: true,
  });
  await response?.cancel();
  return response && validatorsOf(response);
}

/** Whether a response tells about a value, and not that `HEAD` is refused. */
export function isAboutValue({ status }: HttpResponse): boolean {
  return !HEAD_REFUSED.includes(status);
}

/**
 * Reads what a response tells about the version of a value, or asks for it if the status
 * 416 hides it. Returns `undefined` for an absent value.
 */
export async function identify(
  response: HttpResponse,
  requests: RequestSender,
  key: StoreKey,
  options: StoreOptions,
): Promise<Validators | undefined> {
  const value = validatorsOf(response);
  return response.status === 416 && !tellsVersion(value)
    ? await fetchValidators(requests, key, options)
    : value;
}

/**
 * The version of a value over HTTP. If the group did not read the value, the first
 * response that is of the same write as the group's last value completes the version.
 */
export class HttpVersion implements StoreVersion {
  readonly isLasting = true;
  readonly #found: ReadonlyMap<StoreKey, Validators | undefined>;
  readonly #last: StoreKey;
  /** The key of the value. */
  readonly key: StoreKey;
  #expected: Validators | undefined;

  /**
   * @param found The validators of the responses that the group has read.
   * @param last The last key of the group.
   */
  constructor(
    found: ReadonlyMap<StoreKey, Validators | undefined>,
    last: StoreKey,
    key: StoreKey,
  ) {
    this.#found = found;
    this.#last = last;
    this.key = key;
  }

  release(): void {}

  /** The validators of a response with this version, once they are known. */
  get expected(): Validators | undefined {
    return this.#expected ??= this.#found.get(this.key);
  }

  /** The length of the value, as `Content-Range` of a response told it. */
  get size(): number | undefined {
    return this.expected?.size;
  }

  /** Values that were written a moment ago have no tag, since later ones may have the same headers. */
  get tag(): string | undefined {
    const value = this.expected;
    if (value === undefined || value.generation !== undefined) {
      return value?.generation;
    }
    return !tellsVersion(value) || youthOf(value) > 0
      ? undefined
      : `${value.etag?.slice(1, -1) ?? ""}-${value.modified ?? ""}`;
  }

  get modified(): number | undefined {
    return this.expected?.modified;
  }

  /** Whether a response has this version. */
  async matches(
    value: Validators,
    requests: RequestSender,
    options: StoreOptions,
  ): Promise<boolean> {
    if (this.expected === undefined) {
      if (!await this.#isOfSameWrite(value, requests, options)) return false;
      this.#expected ??= value;
    }
    return isSameValue(this.expected!, value);
  }

  /** Whether the value is of the same write as the last value of the group, whose headers are known. */
  async #isOfSameWrite(
    value: Validators,
    requests: RequestSender,
    { signal }: StoreOptions,
  ): Promise<boolean> {
    if (this.#found.size === 0) return true;
    const last = this.#found.get(this.#last);
    if (last === undefined || last.generation !== value.generation) {
      return false;
    }
    const isKnown = last.generation !== undefined || !tellsVersion(last) ||
      !tellsVersion(value) || isSettled(last, value);
    if (isKnown) return true;
    const again = await fetchValidators(
      requests,
      this.#last,
      signal ? { signal } : {},
    );
    if (again === undefined) return false;
    if (youthOf(last) === 0) return isUnchanged(last, value, again);
    // The next reading of the group then finds a value that is old enough.
    await pause(youthOf(again), signal);
    return false;
  }
}

/** Fetches a range of one version of a value; returns `undefined` if the key has another version by now. */
export async function fetchRangeOf(
  version: StoreVersion,
  requests: RequestSender,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  if (!(version instanceof HttpVersion) || version.key !== key) {
    return undefined;
  }
  let isOther = false;
  const matching: RequestSender = {
    policy: requests.policy,
    async send(...request) {
      const response = await requests.send(...request);
      if (response === undefined || !isAboutValue(response)) return response;
      const value = await identify(response, requests, key, options);
      if (value && await version.matches(value, requests, options)) {
        return response;
      }
      isOther = true;
      await response.cancel();
      return undefined;
    },
  };
  const bytes = await fetchRange(matching, key, range, options);
  return isOther ? undefined : bytes;
}
