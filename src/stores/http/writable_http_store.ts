import { loadOnce } from "../../runtime/mod.ts";
import { KeyLocks } from "../locks.ts";
import type { Store, StoreGroup, StoreKey, StoreOptions } from "../store.ts";
import { HttpStore } from "./http_store.ts";
import { HttpRequests, type HttpStoreOptions } from "./requests.ts";

const loadWriting = /* @__PURE__ */ loadOnce(() => import("./writing.ts"));

/**
 * A store over HTTP that also writes, by `PUT` and `DELETE`, as WebDAV servers and
 * nginx with `dav_methods` understand them. It reads as {@linkcode HttpStore} does.
 *
 * Chunks of several objects cannot be written: a server of files replaces one value
 * after another, so that readers would get the parts of two writes. Write them to the
 * folder of the server by `FileSystemStore`, to a bucket by `S3Store`, or to a server
 * that shows chunks as one value. A shard that is changed in part is locked in this
 * program alone.
 *
 * @example
 * ```ts
 * import { WritableHttpStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const files = new Map<string, Uint8Array<ArrayBuffer>>();
 * const store = new WritableHttpStore("https://example.org/data.zarr", {
 *   async fetch(request) {
 *     if (request.method === "PUT") files.set(request.url, await request.bytes());
 *     const value = files.get(request.url);
 *     return new Response(value ?? null, { status: value ? 200 : 404 });
 *   },
 * });
 * await store.set("/c/0", new Uint8Array([1, 2, 3]));
 * assertEquals(await store.get("/c/0"), new Uint8Array([1, 2, 3]));
 * ```
 */
export class WritableHttpStore extends HttpStore implements Store {
  readonly #requests: HttpRequests;
  // Stores of whole chunks hold the locks of `KeyLocks.of` while they use these.
  readonly #locks = new KeyLocks();

  /**
   * Sends no request yet.
   *
   * @param url The base URL of the keys, `http:` or `https:`, with or without a `/`
   * at its end.
   * @param options How requests are sent.
   * @throws {TypeError} If the URL does not parse.
   * @throws {RangeError} If the URL is not an `http:` or `https:` URL, or holds a
   * user name or password, or if an option is out of range.
   *
   * @example
   * ```ts
   * import { WritableHttpStore } from "@zarr-parts/zarr-parts";
   *
   * new WritableHttpStore("https://example.org/data.zarr", {
   *   headers: { Authorization: "Bearer token" },
   * });
   * ```
   */
  constructor(url: string | URL, options: HttpStoreOptions = {}) {
    const requests = new HttpRequests(url, options);
    super(requests as unknown as URL);
    this.#requests = requests;
  }

  /**
   * Stores a value by a `PUT` request. Whether a failed request keeps the earlier value
   * is up to the server; nginx keeps it.
   *
   * @param key The path of the value below the base URL.
   * @param value Its bytes, or a stream of them, which is sent as it is read and so
   * only once. Browsers send no streams over HTTP/1.1.
   * @param options `signal` aborts the request.
   * @throws {TypeError} If the value is neither bytes nor a stream.
   * @throws {RangeError} If the key is not `/` and names joined by `/`.
   * @throws {Error} If the server answers with another status than 200, 201 or 204, or
   * the connection is lost.
   *
   * @example A server that takes no values
   * ```ts
   * import { WritableHttpStore } from "@zarr-parts/zarr-parts";
   * import { assertRejects } from "@std/assert";
   *
   * const store = new WritableHttpStore("https://example.org/data.zarr", {
   *   fetch: () => Promise.resolve(new Response(null, { status: 405 })),
   * });
   * await assertRejects(() => store.set("/c/0", new Uint8Array(3)), Error, "found 405");
   * ```
   */
  async set(
    key: StoreKey,
    value: Uint8Array | ReadableStream<Uint8Array>,
    options: StoreOptions = {},
  ): Promise<void> {
    const { putValue } = await loadWriting();
    await putValue(this.#requests, key, value, options);
  }

  /**
   * Removes a value by a `DELETE` request. No error if the server says that there is
   * none.
   *
   * @param key The path of the value below the base URL.
   * @param options `signal` aborts the request.
   * @throws {RangeError} If the key is not `/` and names joined by `/`.
   * @throws {Error} If the server answers with another status than 200, 202, 204, 404
   * or 410, or the connection is lost.
   *
   * @example
   * ```ts
   * import { WritableHttpStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const methods: string[] = [];
   * const store = new WritableHttpStore("https://example.org/data.zarr", {
   *   fetch(request) {
   *     methods.push(request.method);
   *     return Promise.resolve(new Response(null, { status: 204 }));
   *   },
   * });
   * await store.delete("/c/0");
   * assertEquals(methods, ["DELETE"]);
   * ```
   */
  async delete(key: StoreKey, options: StoreOptions = {}): Promise<void> {
    const { deleteValue } = await loadWriting();
    await deleteValue(this.#requests, key, options);
  }

  /**
   * Returns values that are read together, as `HttpStore.group` does. A group of one
   * value can also be written and deleted.
   *
   * @param key The key of the chunk that the values are parts of.
   * @param keys The keys of the values, in the order in which they are stored.
   * @returns The group. Its `write` and `delete` throw a `TypeError` if it has several
   * values.
   * @throws {RangeError} If a key is not `/` and names joined by `/`.
   *
   * @example
   * ```ts
   * import { WritableHttpStore } from "@zarr-parts/zarr-parts";
   * import { assertRejects } from "@std/assert";
   *
   * const store = new WritableHttpStore("https://example.org/data.zarr");
   * const group = store.group("/c/0", ["/c/0", "/c/0.index"]);
   * await assertRejects(() => group.write!(), TypeError, "several objects");
   * ```
   */
  override group(key: StoreKey, keys: readonly StoreKey[]): StoreGroup {
    const { read } = super.group(key, keys);
    const load = async () => {
      const { writableGroup } = await loadWriting();
      return writableGroup(this, this.#locks, key, keys, read);
    };
    return {
      read,
      write: async (options) => (await load()).write!(options),
      delete: async (options) => (await load()).delete!(options),
      lock: async (task, options) => (await load()).lock!(task, options),
    };
  }

  /**
   * Describes the store, for messages.
   *
   * @returns The class and the base URL, without its query string, which may hold a secret.
   *
   * @example
   * ```ts
   * import { WritableHttpStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new WritableHttpStore("https://example.org/data.zarr");
   * assertEquals(String(store), "WritableHttpStore(https://example.org/data.zarr)");
   * ```
   */
  override toString(): string {
    return `Writable${super.toString()}`;
  }
}
