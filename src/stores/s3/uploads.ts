import { copyBytes, joinBytes, pause } from "../../runtime/mod.ts";
import {
  abortable,
  assertPiece,
  assertValue,
  discard,
} from "../byte_streams.ts";
import type { RequestSender } from "../http/http_client.ts";
import { StatusError, xmlText } from "../http/http_failures.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { assertNotTemporary, assertStoreKey } from "../store_key.ts";
import { type Bucket, encodePath, encodeText } from "./bucket.ts";
import {
  ABSENT,
  comesFrom,
  ConflictError,
  errorCodeIn,
  etagIn,
  type Metadata,
  metadataOf,
  type ObjectTag,
  putObject,
  sendForXml,
  tagOf,
} from "./objects.ts";

/** The number of pieces up to which bytes in memory are stored in one request. */
const IN_ONE_REQUEST = 8;

/** Stores a value: in one request if it is short, else in an upload of several pieces. */
export async function storeObject(
  bucket: Bucket,
  key: StoreKey,
  value: Uint8Array | ReadableStream<Uint8Array>,
  options: StoreOptions,
): Promise<void> {
  try {
    assertStoreKey(key);
    assertNotTemporary(key);
    assertValue(value);
    options.signal?.throwIfAborted();
  } catch (error) {
    await discard(value, error);
    throw error;
  }
  const { objects, pieceSize } = bucket;
  const isShort = value instanceof Uint8Array &&
    value.length <= IN_ONE_REQUEST * pieceSize;
  if (isShort) {
    await putObject(objects, key, value, {}, options);
    return;
  }
  const write = crypto.randomUUID();
  const metadata = metadataOf(write, false);
  const upload = new Upload(bucket, key, write, metadata, options);
  try {
    if (value instanceof Uint8Array) await upload.write(value);
    else {
      for await (const piece of abortable(value, options.signal)) {
        assertPiece(piece);
        await upload.write(copyBytes(piece));
      }
    }
    await upload.store();
  } catch (error) {
    await upload.abort().catch(() => {}); // The first error says more.
    throw error;
  }
}

