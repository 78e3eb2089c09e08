import type { StoreKey, StoreOptions } from "../store.ts";

/** The response of a server, whose body must be read or cancelled. */
export interface Answer {
  readonly request: Request;
  readonly response: Response;
  readonly status: number;
  readonly headers: Headers;
  /** How long the server may be silent, in milliseconds. */
  readonly timeout: number;
  /** The reader of the body, if it is read piece by piece. */
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /**
   * Reads the body if it has at most `most` bytes. A longer body is cancelled, and
   * the result is `undefined`. `Content-Length` is relied on only where the runtime
   * lets no body be longer: not if the body comes in chunks, or was made by a function
   * of the caller and so has no URL. Nor for a page of another origin, which does not
   * see whether the body is compressed.
   */
  bytesUpTo(most: number): Promise<Uint8Array | undefined>;
  /** Lets the next request begin, since the body is not needed any more. */
  end(): void;
  /** Ends the connection, whether the body is being read or not. */
  cancel(reason?: unknown): Promise<void>;
  /**
   * Waits for bytes of the body.
   *
   * @param isLast Whether the connection ends with them.
   */
  wait<T>(bytes: () => Promise<T>, isLast: boolean): Promise<T>;
}

/** The number of repetitions of a request that fails, and the delay before the first one. */
export interface RetryPolicy {
  /** The greatest number of further requests. */
  readonly retries: number;
  /** The time before the first of them in milliseconds, which doubles with each, and is up to twice as long by chance. */
  readonly retryDelay: number;
}

/** Sends requests for values. */
export interface Requests {
  /** How requests are repeated. */
  readonly policy: RetryPolicy;
  /**
   * Sends a request for the value of a key. The answer is `undefined` for an absent
   * value, and an error for any status that is not one of `statuses`. All errors name
   * the URL, except the reason of the signal, which is thrown as it is.
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
  readonly method?: "HEAD" | "PUT" | "POST" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: BodyInit;
  /** The query string in place of that of the base URL, with its `?`. */
  readonly search?: string;
  /** Whether caches must ask the server whether their response still holds. */
  readonly revalidate?: boolean;
}
