import { noteOwnedMemory } from "../capabilities.ts";
import { inspectAsString } from "../describe_store.ts";
import {
  assertByteRange,
  type ByteRange,
  type GetOptions,
  type Store,
  type StoreGroup,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "../store.ts";
import { assertStoreKey } from "../store_key.ts";
import { HttpClient, type HttpStoreOptions } from "./http_client.ts";
import { readGroup } from "./http_group.ts";
import {
  fetchRange,
  fetchSize,
  fetchStream,
  fetchValue,
} from "./http_reads.ts";
import { fetchRangeOf } from "./http_version.ts";

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
 * (`Access-Control-Allow-Headers`), and expose `Content-Range`, `Content-Encoding`,
 * `Date`, `ETag`, `Age` and `x-amz-meta-zarr-parts-generation`
 * (`Access-Control-Expose-Headers`). Sizes are wrong if it compresses values and hides
 * `Content-Encoding`.
 *
 * The parts of a chunk are read as those of one write, without further requests, if the
 * server sends `Last-Modified` and `Date`, and serves files that this package writes; or
 * if all parts carry the header `x-amz-meta-zarr-parts-generation`. Parts that were
 * written within the last 3 seconds are waited for. Without `Date`, and for entity tags
 * of uploads in pieces, a chunk takes one request more, and the other requests wait
 * for that of the last part. Without `Date`, two writes within one second cannot be told
 * apart. No writes can be told apart if there is neither `Last-Modified` nor `ETag` nor a
 * generation, or if a cache hides that the response is its own. Equal weak entity tags
 * count as equal ones.
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
  readonly #client: HttpClient;

  /**
   * Sends no request yet.
   *
   * @param url The base URL of the keys, `http:` or `https:`, with or without a `/`
   * at its end.
   * @param options How requests are sent.
   * @throws {TypeError} If the URL does not parse.
   * @throws {RangeError} If the URL is not an `http:` or `https:` URL, or holds a
   * user name or password, or a number of `options` is out of range.
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
    if (new.target === HttpStore) noteOwnedMemory(this); // Not for subclasses.
    this.#client = new HttpClient(url, options);
  }

  /**
   * Fetches a whole value.
   *
   * @param key The path of the value below the base URL.
   * @param options `signal` aborts the request; `limit` is the greatest length of
   * the value in bytes, decoded if the server compresses it.
   * @returns The bytes, or `undefined` if the server says that there is no value.
   * @throws {RangeError} If the key is not `/` and names joined by `/`.
   * @throws {SizeLimitError} If the value is longer than `limit`. The request ends
   * then.
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
   *   retries: 0,
   *   fetch: () => Promise.resolve(new Response(null, { status })),
   * });
   * assertEquals(await store.get("/c/0"), undefined);
   * status = 503;
   * await assertRejects(() => store.get("/c/0"), Error, "found 503");
   * ```
   */
  async get(
    key: StoreKey,
    options: GetOptions = {},
  ): Promise<Uint8Array | undefined> {
    return await fetchValue(this.#client, key, options);
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
   *   fetch: () => Promise.resolve(new Response("0123456789")),
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
    return await fetchRange(this.#client, key, range, options);
  }

  /**
   * Fetches a value as a stream.
   *
   * @param key The path of the value below the base URL.
   * @param options `signal` aborts the request, also while the stream is read.
   * @returns The body while it arrives, or `undefined` if the server says that there
   * is no value. A connection that is lost later is an error of the stream.
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
    return await fetchStream(this.#client, key, options);
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
   * @example
   * ```ts
   * import { HttpStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const headers = { "Content-Length": "1604" };
   * const store = new HttpStore("https://example.org/data.zarr", {
   *   fetch: () => Promise.resolve(new Response(null, { headers })),
   * });
   * assertEquals(await store.size("/c/0.index"), 1604);
   * ```
   */
  async size(
    key: StoreKey,
    options: StoreOptions = {},
  ): Promise<number | undefined> {
    return await fetchSize(this.#client, key, options);
  }

  /**
   * Returns values that are read together, so that all are of the same write. Only the
   * last of `keys` must be absent while a writer replaces the others, or all must carry
   * the same generation; the class describes what servers have to send for it.
   *
   * @param key The key of the chunk that the values are parts of.
   * @param keys The keys of the values, in the order in which they are stored.
   * @returns The group. Nothing is requested yet. Its `read` throws an
   * `UnfinishedWriteError` if the values change all the time.
   * @throws {RangeError} If a key is not `/` and names joined by `/`.
   *
   * @example
   * ```ts
   * import { HttpStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const headers = {
   *   "Date": "Mon, 02 Mar 2026 12:00:00 GMT",
   *   "Last-Modified": "Sun, 01 Mar 2026 12:00:00 GMT",
   * };
   * const store = new HttpStore("https://example.org/data.zarr", {
   *   fetch: () => Promise.resolve(new Response("part", { headers })),
   * });
   * const group = store.group("/c/0", ["/c/0", "/c/0.index"]);
   * const parts = await group.read((values) =>
   *   Promise.all([values.get("/c/0"), values.get("/c/0.index")])
   * );
   * assertEquals(parts.map((part) => part?.length), [4, 4]);
   * ```
   */
  group(key: StoreKey, keys: readonly StoreKey[]): StoreGroup {
    for (const each of [key, ...keys]) assertStoreKey(each);
    return {
      read: (task, options) =>
        readGroup(this.#client, key, keys, task, options),
    };
  }

  /**
   * Fetches a range of one version of a value. Neither `If-Match` nor another header
   * is sent for it: the headers of the response are compared with those of earlier ones.
   *
   * @param version The version, as a group told it.
   * @param key The path of the value below the base URL.
   * @param range Which bytes: whole numbers from 0 to 2^53−1.
   * @param options `signal` aborts the request.
   * @returns The bytes, as `getRange` does; `undefined` if the key has another value by
   * now, or none.
   * @throws {RangeError} If the key is not `/` and names joined by `/`, or the range
   * not of such numbers.
   * @throws {Error} If the server sends another range or an unexpected status, or
   * the connection is lost.
   *
   * @example A value that is replaced
   * ```ts
   * import { HttpStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * let etag = '"1"';
   * const store = new HttpStore("https://example.org/data.zarr", {
   *   fetch: () => Promise.resolve(new Response("0123456789", { headers: { etag } })),
   * });
   * const version = await store.group("/c/0", ["/c/0"]).read(async (values) => {
   *   await values.getRange("/c/0", { suffixLength: 1 });
   *   return values.version("/c/0")!;
   * });
   * const range = { offset: 0, length: 2 };
   * assertEquals((await store.getRangeOf(version, "/c/0", range))?.length, 2);
   * etag = '"2"';
   * assertEquals(await store.getRangeOf(version, "/c/0", range), undefined);
   * ```
   */
  async getRangeOf(
    version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    options: StoreOptions = {},
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    assertStoreKey(key);
    return await fetchRangeOf(version, this.#client, key, range, options);
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
    return `HttpStore(${this.#client.url})`;
  }
}
