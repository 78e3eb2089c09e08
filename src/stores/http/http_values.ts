/** How a value is read over HTTP: the whole value, ranges of it, and its length. */
import { SizeLimitError } from "../../errors/mod.ts";
import { rangeStream, toBytes } from "../byte_streams.ts";
import { redactUrl } from "../describe_store.ts";
import {
  type ByteRange,
  lengthOfByteRange,
  resolveByteRange,
  type StoreKey,
} from "../store.ts";
import {
  type HttpClient,
  HttpResponse,
  type RequestOptions,
  type SendOptions,
} from "./http_client.ts";

/** The statuses with which servers refuse `HEAD`, also for URLs that are signed for `GET` alone. */
const HEAD_REFUSED: readonly number[] = [403, 405, 501];

/** Takes a range from a response with the range alone, of this length, or else with the whole value. */
type TakeRange<T> = (
  response: HttpResponse,
  length?: number,
) => T | Promise<T>;

/** Requests one value. All methods return `undefined` for an absent value. */
export class HttpValue {
  readonly #key: StoreKey;
  readonly #client: HttpClient;
  readonly #options: SendOptions;

  constructor(client: HttpClient, key: StoreKey, options: SendOptions) {
    this.#key = key;
    this.#client = client;
    this.#options = options;
  }

  /** Reads the whole value, unless it is longer than `limit`. */
  async bytes(limit: number = Infinity): Promise<Uint8Array | undefined> {
    return await this.#send([200], {}, async (response) => {
      const bytes = await response.bytesUpTo(limit);
      if (bytes) return bytes;
      const length = response.contentLength ?? 0;
      const size = length > limit ? length : undefined;
      throw new SizeLimitError(this.#key, limit, size);
    });
  }

  /** Reads a range of the value. */
  async range(range: ByteRange): Promise<Uint8Array | undefined> {
    const bytes = await this.#requestRange(range, async (response, length) => {
      if (length === undefined) return await toBytes(cut(response, range));
      const bytes = await response.bytesUpTo(length);
      if (bytes?.length === length) return bytes;
      throw otherLengthError(response, length, bytes?.length ?? "more");
    });
    return bytes === "empty" ? new Uint8Array() : bytes;
  }

  /** Reads the value, or a range of it, as a stream. */
  async stream(
    range?: ByteRange,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    if (range === undefined) return (await this.#send([200]))?.stream();
    const stream = await this.#requestRange(
      range,
      (response, length) =>
        length === undefined
          ? cut(response, range)
          : response.stream((size, isEnd) => {
            if (size > length) throw otherLengthError(response, length, "more");
            if (isEnd && size < length) {
              throw otherLengthError(response, length, size);
            }
          }),
    );
    return stream === "empty" ? new Blob().stream() : stream;
  }

  /**
   * Asks for the length of the value by a `HEAD` request or, if the server does not tell it
   * then, by a request for the first byte.
   */
  async size(): Promise<number | undefined> {
    const head = await this.#send([200, ...HEAD_REFUSED], {
      method: "HEAD",
      headers: { "accept-encoding": "identity" },
    });
    if (head === undefined) return undefined;
    await head.cancel();
    // Some servers answer HEAD with a length of 0, that of the empty body.
    if (head.status === 200 && head.contentLength) return head.contentLength;
    const range = { offset: 0, length: 1 };
    const size = await this.#sendRange(range, async (response) => {
      const { status, contentLength, contentRange, isEncoded } = response;
      if (status === 200 && contentLength === undefined && !isEncoded) {
        return await countBytes(response);
      }
      await response.cancel();
      if (status === 200) return contentLength ?? "encoded";
      if (status === 416 && !contentRange.size) return 0;
      if (status === 206 && contentRange.size !== undefined) {
        return lengthSent(response, range) && contentRange.size;
      }
      throw unexpectedRangeError(response, range);
    });
    return size === "encoded" ? await this.#send([200], {}, countBytes) : size;
  }

  /**
   * Asks for the headers of the value: by `HEAD` or, if that is refused or told nothing, by
   * `GET` without reading the body. They are observed.
   *
   * @param isEnough Whether the headers tell what is wanted.
   */
  async head(
    isEnough: (response: HttpResponse) => boolean,
  ): Promise<HttpResponse | undefined> {
    const head = await this.#send([200, ...HEAD_REFUSED], { method: "HEAD" });
    await head?.cancel();
    if (head === undefined || head.status === 200 && isEnough(head)) {
      return head;
    }
    const response = await this.#send([200]);
    await response?.cancel();
    return response;
  }

  async #requestRange<T>(
    range: ByteRange,
    take: TakeRange<T>,
  ): Promise<T | "empty" | undefined> {
    if (lengthOfByteRange(range) === 0) {
      // A Range header cannot ask for zero bytes.
      return await this.size() === undefined ? undefined : "empty";
    }
    const found = await this.#sendRange(range, async (response) => {
      const { status, isEncoded } = response;
      if (status === 206) {
        return await take(response, lengthSent(response, range));
      }
      if (status === 200 && !isEncoded) return await take(response);
      await response.cancel();
      return response;
    });
    if (!(found instanceof HttpResponse)) return found;
    if (found.status === 200) {
      // Only some runtimes decode the body of a response to a request for a range.
      return await this.#send([200], {}, take);
    }
    const size = await this.size();
    if (size === undefined) return undefined;
    const { start, end } = resolveByteRange(range, size);
    if (start < end) throw unexpectedRangeError(found, range);
    return "empty";
  }

  #sendRange<T>(
    range: ByteRange,
    read: (response: HttpResponse) => Promise<T>,
  ): Promise<T | undefined> {
    const headers = { range: rangeHeader(range) };
    return this.#send([200, 206, 416], { headers }, read);
  }

  #send<T = HttpResponse>(
    statuses: readonly number[],
    init?: RequestOptions,
    read?: (response: HttpResponse) => T | Promise<T>,
  ): Promise<T | undefined> {
    return this.#client.send(this.#key, this.#options, statuses, init, read);
  }
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
 * The number of bytes that a response with status 206 says it sends. They must be exactly
 * those of the range; fewer only if the value is known to end there.
 */
