import retry from "p-retry";
import { pause } from "../../runtime/mod.ts";
import type { StoreOptions } from "../store.ts";
import type { RequestOptions, RetryPolicy } from "./exchange.ts";
import { ConnectionError, StatusError } from "./request_errors.ts";

/** The longest time between two requests in milliseconds, unless the server wants a longer one. */
const LONGEST_DELAY = 10_000;
/** A server that wants to be left alone for longer, in milliseconds, is not asked again. */
const LONGEST_RETRY_AFTER = 60_000;
/** The statuses of requests that may succeed later, beside those from 500 on. */
const TEMPORARY: readonly number[] = [408, 425, 429];
/** The statuses from 500 on of servers that lack what was asked for. */
const LASTING: readonly number[] = [501, 505];

/**
 * Runs a task again whose first try has failed, while the error is one that may pass.
 *
 * @param first The error of the first try.
 * @param request The request that failed. If its body is a stream, it is not repeated.
 */
export async function tryAgain<T>(
  first: unknown,
  { retries, retryDelay }: RetryPolicy,
  { signal }: StoreOptions,
  task: () => Promise<T>,
  request: RequestOptions = {},
): Promise<T> {
  signal?.throwIfAborted();
  if (!isTemporary(first) || request.body instanceof ReadableStream) {
    throw first;
  }
  let tries = 1;
  try {
    return await retry((number) => {
      tries = number;
      if (number === 1) throw first;
      return task();
    }, {
      retries,
      minTimeout: retryDelay,
      maxTimeout: LONGEST_DELAY,
      randomize: true,
      ...signal && { signal },
      shouldRetry: ({ error }) => isTemporary(error),
      async onFailedAttempt({ error, retriesLeft }) {
        if (retriesLeft === 0 || !isTemporary(error)) return;
        if (error instanceof StatusError && error.retryAfter) {
          await pause(error.retryAfter, signal);
        }
      },
    });
  } catch (error) {
    signal?.throwIfAborted();
    if (tries > 1 && error instanceof StatusError) error.isRepeated = true;
    if (tries > 1 && error instanceof Error && isTemporary(error)) {
      error.message += `, after ${tries} tries`;
    }
    throw error;
  }
}

/**
 * Reads a value again whose connection was lost before its bytes were returned, or whose
 * bytes tell that the server has failed. Any other error is thrown as it is.
 */
export async function readAgain<T>(
  first: unknown,
  policy: RetryPolicy,
  options: StoreOptions,
  read: () => Promise<T>,
): Promise<T> {
  const isBody =
    (first instanceof ConnectionError || first instanceof StatusError) &&
    first.isBody;
  if (!isBody) throw first;
  return await tryAgain(first, policy, options, read);
}

/** Whether a request may succeed later. */
function isTemporary(error: unknown): boolean {
  if (error instanceof StatusError) {
    const { status, retryAfter = 0 } = error;
    return retryAfter <= LONGEST_RETRY_AFTER &&
      (TEMPORARY.includes(status) ||
        status >= 500 && !LASTING.includes(status));
  }
  if (!(error instanceof ConnectionError)) return false;
  const { cause, isBody } = error;
  // The errors of fetch; a function of the caller throws others, too.
  return isBody ||
    cause instanceof TypeError && !/redirect/i.test(cause.message) ||
    cause instanceof DOMException && cause.name === "TimeoutError";
}
