import {
  checkOptions,
  FUNCTION,
  numberFrom,
  type OptionRules,
} from "../../errors/mod.ts";
import { redactUrl } from "../describe_store.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { assertStoreKey } from "../store_key.ts";
import { Connection, Connections } from "./http_connections.ts";
import {
  connectionError,
  describeRequest,
  type RetryPolicy,
  sendWithRetries,
  StatusError,
} from "./http_failures.ts";
import { HttpResponse, xmlText } from "./http_response.ts";

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
   * to cache responses, or to translate the statuses of an unusual server.
   */
  fetch?: (request: Request) => Promise<Response>;
  /** Headers of every request. */
  headers?: HeadersInit;
  /**
   * The most repetitions of a request that fails by a lost connection, a time-out, or
   * one of the statuses 408, 425, 429 and 500 to 599 without 501 and 505. The rest of a
   * stream that is being read is not requested again. Defaults to 4.
   */
  retries?: number;
  /**
   * The time before the first repetition in milliseconds. It doubles with each
   * repetition up to 10 seconds, is up to twice as long by chance, and follows
   * `Retry-After` up to a minute. Defaults to 200.
   */
  retryDelay?: number;
  /**
   * The longest time in milliseconds that the server may take to begin its answer, and
   * between two pieces of a body; a body of up to 1 MiB must arrive within it, and so must
   * each further MiB of a body that is read to find its end: that of a server that tells no
   * length, which may be up to 1 GiB long.
   * `Infinity` for no limit. Defaults to 60,000.
   */
  timeout?: number;
  /**
   * The greatest number of requests at the same time. Further ones wait. A stream that
   * is not read for a quarter of a second does not count while others wait. Defaults to
   * 64.
   */
  connections?: number;
}

/** The rules of the options of `HttpStore`. */
export const HTTP_OPTIONS: OptionRules<HttpStoreOptions> = {
  fetch: FUNCTION,
  headers: {
    expected: "headers: an object, a list of pairs or Headers",
    isValid: (value) => typeof value === "object" && value !== null,
  },
  retries: /* @__PURE__ */ numberFrom(0),
  retryDelay: /* @__PURE__ */ numberFrom(0),
  timeout: {
    expected: "a number above 0",
    isValid: (value) => typeof value === "number" && value > 0,
    outOfRange: "numbers",
  },
  connections: /* @__PURE__ */ numberFrom(1),
};

/** How a request differs from a plain GET request. */
export interface RequestOptions {
  readonly method?: "HEAD" | "PUT" | "POST" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** The query string in place of that of the base URL, with its `?`. */
  readonly search?: string;
  /** Whether caches must ask the server whether their response still holds. */
  readonly revalidate?: boolean;
}

/** Sends requests for values. */
export interface RequestSender {
  /** How requests are repeated. */
  readonly policy: RetryPolicy;
  /**
   * Sends a request for the value of a key. All errors name the URL, except the reason
   * of the signal, which is thrown as it is.
   *
   * @param statuses The expected statuses, beside those of absent values. Any other one
   * is a `StatusError`.
   * @returns The response; `undefined` for an absent value.
   */
  send(
    key: StoreKey,
    options: StoreOptions,
    statuses: readonly number[],
    init?: RequestOptions,
  ): Promise<HttpResponse | undefined>;
}

/** The statuses of absent values: Not Found, Gone. */
const ABSENT: readonly number[] = [404, 410];

/** Matches keys that are the same when they are percent-encoded. */
const NEEDS_NO_ENCODING = /^[\w./-]*$/;

/** Sends the requests of a store, each for one key below a base URL. */
export class HttpClient implements RequestSender {
  readonly #base: URL;
  /** The base URL without its query string, and without a `/` at the end. */
  readonly #root: string;
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeout: number;
  readonly #connections: Connections;
  readonly policy: RetryPolicy;
  /** Whether a response came without `Date`, so that groups are read with more requests. */
  lacksDates = false;

