import {
  type ByteRange,
  isMetadataKey,
  resolveByteRange,
  type StoreKey,
} from "../stores/mod.ts";
import type { NeededBytes } from "./chunk_values.ts";
import { allowsRange, failedCondition, mayBeUnmodified } from "./conditions.ts";
import type { Deadline } from "./deadline.ts";
import { streamOf, type Value } from "./served_value.ts";
import type { ShownStore } from "./shown_store.ts";

/** The number of times that a value is looked up if it changes before its body is opened. */
const TRIES = 5;

/** The status, the headers and the body of an answer. */
export interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array | ReadableStream<Uint8Array> | string;
}

/** Answers `GET` and `HEAD`. Returns `undefined` for an absent value. */
export async function answerRead(
  shown: ShownStore,
  key: StoreKey,
  { method, headers }: Request,
  deadline: Deadline,
): Promise<Answer | undefined> {
  const isHead = method === "HEAD";
  // Only GET has ranges (RFC 9110, section 14.2).
  const range = isHead ? undefined : parseRangeHeader(headers.get("range"));
  const needed: NeededBytes = isHead || mayBeUnmodified(headers)
    ? undefined
    : range ?? "all";
  for (let tries = 1; tries <= TRIES; tries++) {
    const value = await shown.find(key, needed, deadline);
    if (value === undefined) return undefined;
    let answer: Answer | undefined;
    try {
      answer = await answerValue(value);
    } finally {
      if (!isStream(answer?.body)) value.release();
    }
    if (answer !== undefined) return answer;
    shown.forget(key);
  }
  throw new Error(`The value of ${key} changes all the time`);

  async function answerValue(value: Value): Promise<Answer | undefined> {
    const { size, validators } = value;
    const failed = failedCondition(headers, validators);
    const isRange = range !== undefined && allowsRange(headers, validators);
    const { start, end } = resolveByteRange(
      isRange ? range : { offset: 0, length: size },
      size,
    );
    // The last bytes of an empty value are all of it.
    const isUnsatisfiable = isRange && start === end &&
      !(size === 0 && "suffixLength" in range && range.suffixLength > 0);
    const status = failed ??
      (isUnsatisfiable ? 416 : isRange && size > 0 ? 206 : 200);
    const needsBody = status < 300 && !isHead && start < end;
    if (!needsBody && !await value.isCurrent(deadline)) return undefined;
    if (status === 304) return { status, headers: validators.headers };
    if (status === 412) {
      return {
        status,
        headers: validators.headers,
        body: "A condition of the request does not hold\n",
      };
    }
    if (status === 416) {
      return {
        status,
        headers: { ...validators.headers, "content-range": `bytes */${size}` },
        body: `Expected a range of ${size} bytes\n`,
      };
    }
    const body = needsBody ? await value.open(start, end, deadline) : undefined;
    if (needsBody && body === undefined) return undefined;
    return {
      status,
      headers: {
        ...validators.headers,
        "accept-ranges": "bytes",
        "content-length": `${end - start}`,
        "content-type": contentTypeOf(key),
        ...status === 206 && {
          "content-range": `bytes ${start}-${end - 1}/${size}`,
        },
      },
      ...body && {
        body: body instanceof Uint8Array
          ? body
          : streamOf(body, end - start, deadline, () => value.release()),
      },
    };
  }
}

/** Whether a body is a stream, which ends the use of its value itself. */
function isStream(
  body: Answer["body"],
): body is ReadableStream<Uint8Array> {
  return typeof body === "object" && "getReader" in body;
}

const TYPES: Readonly<Record<string, string>> = {
  gif: "image/gif",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  json: "application/json",
  md: "text/plain; charset=utf-8",
  ozx: "application/zip",
  png: "image/png",
  tif: "image/tiff",
  tiff: "image/tiff",
  txt: "text/plain; charset=utf-8",
  zip: "application/zip",
};

/** Returns the media type of a value by the end of its key. */
function contentTypeOf(key: StoreKey): string {
  if (isMetadataKey(key)) return "application/json";
  const extension = /\.(\w+)$/.exec(key)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(TYPES, extension)
    ? TYPES[extension]!
    : "application/octet-stream";
}

/**
 * Parses a `Range` header (RFC 9110, section 14.2). Returns `undefined` for a header that
 * is to be ignored, so that the whole value is sent: no header, a malformed one, another
 * unit, or several ranges.
 */
function parseRangeHeader(header: string | null): ByteRange | undefined {
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
