import { redactUrl } from "../describe_store.ts";
import { type Answer, send } from "./answer.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { assertStoreKey } from "../store_key.ts";

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

/** Sends requests for values. */
export interface Requests {
  /**
   * Sends a request for the value of a key, as `send` in `answer.ts` does.
   *
   * @param statuses The expected statuses, beside those of absent values.
   * @param init The method, headers beside those of every request, and the cache mode.
   */
  send(
    key: StoreKey,
    options: StoreOptions,
    statuses: readonly number[],
    init?: RequestOptions,
  ): Promise<Answer | undefined>;
}

/** How a request differs from a plain GET request. */
export interface RequestOptions {
  readonly method?: "HEAD";
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether caches must ask the server whether their response still holds. */
  readonly revalidate?: boolean;
}

const NEEDS_NO_ENCODING = /^[\w./-]*$/;

/** Makes the requests of a store, each for one key below a base URL. */
export class HttpRequests implements Requests {
  readonly #base: URL;
  /** The base URL without its query string, and without a `/` at the end. */
  readonly #root: string;
  readonly #search: string;
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #headers: Readonly<Record<string, string>>;
  /** Whether a response came without `Date`, so that groups are read in the slower way. */
  lacksDates = false;

  constructor(url: string | URL, options: HttpStoreOptions) {
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
    const { origin, pathname, search } = this.#base;
    this.#root = origin + pathname.replace(/\/$/, "");
    this.#search = search;
  }

  /** The base URL without its query string, which may hold a secret. */
  get url(): string {
    return redactUrl(this.#base.href);
  }

  async send(
    key: StoreKey,
    options: StoreOptions,
    statuses: readonly number[],
    { method, headers, revalidate }: RequestOptions = {},
  ): Promise<Answer | undefined> {
    assertStoreKey(key);
    const request = new Request(this.#url(key), {
      method: method ?? "GET",
      headers: { ...this.#headers, ...headers },
      signal: options.signal ?? null,
      // Some runtimes without a cache refuse the option.
      ...revalidate && "cache" in Request.prototype && { cache: "no-cache" },
    });
    return await send(this.#fetch, request, statuses, options.signal);
  }

  /** The URL of a key. As text, since a `URL` for each request would be parsed twice. */
  #url(key: StoreKey): string {
    const path = NEEDS_NO_ENCODING.test(key)
      ? key
      : key.split("/").map(encodeURIComponent).join("/");
    return this.#root + path + this.#search;
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
