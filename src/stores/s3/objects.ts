import type { Requests } from "../http/exchange.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { ConflictError } from "./conflict_error.ts";
import { etagIn, GENERATION } from "./multipart.ts";

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
  headers: Record<string, string>,
  options: StoreOptions,
): Promise<string | null> {
  const isConditional = Object.keys(headers).length > 0;
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
  headers: Record<string, string>,
  options: StoreOptions,
): Promise<void> {
  const answer = await requests.send(key, options, [200, 204, ...CONFLICT], {
    method: "DELETE",
    headers,
  });
  await answer?.cancel();
  if (answer && CONFLICT.includes(answer.status)) throw new ConflictError(key);
}

/** The text that tells an object apart from others under the same key. */
export interface ObjectTag {
  /** The write that it belongs to, or else its ETag; `-` if there is no object. */
  readonly tag: string;
  /** The ETag; `undefined` if there is no object. */
  readonly etag: string | undefined;
}

/** Asks for the tag of an object. */
export async function tagOf(
  requests: Requests,
  key: StoreKey,
  options: StoreOptions,
): Promise<ObjectTag> {
  const answer = await requests.send(key, options, [200], { method: "HEAD" });
  if (answer === undefined) return { tag: "-", etag: undefined };
  await answer.cancel();
  const etag = etagIn(answer, key);
  return { tag: answer.headers.get(GENERATION) ?? etag, etag };
}
