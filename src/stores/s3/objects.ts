import { copyBytes, joinBytes, pause } from "../../runtime/mod.ts";
import {
  abortable,
  assertPiece,
  assertValue,
  discard,
} from "../byte_streams.ts";
import type { Answer, RequestOptions, Requests } from "../http/exchange.ts";
import { readWhole } from "../http/read_whole.ts";
import { StatusError } from "../http/request_errors.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { assertNotTemporary, assertStoreKey, probeName } from "../store_key.ts";
import {
  type Bucket,
  ConflictError,
  encodePath,
  encodeText,
  textOf,
} from "./bucket.ts";

/** The statuses of a condition that does not hold, or that another request has met at the same time. */
const CONFLICT: readonly number[] = [409, 412];

/**
 * Stores an object of few bytes, if the conditions in `headers` hold.
 *
 * @returns Its ETag, if the service tells it.
 */
export async function putObject(
  requests: Requests,
  key: StoreKey,
  bytes: Uint8Array,
  headers: Readonly<Record<string, string>>,
  options: StoreOptions,
): Promise<string | null> {
  const isConditional = "if-match" in headers || "if-none-match" in headers;
  const answer = await requests.send(
    key,
    options,
    [
      200,
      ...isConditional ? CONFLICT : [],
      // Without If-Match, it is the bucket that does not exist.
      ..."if-match" in headers ? [404] : [],
    ],
    { method: "PUT", body: bytes as Uint8Array<ArrayBuffer>, headers },
  );
  await answer!.cancel();
  if (answer!.status !== 200) throw new ConflictError(key);
  return answer!.headers.get("etag");
}

/** Removes an object, if the conditions in `headers` hold. */
export async function deleteObject(
  requests: Requests,
  key: StoreKey,
  headers: Readonly<Record<string, string>>,
  options: StoreOptions,
): Promise<void> {
  const answer = await requests.send(key, options, [200, 204, ...CONFLICT], {
    method: "DELETE",
    headers,
  });
  await answer?.cancel();
  if (answer && CONFLICT.includes(answer.status)) throw new ConflictError(key);
}

/** The header that tells the write of an object that is no part of a chunk of several objects. */
const WRITE = "x-amz-meta-zarr-parts-write";
/** The header that names the write that was changed, that which this one had changed, and so on. */
const EARLIER = "x-amz-meta-zarr-parts-earlier";
/** The most writes that `EARLIER` names: all metadata of an object have at most 2 KiB. */
const MOST_EARLIER = 24;

/** The text that tells an object apart from others under the same key. */
export interface ObjectTag {
  /** The write that it belongs to, or else its ETag; `-` if there is no object. */
  readonly tag: string;
  /** The ETag; `undefined` if there is no object. */
  readonly etag: string | undefined;
  /** The tags of the objects that it was made of by changes, the latest first. */
  readonly earlier: readonly string[];
}

/** The tag of an object that is not stored. */
export const ABSENT: ObjectTag = { tag: "-", etag: undefined, earlier: [] };

/** Asks for the tag of an object. */
export async function tagOf(
  requests: Requests,
  key: StoreKey,
  options: StoreOptions,
): Promise<ObjectTag> {
  const answer = await requests.send(key, options, [200], { method: "HEAD" });
  if (answer === undefined) return ABSENT;
  await answer.cancel();
  return tagIn(answer, key);
}

function tagIn(answer: Answer, key: StoreKey): ObjectTag {
  const etag = etagIn(answer, key);
  const { headers } = answer;
  return {
    tag: headers.get(GENERATION) ?? headers.get(WRITE) ?? etag,
    etag,
    earlier: headers.get(EARLIER)?.split(" ").filter((tag) => tag !== "") ?? [],
  };
}

/**
 * The headers of the objects of a write.
 *
 * @param write A number that no other write has.
 * @param isOfSeveral Whether the write has several objects.
 * @param changed What the write has changed, if it was read before.
 */
export function metadataOf(
  write: string,
  isOfSeveral: boolean,
  changed?: ObjectTag,
): Metadata {
  const earlier = changed
    ? [changed.tag, ...changed.earlier].slice(0, MOST_EARLIER)
    : [];
  return {
    [isOfSeveral ? GENERATION : WRITE]: write,
    // Other tags than numbers of writes are ETags and `-`, which hold no spaces.
    ...earlier.length > 0 && { [EARLIER]: earlier.join(" ") },
  };
}

/** Whether an object is of a write, or of later ones that have changed it. */
export function comesFrom({ tag, earlier }: ObjectTag, write: string): boolean {
  return tag === write || earlier.includes(write);
}

/** The number of pieces up to which bytes in memory are stored in one request. */
const IN_ONE_REQUEST = 8;

/** Stores a value in a bucket. */
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

