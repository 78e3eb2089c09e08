import { copyBytes, joinBytes, pause } from "../../runtime/mod.ts";
import type { HttpClient } from "../http/http_client.ts";
import { StatusError, xmlText } from "../http/http_failures.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { encodeText } from "./bucket.ts";
import { ask, ConflictError, etagIn, type ExtraHeaders } from "./objects.ts";

/** A stored piece of an upload. Numbers count from 1. */
interface StoredPiece {
  readonly number: number;
  readonly etag: string;
}

/** An upload whose pieces are stored. Any program may complete it, once. */
export interface PreparedUpload {
  readonly key: StoreKey;
  readonly id: string;
  readonly pieces: readonly StoredPiece[];
}

/** The greatest number of pieces that are sent at the same time. */
const PIECES_AT_ONCE = 4;
/** The number of pieces after which their size doubles, since an upload has at most 10,000 pieces. */
const PIECES_OF_ONE_SIZE = 1000;

/** Sends a value to a bucket piece by piece, so that only few pieces are in memory. */
export class Upload {
  readonly #requests: HttpClient;
  readonly #key: StoreKey;
  readonly #pieceSize: number;
  readonly #longest: number;
  readonly #metadata: ExtraHeaders;
  readonly #options: StoreOptions;
  #buffer: Uint8Array[] = [];
  #length = 0;
  #id: Promise<string> | undefined;
  readonly #pieces: Promise<StoredPiece>[] = [];
  readonly #sending = new Set<Promise<StoredPiece>>();

  /**
   * @param target `pieceSize`: the length of the pieces in bytes. A shorter value is not sent
   * before `prepare`. `longest`: the most bytes of the value.
   * @param metadata The headers of the object.
   */
  constructor(
    { objects, pieceSize, longest = Infinity }: {
      objects: HttpClient;
      pieceSize: number;
      longest?: number;
    },
    key: StoreKey,
    metadata: ExtraHeaders,
    options: StoreOptions = {},
  ) {
    this.#requests = objects;
    this.#key = key;
    this.#pieceSize = pieceSize;
    this.#longest = longest;
    this.#metadata = metadata;
    this.#options = options;
  }

  /** The whole value, unless a piece of it has been sent. */
  get bytes(): Uint8Array | undefined {
    return this.#id === undefined ? joinBytes(this.#buffer) : undefined;
  }

