import { loadOnce, pause } from "../../runtime/mod.ts";
import { redactUrl } from "../describe_store.ts";
import type { StoreOptions } from "../store.ts";

/** Thrown if a connection cannot be made, or is lost. */
class ConnectionError extends Error {
  /** Whether the connection was lost in the body of the response, after its headers. */
  readonly isBody: boolean;

  constructor(message: string, cause: unknown, isBody: boolean) {
    super(message, { cause });
    this.isBody = isBody;
  }
}

/** Thrown if the status of a response is an unexpected one. */
export class StatusError extends Error {
  readonly status: number;
  /** The time in milliseconds after which the server wants to be asked again, if it tells. */
  readonly retryAfter: number | undefined;
  /** Whether the same request was sent before, and may have had an effect although its response was lost. */
  isRepeated = false;

  /** @param status The status that the body tells, if it is not that of the response. */
  constructor(
    message: string,
    response: { readonly status: number; readonly headers: Headers },
    status: number = response.status,
  ) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter(response.headers);
  }
}

const ENTITIES: ReadonlyMap<string, string> = /* @__PURE__ */ new Map([
  ["amp", "&"],
  ["lt", "<"],
  ["gt", ">"],
  ["quot", '"'],
  ["apos", "'"],
]);

/** Returns the text of the first element with a name in an XML answer of an object store. */
export function xmlText(xml: string, name: string): string | undefined {
  const element = new RegExp(`<${name}(?:\\s[^>]*)?>([^<]*)</${name}>`);
  return element.exec(xml)?.[1]?.replace(
    /&(?:#x0*([\da-f]{1,5})|#0*(\d{1,6})|(\w+));/gi,
    (entity, hex, decimal, name) =>
      hex || decimal
        ? String.fromCodePoint(hex ? parseInt(hex, 16) : Number(decimal))
        : ENTITIES.get(name) ?? entity,
  );
}

/** Reads `Retry-After` (RFC 9110, section 10.2.3), in milliseconds. */
function retryAfter(headers: Headers): number | undefined {
  const text = headers.get("retry-after") ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** Creates an error for a failed connection, or throws the reason of the caller's signal. */
export function connectionError(
  request: Request,
  { signal }: StoreOptions,
  cause: unknown,
  isBody = false,
): ConnectionError {
  signal?.throwIfAborted();
  return new ConnectionError(
    `Cannot ${describeRequest(request)}: the connection failed${
      reasonOf(cause, new URL(request.url))
    }`,
    cause,
    isBody,
  );
}

/** The method and the URL of a request, without the query string, which may hold a secret. */
export function describeRequest({ method, url }: Request): string {
  return `${method} ${redactUrl(url)}`;
}

/** Patterns in the errors of runtimes for connections that cannot be made. Browsers tell no reasons. */
const REASONS: readonly (readonly [RegExp, (url: URL) => string])[] = [
  [
    /dns error|ENOTFOUND|EAI_AGAIN|failed to lookup/i,
    ({ hostname }) => `no address was found for the host ${hostname}`,
  ],
  [
    /connection refused|ECONNREFUSED/i,
    ({ hostname, port, protocol }) =>
      `${hostname} refused it at port ${
        port || (protocol === "https:" ? 443 : 80)
      }, where no server may be running`,
  ],
  [
    /network is unreachable|no route to host|ENETUNREACH|EHOSTUNREACH/i,
    ({ hostname }) => `the host ${hostname} cannot be reached`,
  ],
  [
    /InvalidContentType|WRONG_VERSION_NUMBER|PACKET_LENGTH/,
    ({ host }) => `${host} does not speak TLS, which https: needs`,
  ],
  [
    /certificate|CERT_/i,
    ({ hostname }) => `the certificate of ${hostname} is not trusted`,
  ],
  [/ports? .*blocked|bad port/i, ({ port }) => `port ${port} is blocked`],
];

/** Why a connection failed, as far as the runtime tells, after a comma or a colon. */
function reasonOf(cause: unknown, url: URL): string {
  if (cause instanceof DOMException && cause.name === "TimeoutError") {
    return `, the server was s${cause.message.slice(1)}`;
  }
  const texts: string[] = [];
  let error = cause;
  for (let i = 0; i < 4 && error instanceof Error; i++, error = error.cause) {
    texts.push(error.message, String((error as { code?: unknown }).code ?? ""));
  }
  // The URL in a message is not a reason.
  const text = texts.join(" ").replaceAll(/\(https?:[^)]*\)/g, "");
  const reason = REASONS.find(([pattern]) => pattern.test(text))?.[1];
  return reason === undefined ? "" : `: ${reason(url)}`;
}

/** How often a failed request is repeated, and when. */
interface RetryPolicy {
  /** The greatest number of repetitions. */
  readonly retries: number;
  /** The time before the first repetition in milliseconds. It doubles with each repetition, and is up to twice as long by chance. */
  readonly retryDelay: number;
  /** The time in milliseconds within which the server must begin its answer. */
  timeLeft(): number;
}

/** The longest time between two requests in milliseconds, unless `Retry-After` is longer. */
const LONGEST_DELAY = 10_000;
/** The statuses below 500 of requests that may succeed later. */
const TEMPORARY: readonly number[] = [408, 425, 429];
/** The statuses from 500 on of requests that do not succeed later: Not Implemented, HTTP Version Not Supported. */
const LASTING: readonly number[] = [501, 505];

// Loaded when a request fails, since most programs never need it.
const loadRetry = /* @__PURE__ */ loadOnce(() => import("p-retry"));

/** Runs a task that sends a request again, while it fails with an error that may pass. */
export async function repeat<T>(
  first: unknown,
  { retries, retryDelay, timeLeft }: RetryPolicy,
  { signal }: StoreOptions,
  task: () => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const isRepeated = (error: unknown) => isTemporary(error, timeLeft());
  if (!isRepeated(first)) throw first;
  const { default: retry } = await loadRetry();
  let tries = 0;
  try {
    return await retry(() => ++tries === 1 ? Promise.reject(first) : task(), {
      retries,
      minTimeout: 0, // The pause is made below, since it must end before the time does.
      ...signal && { signal },
      async shouldRetry({ error, retriesConsumed }) {
        const { retryAfter = 0 } = error as Partial<StatusError>;
        const delay = retryDelay * 2 ** retriesConsumed * (1 + Math.random());
        const time = Math.max(retryAfter, Math.min(delay, LONGEST_DELAY));
        if (!isRepeated(error) || time >= timeLeft()) return false;
        await pause(time, signal);
        return true;
      },
    });
  } catch (error) {
    signal?.throwIfAborted();
    if (tries > 1 && error instanceof StatusError) error.isRepeated = true;
    if (tries > 1 && error instanceof Error && isRequestError(error)) {
      error.message += `, after ${tries} tries`;
    }
    throw error;
  }
}

/** Whether an error is that of a request, and not of the reading of its response. */
export function isRequestError(error: unknown): boolean {
  return error instanceof StatusError || error instanceof ConnectionError;
}

/** Whether an error is that of a connection that was lost in the body of a response. */
export function isLostBody(error: unknown): boolean {
  return error instanceof ConnectionError && error.isBody;
}

/** Whether a failed request may succeed within some time. */
function isTemporary(error: unknown, timeLeft: number): boolean {
  if (error instanceof StatusError) {
    const { status, retryAfter = 0 } = error;
    const mayPass = status >= 500 && !LASTING.includes(status);
    return retryAfter < timeLeft && (mayPass || TEMPORARY.includes(status));
  }
  if (!(error instanceof ConnectionError) || timeLeft <= 0) return false;
  // `fetch` throws type errors. A function in its place may throw others, which last.
  return error.isBody ||
    error.cause instanceof TypeError && !/redirect/i.test(error.cause.message);
}
