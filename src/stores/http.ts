import {
  assertByteRange,
  lengthOfByteRange,
  resolveByteRange,
} from "./byte_range.ts";
import {
  answeredLength,
  parseContentRange,
  rangeHeader,
} from "./content_range.ts";
import { inspectAsString, redactUrl } from "./describe_store.ts";
import { type Answer, contentLength, isEncoded, send } from "./http_answer.ts";
import { rangeStream } from "./range_stream.ts";
import type { ByteRange, Store, StoreKey, StoreOptions } from "./store.ts";
import { assertStoreKey } from "./store_key.ts";
import { toBytes } from "./stream.ts";

/**
 * How {@linkcode HttpStore} makes its requests.
 *
 * @example
 * ```ts
 * import { HttpStore, type HttpStoreOptions } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const options: HttpStoreOptions = {
 *   headers: { Authorization: "Bearer token" },
 *   fetch: (request) => Promise.resolve(new Response(request.headers.get("Authorization"))),
 * };
 * const store = new HttpStore("https://example.org/data.zarr", options);
 * assertEquals(new TextDecoder().decode(await store.get("/c/0")), "Bearer token");
 * ```
 */
export interface HttpStoreOptions {
  /**
   * A function to use in place of the global `fetch`, for example to sign requests,
   * to cache answers, or to translate the statuses of an unusual server.
   */
  fetch?: (request: Request) => Promise<Response>;
  /** Headers of every request. */
  headers?: HeadersInit;
}

const NEEDS_NO_ENCODING = /^[\w./-]*$/;

/** The statuses of servers, and of URLs signed for GET alone, that refuse HEAD. */
const HEAD_REFUSED = [403, 405, 501];

/**
 * A read-only store over HTTP. The value of key `/c/0/1` is at `c/0/1` below the
 * base URL, and the query string of the base URL is sent with every request. The
 * names in a key are percent-encoded, so that they may contain `?`, `#`, `%` and
 * spaces.
 *
 * The statuses 404 and 410 mean that a key has no value. Any other unexpected
 * status is an `Error` with the URL and the status, and a lost connection an
 * `Error` with the `cause`. Errors show the URL without its query string. A range
 * is only returned if the server says that it sent exactly that range (RFC 9110,
 * section 14), or if it sent the whole value, from which the range is cut.
 *
 * For a web page of another origin, a server must allow the request header `Range`
 * (`Access-Control-Allow-Headers`), and expose `Content-Range` and
 * `Content-Encoding` (`Access-Control-Expose-Headers`). Sizes are wrong if it
 * compresses values and hides `Content-Encoding`.
 *
 * Every method throws a `RangeError` for a key that is not `/` and names joined
 * by `/`, and the signal's reason once the operation is aborted.
 *
 * @example
 * ```ts
 * import { HttpStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new HttpStore("https://example.org/data.zarr?version=3", {
 *   fetch: (request) => Promise.resolve(new Response(request.url)),
 * });
 * const value = await store.get("/c/0 #1");
 * assertEquals(
 *   new TextDecoder().decode(value),
 *   "https://example.org/data.zarr/c/0%20%231?version=3",
 * );
 * ```
 */
export class HttpStore implements Store {
  readonly #base: URL;
  /** The base URL without its query string, and without a `/` at the end. */
  readonly #root: string;
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #headers: Readonly<Record<string, string>>;

