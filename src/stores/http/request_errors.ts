import { redactUrl } from "../capabilities.ts";
import type { StoreOptions } from "../store.ts";
import type { Answer, RequestOptions } from "./exchange.ts";

/** Thrown if a connection cannot be made, or is lost. */
export class ConnectionError extends Error {
  /** Whether the body of an answer was lost, after its headers had come. */
  readonly isBody: boolean;

  constructor(message: string, cause: unknown, isBody: boolean) {
    super(message, { cause });
    this.isBody = isBody;
  }
}

/**
 * Creates an error for a failed connection, or throws the reason of the caller's signal.
 *
 * @param response The response, if it had not come. It is cancelled if it comes late.
 */
export function connectionError(
  request: Request,
  { signal }: StoreOptions,
  cause: unknown,
  response?: Promise<Response>,
): ConnectionError {
  response?.then(({ body }) => body?.cancel(cause)).catch(() => {});
  signal?.throwIfAborted();
  return new ConnectionError(
    `Cannot ${nameOf(request)}: the connection failed${
      reasonOf(cause, new URL(request.url))
    }`,
    cause,
    response === undefined,
  );
}

/** Matches what runtimes say about connections that cannot be made. Browsers tell no reasons. */
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

/** Thrown if the status of an answer is an unexpected one. */
export class StatusError extends Error {
  readonly status: number;
  /** The time in milliseconds after which the server wants to be asked again, if it tells. */
  readonly retryAfter: number | undefined;
  /** Whether the status is in the body of an answer that began with another one. */
  readonly isBody: boolean;
  /** Whether an earlier request for the same was made, whose answer may have been lost. */
  isRepeated = false;

  /** @param inBody The status that the body tells. */
  constructor(message: string, { status, headers }: Answer, inBody?: number) {
    super(message);
    this.status = inBody ?? status;
    this.isBody = inBody !== undefined;
    this.retryAfter = retryAfter(headers);
  }
}

/** The longest part of the body that an error quotes, in characters. */
const LONGEST_QUOTE = 200;
/** The longest body in bytes that is read for an error. */
const LONGEST_BODY = 4096;

/**
 * Creates an error for an unexpected status, and ends the answer.
 *
 * @param absent The statuses that are expected as well, unless the request had a body.
 */
export async function statusError(
  answer: Answer,
  statuses: readonly number[],
  { body }: RequestOptions,
  absent: readonly number[],
): Promise<StatusError> {
  const expected = body ? statuses : [...statuses, ...absent];
  const { status, statusText } = answer.response;
  const quote = await quoteOf(answer);
  return new StatusError(
    `Cannot ${nameOf(answer.request)}: expected status ${
      expected.join(", ")
    }, found ${`${status} ${statusText}`.trim()}${quote && ` (${quote})`}`,
    answer,
  );
}

/** The code and the message in the body of an error of an object store. */
async function quoteOf(answer: Answer): Promise<string> {
  if (!/\bxml\b/.test(answer.headers.get("content-type") ?? "")) {
    await answer.cancel().catch(() => {});
    return "";
  }
  const bytes = await answer.bytesUpTo(LONGEST_BODY).catch(() => undefined);
  const body = new TextDecoder().decode(bytes);
  return ["Code", "Message"]
    .map((name) => new RegExp(`<${name}>([^<]+)<`).exec(body)?.[1])
    .filter((text) => text !== undefined)
    .join(": ").slice(0, LONGEST_QUOTE);
}

/** Reads `Retry-After` (RFC 9110, section 10.2.3), in milliseconds. */
function retryAfter(headers: Headers): number | undefined {
  const text = headers.get("retry-after") ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** The method and the URL of a request. */
function nameOf({ method, url }: Request): string {
  return `${method} ${redactUrl(url)}`;
}
