import { rangeHeader } from "./content_range.ts";
import { redactUrl } from "../describe_store.ts";
import type { ByteRange } from "../store.ts";
import { toStream } from "../stream.ts";

/** The response of a server, whose body must be read or cancelled. */
export interface Answer {
  /** The URL that was asked, without its query string. */
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  /** The body as a stream. Either this or `bytes` may be used, once. */
  readonly body: ReadableStream<Uint8Array>;
  /** Reads the whole body, which is faster than the stream. */
  bytes(): Promise<Uint8Array>;
}

/** The statuses of absent values: 404 Not Found, 410 Gone. */
const ABSENT = [404, 410];

/**
 * Sends a request. The answer is `undefined` for an absent value, and an error for
 * any status that is not one of `statuses`. All errors name the URL, except the
 * reason of the signal, which is thrown as it is.
 */
export async function send(
  fetch: (request: Request) => Promise<Response>,
  request: Request,
  statuses: readonly number[],
  signal: AbortSignal | undefined,
): Promise<Answer | undefined> {
  const failed = (error: unknown): never => {
    signal?.throwIfAborted();
    throw new Error(`Cannot ${nameOf(request)}: the connection failed`, {
      cause: error,
    });
  };
  signal?.throwIfAborted();
  let response: Response;
  try {
    response = await fetch(request);
  } catch (error) {
    return failed(error);
  }
  const { status, headers } = response;
  if (statuses.includes(status)) {
    return {
      get url() {
        return redactUrl(request.url);
      },
      status,
      headers,
      get body() {
        return body(response, failed);
      },
      bytes: async () =>
        new Uint8Array(await response.arrayBuffer().catch(failed)),
    };
  }
  await response.body?.cancel();
  if (ABSENT.includes(status)) return undefined;
  throw new Error(
    `Cannot ${nameOf(request)}: expected status ${
      [...statuses, ...ABSENT].join(", ")
    }, found ${`${status} ${response.statusText}`.trim()}`,
  );
}

/** The method and the URL of a request, for messages. */
function nameOf({ method, url }: Request): string {
  return `${method} ${redactUrl(url)}`;
}

function body(
  response: Response,
  failed: (error: unknown) => never,
): ReadableStream<Uint8Array> {
  if (response.body === null) return toStream(new Uint8Array());
  const reader = response.body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read().catch(failed);
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}

/** The length of the value in bytes, if `Content-Length` tells it. */
export function contentLength(answer: Answer): number | undefined {
  const length = answer.headers.get("content-length") ?? "";
  return /^\d{1,15}$/.test(length) && !isEncoded(answer)
    ? Number(length)
    : undefined;
}

/** Whether the body is compressed, or was before the runtime decoded it. */
export function isEncoded({ headers }: Answer): boolean {
  return (headers.get("content-encoding") ?? "identity") !== "identity";
}

/** An error for an answer that is not one to the range of its request. */
export function unexpectedRange(answer: Answer, range: ByteRange): Error {
  const found = ["content-range", "content-encoding"]
    .map((name) => `${name} ${JSON.stringify(answer.headers.get(name))}`);
  return new Error(
    `Expected ${answer.url} to answer the range ${
      rangeHeader(range)
    }, found status ${answer.status} with ${found.join(" and ")}`,
  );
}
