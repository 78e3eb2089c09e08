import type { Answer, Requests } from "../http/exchange.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { ConflictError } from "./conflict_error.ts";
import { etagIn, GENERATION, type Metadata } from "./multipart.ts";

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
