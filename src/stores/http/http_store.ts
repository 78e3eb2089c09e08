import type { ReadOptions, Snapshot, ValuesOptions } from "../backend.ts";
import { BaseStore } from "../base_store.ts";
import { inspectAsString } from "../describe_store.ts";
import type {
  ByteRange,
  StoreKey,
  StoreOptions,
  StoreVersion,
} from "../store.ts";
import { HttpClient, type HttpStoreOptions } from "./http_client.ts";
import { readSnapshot, readVersion } from "./http_snapshot.ts";

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
 * `Date`, `ETag` and `x-amz-meta-zarr-parts-generation`
 * (`Access-Control-Expose-Headers`). Sizes are wrong if it compresses values and hides
 * `Content-Encoding`.
 *
 * The parts of a chunk are of one write if all carry the same
 * `x-amz-meta-zarr-parts-generation`. From servers without it, the part that is stored last
 * is requested first and once more after the others, and `ETag`, `Last-Modified` and length
 * are compared. If it is younger than two seconds by `Date`, it is waited for, since another
 * write may have left the same headers; what was read from values that are so young is not
 * kept. Without `Date`, two writes within one second cannot be told apart, and no writes
 * without both `ETag` and `Last-Modified`, or if a cache between answers with an earlier part.
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
export class HttpStore extends BaseStore {
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
   */
  constructor(url: string | URL, options: HttpStoreOptions = {}) {
    super();
    inspectAsString(this);
    this.#client = new HttpClient(url, options);
  }

  /** See {@linkcode Backend.read}. */
  override read<T>(
    keys: readonly StoreKey[],
    task: (values: Snapshot) => Promise<T>,
    options?: ValuesOptions,
  ): Promise<T> {
    return readSnapshot(this.#client, keys, task, options);
  }

  /** See {@linkcode Backend.readOf}. */
  readOf(
    version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions & ReadOptions,
  ): Promise<Uint8Array | undefined> {
    return readVersion(version, this.#client, key, range, options);
  }

  /** Describes the store by its base URL, without the query string, which may hold a secret. */
  override toString(): string {
    return `HttpStore(${this.#client.url})`;
  }
}