/** The greatest number of pieces that are sent at the same time. */
const AT_ONCE = 4;
/** The number of pieces after which their size doubles; an upload has at most 10,000. */
const DOUBLING = 1000;

/** Sends a value to a bucket piece by piece, so that only few pieces are in memory. */
export class Upload {
  readonly #requests: Requests;
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
   * @param write The number of the write, which `metadata` tells.
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
    // The request was repeated if the answer to a successful one was lost.
    if (!await isStored()) throw failure;
  }

  /** Sends what is left, and returns the upload, which is to be completed. */
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
    return this.#pieceSize * 2 ** Math.floor(this.#pieces.length / DOUBLING);
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
    // A piece that fails stays, so that a long value is not read to its end in vain.
    piece.then(() => this.#sending.delete(piece), () => {});
    if (this.#sending.size >= AT_ONCE) await Promise.race(this.#sending);
  }
}

/** A piece of an upload that is stored. */
export interface StoredPiece {
  readonly number: number;
  readonly etag: string;
}

/** An upload whose pieces are stored, and that anybody may complete, once. */
export interface PreparedUpload {
  readonly key: StoreKey;
  readonly id: string;
  readonly pieces: readonly StoredPiece[];
}

/** The headers of an object that tell which write stored it. */
export type Metadata = Readonly<Record<string, string>>;

/** The header that tells the write that the objects of a chunk belong to. */
export const GENERATION = "x-amz-meta-zarr-parts-generation";

/** Begins an upload. */
export async function createUpload(
  requests: Requests,
  key: StoreKey,
  metadata: Metadata,
  options: StoreOptions,
): Promise<string> {
  const { xml } = await sendForXml(requests, key, options, [200], {
    method: "POST",
    search: "?uploads=",
    headers: metadata,
  });
  const id = textOf(xml, "UploadId");
  if (id !== undefined) return id;
  throw new Error(
    `Expected the bucket to begin an upload for ${
      JSON.stringify(key)
    }, found an answer without an UploadId`,
  );
}

/** Stores a piece of an upload. Numbers count from 1. */
export async function putPiece(
  requests: Requests,
  key: StoreKey,
  id: string,
  number: number,
  bytes: Uint8Array,
  options: StoreOptions,
): Promise<StoredPiece> {
  const answer = await requests.send(key, options, [200], {
    method: "PUT",
    search: `?partNumber=${number}&uploadId=${encodeText(id)}`,
    body: bytes as Uint8Array<ArrayBuffer>,
  });
  await answer!.cancel();
  return { number, etag: etagIn(answer!, key) };
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
    const etag = textOf(xml, "ETag");
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

/** Returns the ETag of an answer, without which no condition can be asked for. */
export function etagIn({ headers }: Answer, key: StoreKey): string {
  const etag = headers.get("etag");
  if (etag !== null) return etag;
  throw new Error(
    `Expected the bucket to answer for ${
      JSON.stringify(key)
    } with an ETag, found none; across origins it must be exposed`,
  );
}

/**
 * What became of an upload, as the bucket says: it is complete, which has to be checked,
 * since versitygw says so, too, while another request completes the upload, or has not
 * come to its end; there is none, since it has been completed or given up; or it is
 * spoilt, and can only be given up. MinIO spoils an upload if the connection is lost
 * while it completes it.
 */
export type Completion =
  | "complete"
  | "gone"
  | { readonly spoilt: Error };

/** The statuses of a completion that does not succeed later either, nor with other credentials. */
const SPOILT: readonly number[] = [400, 405, 410, 411, 416, 500, 501];

/** Completes an upload. A condition in `headers` that does not hold is a `ConflictError`. */
export async function completeUpload(
  requests: Requests,
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
    if (error instanceof StatusError && SPOILT.includes(error.status)) {
      return { spoilt: error };
    }
    throw error;
  }
  const { status, xml } = found;
  const code = codeIn(xml);
  if (code === "NoSuchUpload") return "gone";
  if (status === 409 || status === 412) throw new ConflictError(key);
  if (status === 200 && code === undefined) return "complete";
  const error = new Error(
    `Cannot complete the upload of ${
      JSON.stringify(key)
    }: the bucket answered ${code ?? `status ${status}`}: ${
      textOf(xml, "Message") ?? "no message"
    }`,
  );
  // Credentials that have expired are status 400 in some services.
  if (status === 404 || /Token|Credential|Time/.test(code ?? "")) throw error;
  return { spoilt: error };
}

/**
 * Gives up an upload.
 *
 * @returns Whether there was one.
 */
export async function abortUpload(
  requests: Requests,
  { key, id }: Pick<PreparedUpload, "key" | "id">,
  options: StoreOptions = {},
): Promise<boolean> {
  const answer = await requests.send(key, options, [200, 204], {
    method: "DELETE",
    search: `?uploadId=${encodeText(id)}`,
  });
  await answer?.cancel();
  return answer !== undefined;
}