  /**
   * Sends no request yet.
   *
   * @param url The base URL of the keys, `http:` or `https:`, with or without a `/`
   * at its end.
   * @param options How requests are sent.
   * @throws {TypeError} If the URL does not parse.
   * @throws {RangeError} If the URL is not an `http:` or `https:` URL.
   *
   * @example A server that answers 403 for absent values
   * ```ts
   * import { HttpStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const bucket = () => Promise.resolve(new Response("Forbidden", { status: 403 }));
   * const store = new HttpStore("https://example.org/data.zarr", {
   *   async fetch(request) {
   *     const response = await bucket();
   *     return response.status === 403 ? new Response(null, { status: 404 }) : response;
   *   },
   * });
   * assertEquals(await store.get("/c/0/0"), undefined);
   * ```
   */
  constructor(url: string | URL, options: HttpStoreOptions = {}) {
    inspectAsString(this);
    this.#base = parseUrl(url);
    if (this.#base.username !== "" || this.#base.password !== "") {
      throw new RangeError(
        `Expected a URL without a user name or password, which belong in an Authorization header, found one for ${this.#base.host}`,
      );
    }
    if (!/^https?:$/.test(this.#base.protocol)) {
      throw new RangeError(
        `Expected an http: or https: URL, found "${redactUrl(String(url))}"`,
      );
    }
    this.#base.hash = "";
    this.#fetch = options.fetch ?? ((request) => fetch(request));
    this.#headers = Object.fromEntries(new Headers(options.headers));
    const { origin, pathname } = this.#base;
    this.#root = origin + pathname.replace(/\/$/, "");
  }

  /**
   * Fetches a whole value.
   *
   * @param key The path of the value below the base URL.
   * @param options `signal` aborts the request.
   * @returns The bytes, or `undefined` if the server says that there is no value.
   * @throws {RangeError} If the key is not `/` and names joined by `/`.
   * @throws {Error} If the server answers with an unexpected status, or the
   * connection is lost.
   *
   * @example An absent value and a failing server
   * ```ts
   * import { HttpStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertRejects } from "@std/assert";
   *
   * let status = 404;
   * const store = new HttpStore("https://example.org/data.zarr", {
   *   fetch: () => Promise.resolve(new Response(null, { status })),
   * });
   * assertEquals(await store.get("/c/0"), undefined);
   * status = 503;
   * await assertRejects(() => store.get("/c/0"), Error, "found 503");
   * ```
   */
  async get(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<Uint8Array | undefined> {
    return await (await this.#send(key, options, [200]))?.bytes();
  }

  /**
   * Fetches a range of a value with a `Range` request.
   *
   * @param key The path of the value below the base URL.
   * @param range Which bytes: whole numbers from 0 to 2^53−1.
   * @param options `signal` aborts the request.
   * @returns The bytes, fewer where the value ends before the range, or
   * `undefined` if the server says that there is no value.
   * @throws {RangeError} If the key is not `/` and names joined by `/`, or the range
   * not of such numbers.
   * @throws {Error} If the server sends another range or an unexpected status, or
   * the connection is lost.
   *
   * @example A server without support for ranges
   * ```ts
   * import { HttpStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new HttpStore("https://example.org/data.zarr", {
   *   fetch(request) {
   *     assertEquals(request.headers.get("Range"), "bytes=2-4");
   *     return Promise.resolve(new Response("0123456789"));
   *   },
   * });
   * const bytes = await store.getRange("/c/0", { offset: 2, length: 3 });
   * assertEquals(new TextDecoder().decode(bytes), "234");
   * ```
   */
  async getRange(
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions = {},
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    if (lengthOfByteRange(range) === 0) {
      // A Range header cannot ask for zero bytes.
      const size = await this.size(key, options);
      return size === undefined ? undefined : new Uint8Array();
    }
    const answer = await this.#send(key, options, [200, 206, 416], {
      range: rangeHeader(range),
    });
    switch (answer?.status) {
      case 200: {
        const value = await this.#whole(key, answer, options);
        return value && await toBytes(value.pipeThrough(rangeStream(range)));
      }
      case 206:
        return await partial(answer, range);
      case 416:
        return await this.#beyond(key, range, answer, options);
    }
  }

  /**
   * Fetches a value as a stream.
   *
   * @param key The path of the value below the base URL.
   * @param options `signal` aborts the request, also while the stream is read.
   * @returns The body while it arrives, or `undefined` if the server says that there
   * is no value. A connection that is lost meanwhile is an error of the stream.
   * @throws {RangeError} If the key is not `/` and names joined by `/`.
   * @throws {Error} If the server answers with an unexpected status, or cannot be
   * reached.
   *
   * @example Leaving the loop ends the download
   * ```ts
   * import { HttpStore } from "@zarr-parts/zarr-parts";
   * import { assert } from "@std/assert";
   *
   * let ended = false;
   * const endless = new ReadableStream({
   *   pull: (controller) => controller.enqueue(new Uint8Array(1024)),
   *   cancel: () => void (ended = true),
   * });
   * const store = new HttpStore("https://example.org/data.zarr", {
   *   fetch: () => Promise.resolve(new Response(endless)),
   * });
   * for await (const _bytes of (await store.stream("/c/0"))!) break;
   * assert(ended);
   * ```
   */
  async stream(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    return (await this.#send(key, options, [200]))?.body;
  }

  /**
   * Asks for the length of a value by a `HEAD` request or, where the answer does not
   * tell, by a request for the first byte.
   *
   * @param key The path of the value below the base URL.
   * @param options `signal` aborts the requests.
   * @returns The length in bytes, or `undefined` if the server says that there is
   * no value.
   * @throws {RangeError} If the key is not `/` and names joined by `/`.
   * @throws {Error} If the server does not tell, or the connection is lost.
   *
   * @example A server that does not allow `HEAD`
   * ```ts
   * import { HttpStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const headers = { "Content-Range": "bytes 0-0/1604" };
   * const store = new HttpStore("https://example.org/data.zarr", {
   *   fetch: ({ method }) =>
   *     Promise.resolve(
   *       method === "HEAD"
   *         ? new Response(null, { status: 405 })
   *         : new Response("x", { status: 206, headers }),
   *     ),
   * });
   * assertEquals(await store.size("/c/0.index"), 1604);
   * ```
   */
  async size(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<number | undefined> {
    const answer = await this.#send(
      key,
      options,
      [200, ...HEAD_REFUSED],
      { "accept-encoding": "identity" },
      "HEAD",
    );
    if (answer === undefined) return undefined;
    await answer.body.cancel();
    // Some servers answer HEAD with a length of 0, that of the empty body.
    const size = answer.status === 200 && contentLength(answer);
    return size || await this.#sizeByRange(key, options);
  }

  /**
   * Describes the store, for messages; `console.log` prints this too.
   *
   * @returns The class and the base URL, without its query string, which may hold a secret.
   *
   * @example
   * ```ts
   * import { HttpStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new HttpStore("https://example.org/data.zarr?token=secret");
   * assertEquals(String(store), "HttpStore(https://example.org/data.zarr?…)");
   * ```
   */
  toString(): string {
    return `HttpStore(${redactUrl(this.#base.href)})`;
  }

  async #sizeByRange(
    key: StoreKey,
    options: StoreOptions,
  ): Promise<number | undefined> {
    const range = { offset: 0, length: 1 };
    const answer = await this.#send(key, options, [200, 206, 416], {
      range: rangeHeader(range),
    });
    if (answer === undefined) return undefined;
    if (answer.status === 200 && contentLength(answer) === undefined) {
      const value = await this.#whole(key, answer, options);
      return value && await count(value);
    }
    await answer.body.cancel();
    if (answer.status === 200) return contentLength(answer);
    const content = parseContentRange(answer.headers);
    if (answer.status === 416 && !content.size) return 0;
    if (
      answer.status === 206 && content.size !== undefined &&
      answeredLength(range, content) !== undefined
    ) return content.size;
    throw unexpectedRange(answer, range);
  }

  /** The whole value, from a server that ignored the range. */
  async #whole(
    key: StoreKey,
    answer: Answer,
    options: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    if (!isEncoded(answer)) return answer.body;
    // Whether the body of an answer to a range is decoded differs by runtime.
    await answer.body.cancel();
    return await this.stream(key, options);
  }

  /** The result for a range that starts past the end of the value, as status 416 says. */
  async #beyond(
    key: StoreKey,
    range: ByteRange,
    answer: Answer,
    options: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    await answer.body.cancel();
    const size = parseContentRange(answer.headers).size ??
      await this.size(key, options);
    if (size === undefined) return undefined;
    const { start, end } = resolveByteRange(range, size);
    if (start < end) throw unexpectedRange(answer, range);
    return new Uint8Array();
  }

  async #send(
    key: StoreKey,
    options: StoreOptions,
    statuses: readonly number[],
    headers: Record<string, string> = {},
    method = "GET",
  ): Promise<Answer | undefined> {
    assertStoreKey(key);
    const request = new Request(this.#url(key), {
      method,
      headers: { ...this.#headers, ...headers },
      signal: options.signal ?? null,
    });
    return await send(this.#fetch, request, statuses, options.signal);
  }

  /** The URL of a key. As text, since a `URL` for each request would be parsed twice. */
  #url(key: StoreKey): string {
    const path = NEEDS_NO_ENCODING.test(key)
      ? key
      : key.split("/").map(encodeURIComponent).join("/");
    return this.#root + path + this.#base.search;
  }
}