function lengthSent(response: HttpResponse, range: ByteRange): number {
  const { first, last, size } = response.contentRange;
  let expected: { start: number; end: number } | undefined;
  if (size !== undefined) expected = resolveByteRange(range, size);
  else if ("offset" in range) {
    expected = { start: range.offset, end: range.offset + range.length };
  }
  const isExact = !response.isEncoded && first !== undefined &&
    first === expected?.start && last! + 1 === expected.end;
  if (!isExact) throw unexpectedRangeError(response, range);
  return last! + 1 - first;
}

/** The error for a response that does not belong to the range of its request. */
function unexpectedRangeError(response: HttpResponse, range: ByteRange): Error {
  const found = ["content-range", "content-encoding"]
    .map((name) => `${name} ${JSON.stringify(response.headers.get(name))}`);
  return new Error(
    `Expected ${redactUrl(response.request.url)} to answer the range ${
      rangeHeader(range)
    }, found status ${response.status} with ${found.join(" and ")}`,
  );
}

/** Cuts a range out of a response with the whole value. */
function cut(
  response: HttpResponse,
  range: ByteRange,
): ReadableStream<Uint8Array> {
  return endingBody(response).pipeThrough(rangeStream(range));
}

/** The longest body in bytes that is read to find its end, if nothing tells its length. */
const LONGEST_WITHOUT_LENGTH = 2 ** 30;

/** A body that fails once it is too long to be expected to end. */
function endingBody(response: HttpResponse): ReadableStream<Uint8Array> {
  const longest = response.contentLength ?? LONGEST_WITHOUT_LENGTH;
  return response.stream((size) => {
    if (size <= longest) return;
    throw new Error(
      `Expected ${
        redactUrl(response.request.url)
      } to tell its length, to answer ranges, or to end its body, found ${size} bytes without an end`,
    );
  });
}

/** Reads a whole body to count its bytes: a server that compresses values tells no length. */
async function countBytes(response: HttpResponse): Promise<number> {
  let size = 0;
  const counter = new WritableStream<Uint8Array>({
    write(piece) {
      size += piece.length;
    },
  });
  await endingBody(response).pipeTo(counter);
  return size;
}

function otherLengthError(
  { request }: HttpResponse,
  length: number,
  found: number | "more",
): Error {
  return new Error(
    `Expected ${
      redactUrl(request.url)
    } to send ${length} bytes as its Content-Range says, found ${found}`,
  );
}
