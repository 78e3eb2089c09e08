import {
  checkOptions,
  FUNCTION,
  numberFrom,
  type OptionRules,
  wholeFrom,
} from "../../errors/mod.ts";
import { joinBytes, MemoryLimit, rejectOnAbort } from "../../runtime/mod.ts";
import { redactUrl } from "../describe_store.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import {
  connectionError,
  describeRequest,
  isLostBody,
  repeat,
  StatusError,
  xmlText,
} from "./http_failures.ts";

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
   * The most repetitions of a request that fails by a lost connection, by silence in the
   * body, or by one of the statuses 408, 425, 429 and 500 to 599 without 501 and 505. The rest of a
   * stream that is being read is not requested again. Defaults to 4.
   */
  retries?: number;
  /**
   * The time before the first repetition in milliseconds. It doubles with each
   * repetition up to 10 seconds, is up to twice as long by chance, and follows a
   * `Retry-After` that is shorter than `timeout`. Defaults to 200.
   */
  retryDelay?: number;
  /**
   * The longest time in milliseconds until the server begins its answer, all repetitions
   * included, and from then on between two pieces of the body; a body of up to 1 MiB must
   * arrive within it. `Infinity` for no limit. Defaults to 60,000.
   */
  timeout?: number;
  /**
   * The greatest number of requests at the same time, a whole number. Further ones wait. A stream counts
   * until it begins. Defaults to 64.
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
  connections: { .../* @__PURE__ */ wholeFrom(1), outOfRange: "numbers" },
};

/** How a request differs from a plain GET request. */
export interface RequestOptions {
  readonly method?: "HEAD" | "PUT" | "POST" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** The query string in place of that of the base URL, with its `?`. */
  readonly search?: string;
}

/** Options of requests for a value. */
export interface SendOptions extends StoreOptions {
  /** Whether caches must ask the server whether their response still holds. */
  readonly revalidate?: boolean;
  /**
   * Called with each expected response before its body is read, and with `undefined` for an
   * absent value. What it throws ends the request.
   */
  readonly observe?: Observer | undefined;
}

/** See {@linkcode SendOptions}. */
export type Observer = (
  key: StoreKey,
  response: HttpResponse | undefined,
) => void;

/** The statuses of absent values: Not Found, Gone. */
const ABSENT: readonly number[] = [404, 410];