function parseUrl(url: string | URL): URL {
  try {
    return new URL(url);
  } catch (cause) {
    throw new TypeError(
      `Expected an http: or https: URL with a host, such as "https://example.org/data.zarr", found "${
        redactUrl(String(url))
      }"`,
      { cause },
    );
  }
}

/** The bytes of an answer with status 206, once they are known to be those of the range. */
async function partial(answer: Answer, range: ByteRange): Promise<Uint8Array> {
  const length = answeredLength(range, parseContentRange(answer.headers));
  if (length === undefined || isEncoded(answer)) {
    await answer.body.cancel();
    throw unexpectedRange(answer, range);
  }
  // A body with a length is never longer. Of any other body, at most one byte too
  // many is read.
  const bytes = contentLength(answer) === length
    ? await answer.bytes()
    : await toBytes(
      answer.body.pipeThrough(rangeStream({ offset: 0, length: length + 1 })),
    );
  if (bytes.length !== length) {
    throw new Error(
      `Expected ${answer.url} to send ${length} bytes as its Content-Range says, found ${
        bytes.length > length ? "more" : bytes.length
      }`,
    );
  }
  return bytes;
}

function unexpectedRange(answer: Answer, range: ByteRange): Error {
  const found = ["content-range", "content-encoding"]
    .map((name) => `${name} ${JSON.stringify(answer.headers.get(name))}`);
  return new Error(
    `Expected ${answer.url} to answer the range ${
      rangeHeader(range)
    }, found status ${answer.status} with ${found.join(" and ")}`,
  );
}

async function count(stream: ReadableStream<Uint8Array>): Promise<number> {
  let size = 0;
  await stream.pipeTo(
    new WritableStream({
      write(chunk) {
        size += chunk.length;
      },
    }),
  );
  return size;
}