/** A stored piece of an upload. */
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
  readonly #requests: RequestSender;
  /** The key of the object. */
  readonly key: StoreKey;
  readonly #pieceSize: number;
  readonly #write: string;
  readonly #metadata: Metadata;
  readonly #options: StoreOptions;
  #buffer: Uint8Array[] = [];
  #length = 0;
  #sent = 0;
  #id: Promise<string> | undefined;
  readonly #pieces: Promise<StoredPiece>[] = [];
  readonly #sending = new Set<Promise<StoredPiece>>();

  /**
   * @param write The identifier of the write, which `metadata` tells.
   * @param metadata The headers of the object.
   */
  constructor(
    { objects, pieceSize }: Bucket,
    key: StoreKey,
    write: string,
    metadata: Metadata,
    options: StoreOptions,
  ) {
    this.#requests = objects;
    this.key = key;
    this.#pieceSize = pieceSize;
    this.#write = write;
    this.#metadata = metadata;
    this.#options = options;
  }

  /** The number of bytes that were written. */
  get size(): number {
    return this.#sent + this.#length;
  }

  /** The whole value, unless a piece of it has been sent. */
  get bytes(): Uint8Array | undefined {
    return this.#id === undefined ? joinBytes(this.#buffer) : undefined;
  }

  /** Takes further bytes, which are not copied and must not change. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#options.signal?.throwIfAborted();
    while (this.#length + bytes.length >= this.#nextSize()) {
      const rest = this.#nextSize() - this.#length;
      this.#buffer.push(bytes.subarray(0, rest));
      this.#length += rest;
      bytes = bytes.subarray(rest);
      await this.#send();
    }
    if (bytes.length > 0) this.#buffer.push(bytes);
    this.#length += bytes.length;
  }

  /**
   * Stores the value.
   *
   * @param headers Conditions, such as `If-Match`.
   */
  async store(headers: Record<string, string> = {}): Promise<void> {
    const requests = this.#requests;
    const { bytes } = this;
    let state: ObjectTag = ABSENT;
    const isStored = async () => {
      state = await tagOf(requests, this.key, this.#options);
      return comesFrom(state, this.#write);
    };
    let failure: Error;
    try {
      if (bytes !== undefined) {
        const all = { ...this.#metadata, ...headers };
        await putObject(requests, this.key, bytes, all, this.#options);
        return;
      }
      const upload = await this.prepare();
      const completion = await completeUpload(
        requests,
        upload,
        this.#options,
        headers,
      );
      await settleUpload(requests, upload, completion, isStored);
      if (comesFrom(state, this.#write)) return;
      failure = typeof completion === "object" ? completion.spoilt : new Error(
        `Cannot complete the upload of ${
          JSON.stringify(this.key)
        }: another program has given it up`,
      );
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      failure = error;
    }
    // The request was repeated if the response to a successful one was lost.
    if (!await isStored()) throw failure;
  }

  /** Sends the remaining bytes, and returns the upload, which any program may complete. */
  async prepare(): Promise<PreparedUpload> {
    if (this.#length > 0 || this.#pieces.length === 0) await this.#send();
    const pieces = await Promise.all(this.#pieces);
    return { key: this.key, id: await this.#id!, pieces };
  }

  /** Gives the value up. */
  async abort(): Promise<void> {
    this.#buffer = [];
    await Promise.allSettled(this.#pieces);
    const id = await this.#id?.catch(() => undefined);
    if (id !== undefined) {
      await abortUpload(this.#requests, { key: this.key, id });
    }
  }

  #nextSize(): number {
    return this.#pieceSize *
      2 ** Math.floor(this.#pieces.length / PIECES_OF_ONE_SIZE);
  }

  async #send(): Promise<void> {
    const bytes = joinBytes(this.#buffer);
    this.#buffer = [];
    this.#length = 0;
    this.#sent += bytes.length;
    this.#id ??= createUpload(
      this.#requests,
      this.key,
      this.#metadata,
      this.#options,
    );
    const id = await this.#id;
    const number = this.#pieces.length + 1;
    const piece = putPiece(
      this.#requests,
      this.key,
      id,
      number,
      bytes,
      this.#options,
    );
    this.#pieces.push(piece);
    this.#sending.add(piece);
    // A failed piece stays in the set, so that `race` throws its error, and a long value is
    // not read to its end in vain.
    piece.then(() => this.#sending.delete(piece), () => {});
    if (this.#sending.size >= PIECES_AT_ONCE) await Promise.race(this.#sending);
  }
}

/** Begins an upload. */
export async function createUpload(
  requests: RequestSender,
  key: StoreKey,
  metadata: Metadata,
  options: StoreOptions,
): Promise<string> {
  const { xml } = await sendForXml(requests, key, options, [200], {
    method: "POST",
    search: "?uploads=",
    headers: metadata,
  });
  const id = xmlText(xml, "UploadId");
  if (id !== undefined) return id;
  throw new Error(
    `Expected the bucket to begin an upload for ${
      JSON.stringify(key)
    }, found an answer without an UploadId`,
  );
}

/** Stores a piece of an upload. Numbers count from 1. */
export async function putPiece(
  requests: RequestSender,
  key: StoreKey,
  id: string,
  number: number,
  bytes: Uint8Array,
  options: StoreOptions,
): Promise<StoredPiece> {
  const response = await requests.send(key, options, [200], {
    method: "PUT",
    search: `?partNumber=${number}&uploadId=${encodeText(id)}`,
    body: bytes as Uint8Array<ArrayBuffer>,
  });
  await response!.cancel();
  return { number, etag: etagIn(response!, key) };
}

/** The length in bytes of the pieces that are copied; an upload has at most 10,000. */
const COPIED_PIECE = 2 ** 28;

/** Lets the bucket copy an object into the pieces of an upload. */
export async function copyPieces(
  { objects, name, prefix }: Bucket,
  key: StoreKey,
  id: string,
  from: StoreKey,
  size: number,
): Promise<StoredPiece[]> {
  const source = encodePath(`${name}/${prefix}${from.slice(1)}`);
  const length = Math.max(COPIED_PIECE, Math.ceil(size / 10_000));
  const pieces: StoredPiece[] = [];
  for (let start = 0; start < size; start += length) {
    const number = pieces.length + 1;
    const end = Math.min(start + length, size);
    const { xml } = await sendForXml(objects, key, {}, [200], {
      method: "PUT",
      search: `?partNumber=${number}&uploadId=${encodeText(id)}`,
      headers: {
        "x-amz-copy-source": source,
        ...size > length &&
          { "x-amz-copy-source-range": `bytes=${start}-${end - 1}` },
      },
    });
    const etag = xmlText(xml, "ETag");
    if (etag === undefined) {
      throw new Error(
        `Expected the bucket to copy ${JSON.stringify(from)} to ${
          JSON.stringify(key)
        }, found an answer without an ETag`,
      );
    }
    pieces.push({ number, etag });
  }
  return pieces;
}

/**
 * The state of an upload after its completion was requested, as the bucket tells it.
 *
 * - `"complete"`: the object is stored. This has to be checked, since versitygw also says
 *   so while another request is still completing the upload.
 * - `"gone"`: the upload was completed or given up before.
 * - `spoilt`: the upload can only be given up. MinIO spoils an upload if the connection
 *   is lost while it completes the upload.
 */
type Completion =
  | "complete"
  | "gone"
  | { readonly spoilt: Error };

/** The statuses of a completion that always fails, also with other credentials. */
const SPOILT_STATUSES: readonly number[] = [400, 405, 410, 411, 416, 500, 501];

/**
 * Completes an upload, if the conditions in `headers` hold.
 *
 * @throws {ConflictError} If a condition does not hold.
 */
export async function completeUpload(
  requests: RequestSender,
  { key, id, pieces }: PreparedUpload,
  options: StoreOptions,
  headers: Record<string, string> = {},
): Promise<Completion> {
  const parts = pieces.map(({ number, etag }) =>
    `<Part><PartNumber>${number}</PartNumber><ETag>${
      etag.replaceAll("&", "&amp;").replaceAll('"', "&quot;")
    }</ETag></Part>`
  ).join("");
  let found: { status: number; xml: string };
  try {
    found = await sendForXml(
      requests,
      key,
      options,
      [200, 400, 404, 409, 412],
      {
        method: "POST",
        search: `?uploadId=${encodeText(id)}`,
        headers: { ...headers, "content-type": "application/xml" },
        body:
          `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts}</CompleteMultipartUpload>`,
      },
    );
  } catch (error) {
    if (
      error instanceof StatusError && SPOILT_STATUSES.includes(error.status)
    ) {
      return { spoilt: error };
    }
    throw error;
  }
  const { status, xml } = found;
  const code = errorCodeIn(xml);
  if (code === "NoSuchUpload") return "gone";
  if (status === 409 || status === 412) throw new ConflictError(key);
  if (status === 200 && code === undefined) return "complete";
  const error = new Error(
    `Cannot complete the upload of ${
      JSON.stringify(key)
    }: the bucket answered ${code ?? `status ${status}`}: ${
      xmlText(xml, "Message") ?? "no message"
    }`,
  );
  // Some services answer status 400 if credentials have expired.
  if (status === 404 || /Token|Credential|Time/.test(code ?? "")) throw error;
  return { spoilt: error };
}

/**
 * Gives up an upload.
 *
 * @returns Whether there was one.
 */
export async function abortUpload(
  requests: RequestSender,
  { key, id }: Pick<PreparedUpload, "key" | "id">,
  options: StoreOptions = {},
): Promise<boolean> {
  const response = await requests.send(key, options, [200, 204], {
    method: "DELETE",
    search: `?uploadId=${encodeText(id)}`,
  });
  await response?.cancel();
  return response !== undefined;
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
 * @param isSettled Asks whether the object is stored, or further waiting useless.
 */
export async function settleUpload(
  requests: RequestSender,
  upload: Pick<PreparedUpload, "key" | "id">,
  completion: Completion | "to be given up",
  isSettled: () => Promise<boolean>,
): Promise<void> {
  if (await isSettled()) return;
  const mayBeCompleted = completion === "complete" || completion === "gone";
  const isAborted = !mayBeCompleted && await abortUpload(requests, upload);
  const longest = isAborted ? LATENESS_AFTER_ABORT : LATENESS_OF_COMPLETION;
  let waited = 0;
  for (let wait = FIRST_PAUSE; waited < longest; wait *= 2) {
    const time = Math.min(wait, longest - waited, LONGEST_PAUSE);
    await pause(time, undefined);
    waited += time;
    if (await isSettled()) return;
  }
}