  /** Takes further bytes, which are copied. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#options.signal?.throwIfAborted();
    if (this.#length + bytes.length > this.#longest) {
      throw new RangeError(
        `Cannot store ${
          JSON.stringify(this.#key)
        }: it has more than ${this.#longest} bytes; of the parts of a chunk in a bucket, only the first one that is stored may be longer`,
      );
    }
    while (this.#length + bytes.length >= this.#nextSize()) {
      const rest = this.#nextSize() - this.#length;
      this.#push(bytes.subarray(0, rest));
      bytes = bytes.subarray(rest);
      await this.#send();
    }
    if (bytes.length > 0) this.#push(bytes);
  }

  /** Sends the remaining bytes, and returns the upload, which any program may complete. */
  async prepare(): Promise<PreparedUpload> {
    if (this.#length > 0 || this.#pieces.length === 0) await this.#send();
    const pieces = await Promise.all(this.#pieces);
    return { key: this.#key, id: await this.#id!, pieces };
  }

  /** Gives the value up. */
  async abort(): Promise<void> {
    this.#buffer = [];
    await Promise.allSettled(this.#pieces);
    const id = await this.#id?.catch(() => undefined);
    if (id !== undefined) {
      await abortUpload(this.#requests, { key: this.#key, id });
    }
  }

  #push(bytes: Uint8Array): void {
    this.#buffer.push(copyBytes(bytes));
    this.#length += bytes.length;
  }

  #nextSize(): number {
    return this.#pieceSize *
      2 ** Math.floor(this.#pieces.length / PIECES_OF_ONE_SIZE);
  }

  async #send(): Promise<void> {
    const bytes = joinBytes(this.#buffer);
    this.#buffer = [];
    this.#length = 0;
    this.#id ??= this.#create();
    const id = await this.#id;
    const piece = this.#put(id, this.#pieces.length + 1, bytes);
    this.#pieces.push(piece);
    this.#sending.add(piece);
    // A failed piece stays in the set, so that `race` throws its error, and a long value is
    // not read to its end in vain.
    piece.then(() => this.#sending.delete(piece), () => {});
    if (this.#sending.size >= PIECES_AT_ONCE) await Promise.race(this.#sending);
  }

  async #create(): Promise<string> {
    const { xml } = await ask(this.#requests, this.#key, [200], {
      method: "POST",
      search: "?uploads=",
      headers: this.#metadata,
    }, this.#options);
    const id = xmlText(xml, "UploadId");
    if (id !== undefined) return id;
    throw new Error(
      `Expected the bucket to begin an upload for ${
        JSON.stringify(this.#key)
      }, found an answer without an UploadId`,
    );
  }

  async #put(
    id: string,
    number: number,
    bytes: Uint8Array,
  ): Promise<StoredPiece> {
    const { headers } = await ask(this.#requests, this.#key, [200], {
      method: "PUT",
      search: `?partNumber=${number}&uploadId=${encodeText(id)}`,
      body: bytes as Uint8Array<ArrayBuffer>,
    }, this.#options);
    return { number, etag: etagIn(headers, this.#key) };
  }
}

/** The statuses of a completion that always fails, also with other credentials. */
const SPOILT_STATUSES: readonly number[] = [400, 405, 410, 411, 416, 500, 501];

/**
 * Completes an upload, unless it was completed or given up before. Whether its object is
 * stored has to be looked at, since versitygw also says so while another request is still
 * completing the upload.
 *
 * @param condition Conditions, which not every service heeds.
 * @returns An error if the upload can only be given up. MinIO spoils an upload if the
 * connection is lost while it completes the upload.
 * @throws {ConflictError} If a condition does not hold.
 */
export async function completeUpload(
  requests: HttpClient,
  { key, id, pieces }: PreparedUpload,
  condition: ExtraHeaders = {},
  options: StoreOptions = {},
): Promise<Error | undefined> {
  const parts = pieces.map(({ number, etag }) =>
    `<Part><PartNumber>${number}</PartNumber><ETag>${
      etag.replaceAll("&", "&amp;").replaceAll('"', "&quot;")
    }</ETag></Part>`
  ).join("");
  try {
    const { status, code, xml } = await ask(
      requests,
      key,
      [200, 400, 404, 409, 412],
      {
        method: "POST",
        search: `?uploadId=${encodeText(id)}`,
        headers: { ...condition, "content-type": "application/xml" },
        body:
          `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts}</CompleteMultipartUpload>`,
      },
      options,
    );
    if (code === "NoSuchUpload") return undefined;
    if (status === 409 || status === 412) throw new ConflictError(key);
    if (status === 200 && code === undefined) return undefined;
    const error = new Error(
      `Cannot complete the upload of ${
        JSON.stringify(key)
      }: the bucket answered ${code ?? `status ${status}`}: ${
        xmlText(xml, "Message") ?? "no message"
      }`,
    );
    // Some services answer status 400 if credentials have expired.
    if (status !== 404 && !/Token|Credential|Time/.test(code ?? "")) {
      return error;
    }
    throw error;
  } catch (error) {
    const isSpoilt = error instanceof StatusError &&
      SPOILT_STATUSES.includes(error.status);
    if (isSpoilt) return error;
    throw error;
  }
}

/**
 * Gives up an upload.
 *
 * @returns Whether there was one.
 */
export async function abortUpload(
  requests: HttpClient,
  { key, id }: Pick<PreparedUpload, "key" | "id">,
): Promise<boolean> {
  const search = `?uploadId=${encodeText(id)}`;
  const init = { method: "DELETE", search } as const;
  return (await ask(requests, key, [200, 204], init)).status !== 404;
}

/** How long a bucket may take to store the object of an upload that it has given up, in milliseconds. */
const LATENESS_AFTER_ABORT = 1000;
/** How long a request of another program may take to complete an upload, in milliseconds. */
const LATENESS_OF_COMPLETION = 20_000;
/** The time before the second look for the object in milliseconds; doubles with each look up to `LONGEST_PAUSE`. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 2000;

/**
 * Looks whether the object of an upload is stored. If it is not, gives up the upload if
 * it is spoilt, and waits until no earlier request can complete it any more.
 *
 * @param spoilt What {@linkcode completeUpload} returned.
 * @param isSettled Asks whether the object is stored, or further waiting useless.
 */
export async function settleUpload(
  requests: HttpClient,
  upload: Pick<PreparedUpload, "key" | "id">,
  spoilt: Error | undefined,
  isSettled: () => Promise<boolean>,
): Promise<void> {
  if (await isSettled()) return;
  const isAborted = spoilt !== undefined &&
    await abortUpload(requests, upload);
  await waitUntil(
    isSettled,
    isAborted ? LATENESS_AFTER_ABORT : LATENESS_OF_COMPLETION,
  );
}

/** Asks again and again, after growing pauses, until the answer is yes or the time in milliseconds is over. */
export async function waitUntil(
  isReached: () => Promise<boolean>,
  longest: number,
): Promise<boolean> {
  let waited = 0;
  for (let wait = FIRST_PAUSE; waited < longest; wait *= 2) {
    const time = Math.min(wait, longest - waited, LONGEST_PAUSE);
    await pause(time, undefined);
    waited += time;
    if (await isReached()) return true;
  }
  return false;
}
