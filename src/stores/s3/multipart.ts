import { pause } from "../pause.ts";
import type { Answer, Requests } from "../http/exchange.ts";
import { readWhole } from "../http/read_whole.ts";
import { StatusError } from "../http/request_errors.ts";
import type { RequestOptions } from "../http/exchange.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { textOf } from "./xml.ts";
import { type Bucket, encodePath, encodeText } from "./bucket.ts";
import { ConflictError } from "./conflict_error.ts";

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
