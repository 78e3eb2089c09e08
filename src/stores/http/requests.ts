import { redactUrl } from "../capabilities.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { assertStoreKey } from "../store_key.ts";
import { HttpAnswer } from "./answer.ts";
import { Connection, type Connections } from "./connection.ts";
import type {
  Answer,
  RequestOptions,
  Requests,
  RetryPolicy,
} from "./exchange.ts";
import { loadOnFailure } from "./load_on_failure.ts";
import { loadOnFirstUse } from "./load_on_first_use.ts";

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
  /**
   * The most repetitions of a request that fails by a lost connection, a time-out, or
   * one of the statuses 408, 425, 429 and 500 to 599 without 501 and 505. Not a
   * request whose body is a stream, and not the rest of a stream that is being read.
   * Defaults to 4.
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

/** The statuses of absent values: 404 Not Found, 410 Gone. */
const ABSENT: readonly number[] = [404, 410];

const NEEDS_NO_ENCODING = /^[\w./-]*$/;

/** Makes the requests of a store, each for one key below a base URL. */
export class HttpRequests implements Requests {
  readonly #base: URL;
  /** The base URL without its query string, and without a `/` at the end. */
  readonly #root: string;
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeout: number;
  readonly #connections: Connections;
  readonly policy: RetryPolicy;
  /** Whether a response came without `Date`, so that groups are read in the slower way. */
  lacksDates = false;

  constructor(url: string | URL, options: HttpStoreOptions) {
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
      connections: most = 64,
    } = options;
    const isValid = retries >= 0 && retryDelay >= 0 && timeout > 0 && most >= 1;
    if (!isValid) {
      throw new RangeError(
        `Expected retries and retryDelay from 0, a timeout above 0 and connections from 1, found ${[
          retries,
          retryDelay,
          timeout,
          most,
        ]}`,
      );
    }
    this.policy = { retries, retryDelay };
    this.#timeout = timeout;
    this.#connections = { open: new Set(), waiting: [], most };
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
  ): Promise<Answer | undefined> {
    assertStoreKey(key);
    const sendOnce = async () => {
      const answer = await this.#sendOnce(key, options, init);
      if (statuses.includes(answer.status)) return answer;
      if (ABSENT.includes(answer.status) && !init.body) {
        return void await answer.cancel();
      }
      const { statusError } = await loadOnFailure();
      throw await statusError(answer, statuses, init, ABSENT);
    };
    try {
      return await sendOnce();
    } catch (error) {
      const { tryAgain } = await loadOnFailure();
      return await tryAgain(error, this.policy, options, sendOnce, init);
    }
  }

  async #sendOnce(
    key: StoreKey,
    options: StoreOptions,
    { method, headers, body, search, revalidate }: RequestOptions,
  ): Promise<Answer> {
    const connection = new Connection(
      this.#connections,
      this.#timeout,
      options,
    );
    const { open, most } = this.#connections;
    if (open.size < most) open.add(connection);
    else {
      const { waitForConnection } = await loadOnFirstUse();
      await waitForConnection(this.#connections, connection);
    }
    const request = new Request(this.#url(key, search), {
      method: method!,
      headers: { ...this.#headers, ...headers },
      signal: connection.signal,
      ...body && { body, duplex: "half" },
      // Some runtimes without a cache refuse the option.
      ...revalidate && "cache" in Request.prototype && { cache: "no-cache" },
    });
    let response: Promise<Response> | undefined;
    try {
      const sent = () => response = this.#fetch(request);
      return new HttpAnswer(request, await connection.wait(sent), connection);
    } catch (error) {
      connection.end();
      const { connectionError } = await loadOnFailure();
      throw connectionError(request, options, error, response);
    }
  }

  /** The URL of a key. As text, since a `URL` for each request would be parsed twice. */
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