  constructor(url: string | URL, options: HttpStoreOptions) {
    checkOptions(options, HTTP_OPTIONS, "HttpStore");
    const base = this.#base = parseUrl(url);
    const { username, password, protocol, origin, pathname } = base;
    if (username + password || !/^https?:$/.test(protocol)) {
      throw new RangeError(
        `Expected an http: or https: URL without password (use a header), found ${protocol}//${base.host}`,
      );
    }
    this.#fetch = options.fetch ?? ((request) => fetch(request));
    this.#headers = Object.fromEntries(new Headers(options.headers));
    const {
      retries = 4,
      retryDelay = 200,
      timeout = 60_000,
      connections = 64,
    } = options;
    this.policy = { retries, retryDelay };
    this.#timeout = timeout;
    this.#connections = new Connections(connections);
    this.#root = origin + pathname.replace(/\/$/, "");
  }

  /** The base URL without its query string, which may hold a secret. */
  get url(): string {
    return redactUrl(this.#base.href);
  }

  async send(
    key: StoreKey,
    options: StoreOptions,
    statuses: readonly number[],
    init: RequestOptions = {},
  ): Promise<HttpResponse | undefined> {
    assertStoreKey(key);
    // For a request that stores something, 404 means that the folder or the bucket is absent.
    const absent = init.body ? [] : ABSENT;
    return await sendWithRetries(this.policy, options, async () => {
      const response = await this.#sendOnce(key, options, init);
      if (statuses.includes(response.status)) return response;
      if (!absent.includes(response.status)) {
        throw await statusError(response, [...statuses, ...absent]);
      }
      await response.cancel();
    });
  }

  async #sendOnce(
    key: StoreKey,
    options: StoreOptions,
    { method, headers, body, search, revalidate }: RequestOptions,
  ): Promise<HttpResponse> {
    const connections = this.#connections;
    const connection = new Connection(connections, this.#timeout, options);
    if (!connections.tryOpen(connection)) await connections.open(connection);
    const request = new Request(this.#url(key, search), {
      method: method!,
      headers: { ...this.#headers, ...headers },
      signal: connection.signal,
      ...body && { body },
      // Some runtimes without a cache refuse the option.
      ...revalidate && "cache" in Request.prototype && { cache: "no-cache" },
    });
    let fetched: Promise<Response> | undefined;
    try {
      const response = await connection.wait(() =>
        fetched = this.#fetch(request)
      );
      return new HttpResponse(request, response, connection);
    } catch (error) {
      connection.close();
      // A response that comes after the time-out is not read.
      fetched?.then(({ body }) => body?.cancel(error)).catch(() => {});
      throw connectionError(request, options, error, false);
    }
  }

  /** The URL of a key, as text, since a `URL` would be parsed twice for each request. */
  #url(key: StoreKey, search = this.#base.search): string {
    const path = NEEDS_NO_ENCODING.test(key)
      ? key
      : key.split("/").map(encodeURIComponent).join("/");
    return this.#root + path + search;
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

/** The longest part of a body that an error quotes, in characters. */
const LONGEST_QUOTE = 200;
/** The longest body in bytes that is read for an error. */
const LONGEST_BODY = 4096;

/** Creates an error for an unexpected status, and ends the response. */
async function statusError(
  response: HttpResponse,
  expected: readonly number[],
): Promise<StatusError> {
  const { request, status, statusText } = response;
  const quote = await quoteOf(response);
  return new StatusError(
    `Cannot ${describeRequest(request)}: expected status ${
      expected.join(", ")
    }, found ${`${status} ${statusText}`.trim()}${quote && ` (${quote})`}`,
    response,
  );
}

/** Reads the code and the message in the body of an error of an object store. */
async function quoteOf(response: HttpResponse): Promise<string> {
  if (!/\bxml\b/.test(response.headers.get("content-type") ?? "")) {
    await response.cancel().catch(() => {});
    return "";
  }
  const bytes = await response.bytesUpTo(LONGEST_BODY).catch(() => undefined);
  const body = new TextDecoder().decode(bytes);
  return ["Code", "Message"].map((name) => xmlText(body, name))
    .filter(Boolean).join(": ").slice(0, LONGEST_QUOTE);
}
