import type { Answer, Requests } from "../http/exchange.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { textOf } from "./xml.ts";
import { encodeText } from "./bucket.ts";
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

/** The header that tells the write that a value belongs to. */
export const GENERATION = "x-amz-meta-zarr-parts-generation";

/** Begins an upload. */
export async function createUpload(
  requests: Requests,
  key: StoreKey,
  generation: string,
  options: StoreOptions,
): Promise<string> {
  const answer = await requests.send(key, options, [200], {
    method: "POST",
    search: "?uploads=",
    headers: { [GENERATION]: generation },
  });
  const id = answer && textOf(await textIn(answer), "UploadId");
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
 * Completes an upload.
 *
 * @returns Whether there was one: it may have been completed or given up already.
 */
export async function completeUpload(
  requests: Requests,
  { key, id, pieces }: PreparedUpload,
  options: StoreOptions,
  headers: Record<string, string> = {},
): Promise<boolean> {
  const parts = pieces.map(({ number, etag }) =>
    `<Part><PartNumber>${number}</PartNumber><ETag>${
      etag.replaceAll("&", "&amp;").replaceAll('"', "&quot;")
    }</ETag></Part>`
  ).join("");
  const answer = await requests.send(key, options, [200, 404, 409, 412], {
    method: "POST",
    search: `?uploadId=${encodeText(id)}`,
    headers: { ...headers, "content-type": "application/xml" },
    body:
      `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts}</CompleteMultipartUpload>`,
  });
  const { status } = answer!;
  const xml = await textIn(answer!);
  // The status is sent before the work is done.
  const code = /<Error\b/.test(xml) ? textOf(xml, "Code") : undefined;
  if (code === "NoSuchUpload") return false;
  if (status === 409 || status === 412) throw new ConflictError(key);
  if (status === 200 && code === undefined) return true;
  throw new Error(
    `Cannot complete the upload of ${
      JSON.stringify(key)
    }: the bucket answered ${code ?? `status ${status}`}: ${
      textOf(xml, "Message") ?? "no message"
    }`,
  );
}

/** Gives up an upload. No error if there is none. */
export async function abortUpload(
  requests: Requests,
  key: StoreKey,
  id: string,
  options: StoreOptions = {},
): Promise<void> {
  const answer = await requests.send(key, options, [200, 204], {
    method: "DELETE",
    search: `?uploadId=${encodeText(id)}`,
  });
  await answer?.cancel();
}

async function textIn(answer: Answer): Promise<string> {
  return new TextDecoder().decode(await answer.bytesUpTo(Infinity));
}
