import { SizeLimitError } from "../../errors/mod.ts";
import { rangeStream, toBytes } from "../byte_streams.ts";
import { redactUrl } from "../describe_store.ts";
import {
  type ByteRange,
  type GetOptions,
  lengthOfByteRange,
  resolveByteRange,
  type StoreKey,
  type StoreOptions,
} from "../store.ts";
import type { RequestSender } from "./http_client.ts";
import { readWithRetries } from "./http_failures.ts";
import type { ContentRange, HttpResponse } from "./http_response.ts";

/** Fetches a whole value, unless it is longer than `limit`. */
export function fetchValue(
  requests: RequestSender,
  key: StoreKey,
  options: GetOptions,
): Promise<Uint8Array | undefined> {
  const { limit = Infinity } = options;
  return readWithRetries(requests.policy, options, async () => {
    const response = await requests.send(key, options, [200]);
    const bytes = await response?.bytesUpTo(limit);
    if (!response || bytes) return bytes;
    const length = response.contentLength ?? 0;
    throw new SizeLimitError(key, limit, length > limit ? length : undefined);
  });
}

/** Fetches a value as a stream. */
export async function fetchStream(
  requests: RequestSender,
  key: StoreKey,
  options: StoreOptions,
): Promise<ReadableStream<Uint8Array> | undefined> {
  const response = await requests.send(key, options, [200]);
  return response?.stream();
}

/** Fetches a range of a value by a `Range` request. */
export function fetchRange(
  requests: RequestSender,
  key: StoreKey,
  range: ByteRange,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  return readWithRetries(requests.policy, options, async () => {
    if (lengthOfByteRange(range) === 0) {
      // A Range header cannot ask for zero bytes.
      const size = await fetchSize(requests, key, options);
      return size === undefined ? undefined : new Uint8Array();
    }
    const response = await requests.send(key, options, [200, 206, 416], {
      headers: { range: rangeHeader(range) },
    });
    switch (response?.status) {
      case undefined:
        return undefined;
      case 206:
        return await partialContent(range, response!);
      case 416:
        return await rangePastEnd(requests, key, range, response!, options);
      default:
        return await cutWhole(requests, key, range, response!, options);
    }
  });
}

/** The statuses with which servers refuse `HEAD`, also for URLs that are signed for `GET` alone. */
export const HEAD_REFUSED: readonly number[] = [403, 405, 501];

/**
 * Asks for the length of a value by a `HEAD` request or, if the server does not tell it
 * then, by a request for the first byte.
 */
export async function fetchSize(
  requests: RequestSender,
  key: StoreKey,
  options: StoreOptions,
): Promise<number | undefined> {
  const response = await requests.send(
    key,
    options,
    [200, ...HEAD_REFUSED],
    { method: "HEAD", headers: { "accept-encoding": "identity" } },
  );
  if (response === undefined) return undefined;
  await response.cancel();
  // Some servers answer HEAD with a length of 0, that of the empty body.
  const size = response.status === 200 && response.contentLength;
  return size || await fetchSizeByRange(requests, key, options);
}

/** The `Range` header for a range of at least one byte. */
function rangeHeader(range: ByteRange): string {
  if ("suffixLength" in range) return `bytes=-${range.suffixLength}`;
  // Neither side counts exactly beyond 2^53−1.
  const last = Math.min(
    range.offset + range.length - 1,
    Number.MAX_SAFE_INTEGER,
  );
  return `bytes=${range.offset}-${last}`;
}

/**
 * The number of bytes that are sent, if they are exactly those of `range`. It is
 * `undefined` for other bytes, and for fewer bytes unless the value is known to end
 * there.
 */
function sentLength(
  range: ByteRange,
  { first, last, size }: ContentRange,
): number | undefined {
  if (first === undefined || last === undefined) return undefined;
  const expected = size !== undefined
    ? resolveByteRange(range, size)
    : "offset" in range
    ? { start: range.offset, end: range.offset + range.length }
    : undefined;
  return first === expected?.start && last + 1 === expected.end
    ? last + 1 - first
    : undefined;
}

/** Reads the body of a response with status 206, which must be exactly the range. */
async function partialContent(
  range: ByteRange,
  response: HttpResponse,
): Promise<Uint8Array> {
  const length = response.isEncoded
    ? undefined
    : sentLength(range, response.contentRange);
  if (length === undefined) {
    await response.cancel();
    throw unexpectedRangeError(response, range);
  }
  const bytes = await response.bytesUpTo(length);
  if (bytes?.length === length) return bytes;
  throw new Error(
    `Expected ${
      redactUrl(response.request.url)
    } to send ${length} bytes as its Content-Range says, found ${
      bytes?.length ?? "more"
    }`,
  );
}

