import { joinBytes } from "../../runtime/mod.ts";
import type { Connection } from "./http_connections.ts";
import { connectionError } from "./http_failures.ts";

/** A body of up to this length in bytes is read in one call, which is faster, and must arrive within the time-out. */
const READ_AT_ONCE = 2 ** 20;

/** The response to a request, whose body must be read or cancelled. */
export class HttpResponse {
  readonly request: Request;
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly #response: Response;
  readonly #connection: Connection;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(request: Request, response: Response, connection: Connection) {
    this.request = request;
    this.status = response.status;
    this.statusText = response.statusText;
    this.headers = response.headers;
    this.#response = response;
    this.#connection = connection;
    if (!response.body) connection.close();
  }

  /** How long the server may be silent, in milliseconds. */
  get timeout(): number {
    return this.#connection.timeout;
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

  /** What `Content-Range` tells. */
  get contentRange(): ContentRange {
    return parseContentRange(this.headers);
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

  /** Returns the body as a stream, which requests bytes only as it is read. */
  stream(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        const piece = await this.#readPiece();
        if (piece) controller.enqueue(piece);
        else controller.close();
      },
      cancel: (reason) => this.cancel(reason),
    }, { highWaterMark: 0 });
  }

  /** Ends the connection, whether the body is being read or not. */
  async cancel(reason?: unknown): Promise<void> {
    this.#connection.close();
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
      const { value } = await this.#wait(() => reader.read(), false);
      if (!value) this.#connection.close();
      return value;
    } catch (error) {
      reader.cancel(error).catch(() => {});
      throw error;
    }
  }

  /**
   * Waits for bytes of the body.
   *
   * @param isLast Whether the connection ends with them.
   */
  async #wait<T>(receive: () => Promise<T>, isLast: boolean): Promise<T> {
    try {
      return await this.#connection.wait(receive);
    } catch (error) {
      isLast = true;
      const { options } = this.#connection;
      throw connectionError(this.request, options, error, true);
    } finally {
      if (isLast) this.#connection.close();
    }
  }
}

/** The members of `Content-Range`. */
export interface ContentRange {
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

/** Parses `Content-Range` (RFC 9110, section 14.4). A missing or malformed header has no members. */
function parseContentRange(headers: Headers): ContentRange {
  const [, first, last, size] =
    CONTENT_RANGE.exec(headers.get("content-range") ?? "") ?? [];
  return {
    ...first !== undefined && { first: Number(first), last: Number(last) },
    ...size !== undefined && { size: Number(size) },
  };
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