/**
 * The time in milliseconds that a bucket may take to store an object after it has given
 * up the upload, and that another request may take that completes the upload.
 */
const LATENESS = { revoked: 1000, unknown: 20_000 };

/**
 * Looks whether the object of an upload is stored. If it is not, gives up the upload if
 * it is spoilt, and waits until it cannot be completed by an earlier request any more.
 *
 * @param isSettled Asks whether the object is stored, or the waiting useless.
 */
export async function settleUpload(
  requests: Requests,
  upload: Pick<PreparedUpload, "key" | "id">,
  completion: Completion | "to be given up",
  isSettled: () => Promise<boolean>,
): Promise<void> {
  if (await isSettled()) return;
  const isUnknown = completion === "complete" || completion === "gone";
  const isRevoked = !isUnknown && await abortUpload(requests, upload);
  const most = LATENESS[isRevoked ? "revoked" : "unknown"];
  let waited = 0;
  for (let wait = 100; waited < most; wait *= 2) {
    const time = Math.min(wait, most - waited, 2000);
    await pause(time, undefined);
    waited += time;
    if (await isSettled()) return;
  }
}

/** The code of the error that a bucket answered with, if it did. */
function codeIn(xml: string): string | undefined {
  return /<Error\b/.test(xml)
    ? textOf(xml, "Code") ?? "an error without a code"
    : undefined;
}

/** The codes of errors that pass, with their statuses. */
const TEMPORARY: Readonly<Record<string, number>> = {
  InternalError: 500,
  OperationAborted: 503,
  RequestTimeout: 503,
  ServiceUnavailable: 503,
  SlowDown: 503,
};

/**
 * Sends a request and reads its answer, and does both again if the connection is lost
 * meanwhile, or if the answer is an error: buckets send status 200 before they have done
 * the work.
 */
export async function sendForXml(
  requests: Requests,
  key: StoreKey,
  options: StoreOptions,
  statuses: readonly number[],
  init: RequestOptions,
): Promise<{ status: number; xml: string; answer: Answer | undefined }> {
  return await readWhole(requests, options, async () => {
    const answer = await requests.send(key, options, statuses, init);
    if (answer === undefined) return { status: 404, xml: "", answer };
    const xml = new TextDecoder().decode(await answer.bytesUpTo(Infinity));
    const { status } = answer;
    const code = status === 200 ? codeIn(xml) : undefined;
    if (code !== undefined && code in TEMPORARY) {
      throw new StatusError(
        `Cannot ${init.method ?? "GET"} ${
          JSON.stringify(key)
        }: the bucket answered ${code} after status 200: ${
          textOf(xml, "Message") ?? "no message"
        }`,
        answer,
        TEMPORARY[code],
      );
    }
    return { status, xml, answer };
  });
}

/** The conditions that a bucket heeds. */
export interface Conditions {
  /** Whether `PUT` heeds `If-None-Match: *` and `If-Match`. */
  readonly put: boolean;
  /** Whether `DELETE` heeds `If-Match`. */
  readonly delete: boolean;
}

/** An entity tag that no object has. */
const OTHER = '"00000000000000000000000000000000"';

/** The most probes: `recover` of another program may remove the object meanwhile. */
const TRIES = 2;

/** Finds out which conditions a bucket heeds, by an object that is removed again. */
export async function probeConditions(
  requests: Requests,
  options: StoreOptions,
): Promise<Conditions> {
  for (let tries = 1;; tries++) {
    const found = await probeOnce(requests, options);
    if (found.put && found.delete || tries === TRIES) return found;
  }
}

async function probeOnce(
  requests: Requests,
  options: StoreOptions,
): Promise<Conditions> {
  const key = `/${probeName()}` as StoreKey;
  const bytes = new TextEncoder().encode("probe");
  const isRefused = (request: Promise<unknown>) =>
    request.then(() => false, (error) => {
      if (error instanceof ConflictError) return true;
      throw error;
    });
  const create = () =>
    putObject(requests, key, bytes, { "if-none-match": "*" }, options);
  // A conflict is the repetition of a request whose answer was lost.
  await isRefused(create());
  try {
    return {
      put: await isRefused(create()) && await isRefused(
        putObject(requests, key, bytes, { "if-match": OTHER }, options),
      ),
      delete: await isRefused(
        deleteObject(requests, key, { "if-match": OTHER }, options),
      ) && (await tagOf(requests, key, options)).etag !== undefined,
    };
  } finally {
    await deleteObject(requests, key, {}, {});
  }
}

/** Returns the header for the only object of a chunk, which must be the same as when it was read. */
export function conditionOf(
  base: ObjectTag | undefined,
): Record<string, string> {
  if (base === undefined) return {};
  return base.etag === undefined
    ? { "if-none-match": "*" }
    : { "if-match": base.etag };
}