/** The result of a request with status 416, which says that the range starts past the end of the value. */
async function rangePastEnd(
  requests: RequestSender,
  key: StoreKey,
  range: ByteRange,
  response: HttpResponse,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  await response.cancel();
  const size = response.contentRange.size ??
    await fetchSize(requests, key, options);
  if (size === undefined) return undefined;
  const { start, end } = resolveByteRange(range, size);
  if (start < end) throw unexpectedRangeError(response, range);
  return new Uint8Array();
}

/** Creates an error for a response that does not belong to the range of its request. */
function unexpectedRangeError(response: HttpResponse, range: ByteRange): Error {
  const found = ["content-range", "content-encoding"]
    .map((name) => `${name} ${JSON.stringify(response.headers.get(name))}`);
  return new Error(
    `Expected ${redactUrl(response.request.url)} to answer the range ${
      rangeHeader(range)
    }, found status ${response.status} with ${found.join(" and ")}`,
  );
}

/** Asks for the length of a value by a request for its first byte. */
async function fetchSizeByRange(
  requests: RequestSender,
  key: StoreKey,
  options: StoreOptions,
): Promise<number | undefined> {
  const range = { offset: 0, length: 1 };
  const response = await requests.send(key, options, [200, 206, 416], {
    headers: { range: rangeHeader(range) },
  });
  if (response === undefined) return undefined;
  const { status, contentLength, contentRange } = response;
  if (status === 200 && contentLength === undefined) {
    const value = await wholeBody(requests, key, response, options);
    return value && await countBytes(value);
  }
  await response.cancel();
  if (status === 200) return contentLength;
  if (status === 416 && !contentRange.size) return 0;
  const isFirstByte = status === 206 &&
    sentLength(range, contentRange) !== undefined;
  if (isFirstByte && contentRange.size !== undefined) return contentRange.size;
  throw unexpectedRangeError(response, range);
}

/** Cuts a range out of the whole value, from a server that ignored the range of a request. */
async function cutWhole(
  requests: RequestSender,
  key: StoreKey,
  range: ByteRange,
  response: HttpResponse,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  const value = await wholeBody(requests, key, response, options);
  return value && await toBytes(value.pipeThrough(rangeStream(range)));
}

/** Returns the body of a response with status 200 to a request for a range. The stream fails if the body does not end. */
async function wholeBody(
  requests: RequestSender,
  key: StoreKey,
  response: HttpResponse,
  options: StoreOptions,
): Promise<ReadableStream<Uint8Array> | undefined> {
  let whole: HttpResponse | undefined = response;
  if (response.isEncoded) {
    // Only some runtimes decode the body of a response to a request for a range.
    await response.cancel();
    whole = await requests.send(key, options, [200]);
  }
  return whole?.stream().pipeThrough(failWithoutEnd(whole));
}

/** The longest body in bytes that is read to find its end, if nothing tells its length. */
const LONGEST_WITHOUT_LENGTH = 2 ** 30;
/** The bytes of such a body that must arrive within the time-out. */
const LEAST_WITHIN_TIMEOUT = 2 ** 20;

/** Passes on a body, and fails once the body is too long, or too slow to be expected to end. */
function failWithoutEnd(
  response: HttpResponse,
): TransformStream<Uint8Array, Uint8Array> {
  const longest = response.contentLength ?? LONGEST_WITHOUT_LENGTH;
  let size = 0;
  let sizeToReach = LEAST_WITHIN_TIMEOUT;
  let start = performance.now();
  return new TransformStream({
    transform(piece, controller) {
      const now = performance.now();
      size += piece.length;
      if (size > longest || now - start > response.timeout) {
        throw new Error(
          `Expected ${
            redactUrl(response.request.url)
          } to tell its length, to answer ranges, or to end its body, found ${size} bytes without an end`,
        );
      }
      if (size >= sizeToReach) {
        sizeToReach = size + LEAST_WITHIN_TIMEOUT;
        start = now;
      }
      controller.enqueue(piece);
    },
  });
}

async function countBytes(stream: ReadableStream<Uint8Array>): Promise<number> {
  let size = 0;
  await stream.pipeTo(
    new WritableStream({
      write(piece) {
        size += piece.length;
      },
    }),
  );
  return size;
}
