import type { Answer } from "./exchange.ts";
import type { Connection } from "./connection.ts";
import { contentLength } from "./answer_head.ts";
import { loadOnFailure } from "./load_on_failure.ts";
import { loadOnFirstUse } from "./load_on_first_use.ts";

/** A body of up to this length in bytes is read whole, which is faster, and must arrive within the time-out. */
const AT_ONCE = 2 ** 20;

/** The response of a server that came over a connection. */
export class HttpAnswer implements Answer {
  readonly request: Request;
  readonly response: Response;
  readonly #connection: Connection;
  reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(
    request: Request,
    response: Response,
    connection: Connection,
  ) {
    this.request = request;
    this.response = response;
    this.#connection = connection;
    if (!response.body) connection.end();
  }

  get status(): number {
    return this.response.status;
  }

  get headers(): Headers {
    return this.response.headers;
  }

  get timeout(): number {
    return this.#connection.timeout;
  }

  async bytesUpTo(most: number): Promise<Uint8Array | undefined> {
    const { url, type, headers } = this.response;
    const isFramed = url && type !== "cors" &&
      !headers.has("transfer-encoding");
    if (isFramed && contentLength(this)! <= Math.min(most, AT_ONCE)) {
      return new Uint8Array(
        await this.wait(() => this.response.arrayBuffer(), true),
      );
    }
    const { readPieces } = await loadOnFirstUse();
    return await readPieces(this, most);
  }

  end(): void {
    this.#connection.end();
  }

  async cancel(reason?: unknown): Promise<void> {
    this.end();
    await (this.reader ?? this.response.body)?.cancel(reason);
  }

  async wait<T>(bytes: () => Promise<T>, isLast: boolean): Promise<T> {
    try {
      return await this.#connection.wait(bytes);
    } catch (error) {
      isLast = true;
      const { connectionError } = await loadOnFailure();
      const { options } = this.#connection;
      throw connectionError(this.request, options, error);
    } finally {
      if (isLast) this.#connection.end();
    }
  }
}