/** Sends the requests of a store, each for one key below a base URL. */
export class HttpClient {
  readonly #base: URL;
  /** The base URL without its query string, and without a `/` at the end. */
  readonly #root: string;
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeout: number;
  readonly #connections: MemoryLimit;
  readonly #retries: number;
  readonly #retryDelay: number;
  /**
   * Whether the values of a snapshot are requested together, as far as is known: their
   * responses carry generations, or tell nothing at all.
   */
  asksTogether = false;

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
    this.#retries = retries;
    this.#retryDelay = retryDelay;
    this.#timeout = timeout;
    this.#connections = new MemoryLimit(0, connections);
    this.#root = origin + pathname.replace(/\/$/, "");
  }

  /** The base URL without its query string, which may hold a secret. */
  get url(): string {
    return redactUrl(this.#base.href);
  }

  /**
   * Sends a request for the value of a key, again as long as it fails with an error that
   * may pass. All errors name the URL, except the reason of the signal, which is thrown
   * as it is.
   *
   * @param statuses The expected statuses, beside those of absent values. Any other one
   * is a `StatusError`.
   * @param read Reads the response. If the connection is lost meanwhile, the request is
   * sent again, too.
   * @returns What `read` returned, or else the response; `undefined` for an absent value.
   */
  async send<T = HttpResponse>(
    key: StoreKey,
    options: SendOptions,
    statuses: readonly number[],
    init: RequestOptions = {},
    read?: (response: HttpResponse) => T | Promise<T>,
  ): Promise<T | undefined> {
    const { signal, observe } = options;
    // For a request that stores something, 404 means that the folder or the bucket is absent.
    const absent = init.body ? [] : ABSENT;
    let start: number;
    const timeLeft = () => start + this.#timeout - Date.now();
    const attempt = async () => {
      signal?.throwIfAborted();
      const response = await this.#fetchOnce(key, options, init, timeLeft());
      try {
        const { status } = response;
        if (statuses.includes(status)) {
          observe?.(key, response);
          return read ? await read(response) : response as T;
        }
        if (!absent.includes(status)) {
          throw await statusError(response, [...statuses, ...absent]);
        }
        await response.cancel();
        observe?.(key, undefined);
      } catch (error) {
        // The server has answered, so that the time for the next answer begins anew.
        if (isLostBody(error)) start = Date.now();
        response.cancel(error).catch(() => {});
        throw error;
      }
    };
    const run = async () => {
      const leave = await this.#connections.enter(1);
      start = Date.now();
      try {
        return await attempt();
      } catch (error) {
        const policy = {
          retries: this.#retries,
          retryDelay: this.#retryDelay,
          timeLeft,
        };
        return await repeat(error, policy, options, attempt);
      } finally {
        leave();
      }
    };
    return await rejectOnAbort(run(), signal);
  }

  async #fetchOnce(
    key: StoreKey,
    options: SendOptions,
    { method, headers, body, search }: RequestOptions,
    timeLeft: number,
  ): Promise<HttpResponse> {
    const silence = new AbortController();
    const signal = joinSignals(options.signal, silence.signal);
    const request = new Request(this.#url(key, search), {
      method: method!,
      headers: { ...this.#headers, ...headers },
      signal,
      ...body && { body },
      // Some runtimes without a cache refuse the option.
      ...options.revalidate && "cache" in Request.prototype &&
        { cache: "no-cache" },
    });
    const wait: Wait = async (receive, isBody = false) => {
      const limit = isBody ? this.#timeout : timeLeft;
      const timer = setTimeout(
        () =>
          silence.abort(
            new DOMException(`Silent for ${this.#timeout} ms`, "TimeoutError"),
          ),
        Math.min(Math.max(limit, 0), LONGEST_TIMER),
      );
      try {
        signal.throwIfAborted();
        // A `fetch` function of the caller may ignore the signal.
        return await rejectOnAbort(receive(), signal);
      } catch (error) {
        throw connectionError(request, options, error, isBody);
      } finally {
        clearTimeout(timer);
      }
    };
    let fetched: Promise<Response> | undefined;
    try {
      const response = await wait(() => fetched = this.#fetch(request));
      return new HttpResponse(request, response, wait);
    } catch (error) {
      // A response that comes after the time-out is not read.
      fetched?.then(({ body }) => body?.cancel(error)).catch(() => {});
      throw error;
    }
  }

  /** The URL of a key, as text, since a `URL` would be parsed twice for each request. */
  #url(key: StoreKey, search = this.#base.search): string {
    return this.#root + key.split("/").map(encodeURIComponent).join("/") +
      search;
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

/** The longest body in bytes that is read for an error. */
const LONGEST_BODY = 4096;
/** The longest part of a body that an error quotes, in characters. */
const LONGEST_QUOTE = 200;

/** The error for an unexpected status, with what an object store says about it. */
async function statusError(
  response: HttpResponse,
  expected: readonly number[],
): Promise<StatusError> {
  const { request, status, statusText, headers } = response;
  const isXml = /\bxml\b/.test(headers.get("content-type") ?? "");
  const bytes = isXml
    ? await response.bytesUpTo(LONGEST_BODY).catch(() => undefined)
    : undefined;
  const body = new TextDecoder().decode(bytes);
  const quote = ["Code", "Message"].map((name) => xmlText(body, name))
    .filter(Boolean).join(": ").slice(0, LONGEST_QUOTE);
  return new StatusError(
    `Cannot ${describeRequest(request)}: expected status ${
      expected.join(", ")
    }, found ${`${status} ${statusText}`.trim()}${quote && ` (${quote})`}`,
    response,
  );
}

/** The longest delay of a timer in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * Waits for bytes of the server, which may not be silent for too long.
 *
 * @param isBody Whether the bytes are those of the body.
 */
type Wait = <T>(receive: () => Promise<T>, isBody?: boolean) => Promise<T>;

/** A signal that aborts with either of two. */
export function joinSignals(
  one: AbortSignal | undefined,
  other: AbortSignal,
): AbortSignal {
  return one ? AbortSignal.any([one, other]) : other;
}

/** A body of up to this length in bytes is read in one call, which is faster, and must arrive within the time-out. */
const READ_AT_ONCE = 2 ** 20;

/** The response to a request, whose body must be read or cancelled. */
export class HttpResponse {
  readonly request: Request;
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly #response: Response;
  readonly #wait: Wait;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(request: Request, response: Response, wait: Wait) {
    this.request = request;
    this.status = response.status;
    this.statusText = response.statusText;
    this.headers = response.headers;
    this.#response = response;
    this.#wait = wait;
  }

  /** Whether the response is about the value, and no refusal. */
  get isOk(): boolean {
    return this.status < 300;
  }

  /** Whether the body is compressed, or was before the runtime decoded it. */
  get isEncoded(): boolean {
    return (this.headers.get("content-encoding") ?? "identity") !== "identity";
  }

  /** The length of the value in bytes, if `Content-Length` tells it. */
  get contentLength(): number | undefined {
    const length = this.headers.get("content-length") ?? "";
    return /^\d{1,15}$/.test(length) && !this.isEncoded
      ? Number(length)
      : undefined;
  }

  /** What `Content-Range` tells (RFC 9110, section 14.4): nothing if it is missing or malformed. */
  get contentRange(): ContentRange {
    const [, first, last, size] =
      CONTENT_RANGE.exec(this.headers.get("content-range") ?? "") ?? [];
    return {
      ...first !== undefined && { first: Number(first), last: Number(last) },
      ...size !== undefined && { size: Number(size) },
    };
  }

  /**
   * Reads the body if it has at most `limit` bytes. A longer body is cancelled, and the
   * result is `undefined`.
   */
  async bytesUpTo(limit: number): Promise<Uint8Array | undefined> {
    const length = this.contentLength ?? 0;
    if (this.#hasReliableLength && length <= Math.min(limit, READ_AT_ONCE)) {
      return new Uint8Array(
        await this.#wait(() => this.#response.arrayBuffer(), true),
      );
    }
    let size = length > limit ? length : 0;
    const pieces: Uint8Array[] = [];
    while (size <= limit) {
      const piece = await this.#readPiece();
      if (!piece) return joinBytes(pieces);
      pieces.push(piece);
      size += piece.length;
    }
    await this.cancel();
  }

  /**
   * Returns the body as a stream, which requests bytes only as it is read.
   *
   * @param check Called with the number of bytes after each piece, and at the end. What it
   * throws ends the stream.
   */
  stream(
    check: (size: number, isEnd: boolean) => void = () => {},
  ): ReadableStream<Uint8Array> {
    let size = 0;
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const piece = await this.#readPiece();
        size += piece?.length ?? 0;
        try {
          check(size, piece === undefined);
        } catch (error) {
          await this.cancel(error);
          throw error;
        }
        if (piece) controller.enqueue(piece);
        else controller.close();
      },
      cancel: (reason) => this.cancel(reason),
    }, { highWaterMark: 0 });
  }

  /** Ends the connection, whether the body is being read or not. */
  async cancel(reason?: unknown): Promise<void> {
    await (this.#reader ?? this.#response.body)?.cancel(reason);
  }

  /**
   * Whether the runtime lets no body be longer than `Content-Length`. This is not so if
   * the body comes in chunks, or was made by a function of the caller and so has no URL,
   * or is that of another origin, since a page cannot see whether it is compressed.
   */
  get #hasReliableLength(): boolean {
    const { url, type, headers } = this.#response;
    return url !== "" && type !== "cors" &&
      !headers.has("transfer-encoding") && this.contentLength !== undefined;
  }

  /** Reads a piece of the body; `undefined` at its end. */
  async #readPiece(): Promise<Uint8Array | undefined> {
    const reader = this.#reader ??= this.#response.body?.getReader();
    if (!reader) return;
    try {
      return (await this.#wait(() => reader.read(), true)).value;
    } catch (error) {
      reader.cancel(error).catch(() => {});
      throw error;
    }
  }
}

/** The members of `Content-Range`. */
interface ContentRange {
  /** The first byte that is sent. */
  readonly first?: number;
  /** The last byte that is sent; one less than `first` if none is. */
  readonly last?: number;
  /** The length of the whole value in bytes. */
  readonly size?: number;
}

// At most 15 digits, so that every number is exact. MinIO answers -1 for an empty value.
const CONTENT_RANGE =
  /^bytes (?:(\d{1,15})-(-1|\d{1,15})|\*)\/(?:(\d{1,15})|\*)$/i;
