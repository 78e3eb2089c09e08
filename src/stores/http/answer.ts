import { redactUrl } from "../describe_store.ts";
import { joinBytes } from "../join_bytes.ts";

/** The response of a server, whose body must be read or cancelled. */
export class Answer {
  readonly #request: Request;
  readonly #response: Response;
  readonly #signal: AbortSignal | undefined;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(
    request: Request,
    response: Response,
    signal: AbortSignal | undefined,
  ) {
    this.#request = request;
    this.#response = response;
    this.#signal = signal;
  }

  /** The URL that was asked, without its query string. */
  get url(): string {
    return redactUrl(this.#request.url);
  }

  get status(): number {
    return this.#response.status;
  }

  get headers(): Headers {
    return this.#response.headers;
  }

  /** Reads the whole body, which is faster than `stream`. */
  async bytes(): Promise<Uint8Array> {
    const body = this.#response.arrayBuffer();
    return new Uint8Array(await body.catch(this.#fail));
  }

  /**
   * Reads the body if it has at most `most` bytes. A longer body is cancelled, and
   * the result is `undefined`. `Content-Length` is relied on only where the runtime
   * lets no body be longer: not if the body comes in chunks, or was made by a function
   * of the caller and so has no URL. Nor for a page of another origin, which does not
   * see whether the body is compressed.
   */
  async bytesUpTo(most: number): Promise<Uint8Array | undefined> {
    const length = contentLength(this) ?? NaN;
    const { url, type, headers } = this.#response;
    const isFramed = url && type !== "cors" &&
      !headers.has("transfer-encoding");
    if (isFramed && length <= most) return await this.bytes();
    let size = length > most ? length : 0;
    const pieces: Uint8Array[] = [];
    while (size <= most) {
      const piece = await this.#read();
      if (!piece) return joinBytes(pieces);
      pieces.push(piece);
      size += piece.length;
    }
    await this.cancel();
  }

  /** Returns the body as a stream. Only one way of reading may be used, once. */
  stream(): ReadableStream<Uint8Array> {
    if (!this.#response.body) return new Blob().stream();
    this.#reader = this.#response.body.getReader();
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const piece = await this.#read();
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

  async #read(): Promise<Uint8Array | undefined> {
    this.#reader ??= this.#response.body?.getReader();
    return (await this.#reader?.read().catch(this.#fail))?.value;
  }

  readonly #fail = (error: unknown): never => {
    throw connectionError(error, this.#request, this.#signal);
  };
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
  signal?.throwIfAborted();
  let response: Response;
  try {
    response = await fetch(request);
  } catch (error) {
    throw connectionError(error, request, signal);
  }
  const { status } = response;
  if (statuses.includes(status)) return new Answer(request, response, signal);
  await response.body?.cancel();
  if (ABSENT.includes(status)) return undefined;
  throw new Error(
    `Cannot ${nameOf(request)}: expected status ${
      [...statuses, ...ABSENT].join(", ")
    }, found ${`${status} ${response.statusText}`.trim()}`,
  );
}

/** Creates an error for a lost connection, or throws the reason of the signal. */
function connectionError(
  cause: unknown,
  request: Request,
  signal: AbortSignal | undefined,
): Error {
  signal?.throwIfAborted();
  return new Error(`Cannot ${nameOf(request)}: the connection failed`, {
    cause,
  });
}

/** The method and the URL of a request, for messages. */
function nameOf({ method, url }: Request): string {
  return `${method} ${redactUrl(url)}`;
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
