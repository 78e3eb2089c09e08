import { resolveByteRange } from "../stores/byte_range.ts";
import type { StoreKey } from "../stores/store.ts";
import type { Ask } from "./chunk_values.ts";
import { allowsRange, failedCondition, mayBeUnmodified } from "./conditions.ts";
import type { Deadline } from "./deadline.ts";
import { contentTypeOf } from "./content_type.ts";
import { parseRangeHeader } from "./range_header.ts";
import { readShortBody } from "./short_body.ts";
import type { ShownStore } from "./shown_store.ts";
import type { Value } from "./value.ts";
import { bodyOf } from "./window_stream.ts";

/** The number of times that a value is looked up if it changes meanwhile. */
const TRIES = 5;

/** The status, the headers and the body of an answer. */
export interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array | ReadableStream<Uint8Array> | string;
  /** Whether the body is one of {@linkcode readShortBody}. */
  readonly isLent?: boolean;
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
  const ask: Ask = isHead || mayBeUnmodified(headers)
    ? undefined
    : range ?? "all";
  for (let tries = 1; tries <= TRIES; tries++) {
    const value = await shown.find(key, ask, deadline);
    if (value === undefined) return undefined;
    try {
      const answer = await answerValue(value);
      if (answer !== undefined) return answer;
      shown.forget(key);
    } finally {
      value.release();
    }
  }
  throw new Error(`The value of ${key} changes all the time`);

  async function answerValue(value: Value): Promise<Answer | undefined> {
    const { size, validators } = value;
    const failed = failedCondition(headers, true, validators);
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
    const short = needsBody ? readShortBody(value, start, end) : undefined;
    const opened = short || !needsBody
      ? []
      : await value.open(start, end, deadline);
    if (opened === undefined) return undefined;
    const isStream = "getReader" in opened;
    if (!isStream) deadline.close();
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
      ...needsBody &&
        { body: short ?? (isStream ? opened : bodyOf(opened)) },
      isLent: short !== undefined,
    };
  }
}
