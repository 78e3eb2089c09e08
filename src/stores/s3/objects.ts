import { UnfinishedWriteError } from "../../errors/mod.ts";
import type {
  HttpClient,
  HttpResponse,
  Observer,
  RequestOptions,
} from "../http/http_client.ts";
import { StatusError, xmlText } from "../http/http_failures.ts";
import { GENERATION_HEADER } from "../http/http_snapshot.ts";
import type { StoreKey, StoreOptions } from "../store.ts";
import { temporaryPath } from "../store_key.ts";
import { type Bucket, encodeText } from "./bucket.ts";

/** Thrown if an object is not the one that a condition names. Nothing has changed: the operation may be repeated. */
export class ConflictError extends UnfinishedWriteError {}

/** The answer to a request, whose body has been read. */
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly xml: string;
  /** The code of the error that the body tells, if it does. */
  readonly code: string | undefined;
}

/** The codes of errors that may pass, with the statuses that other answers with these errors have. */
const TEMPORARY: Readonly<Record<string, number>> = {
  InternalError: 500,
  OperationAborted: 503,
  RequestTimeout: 503,
  ServiceUnavailable: 503,
  SlowDown: 503,
};

/**
 * Sends a request and reads its answer. Sends the request again if the connection is lost
 * in the body, or if the body is an error that may pass: buckets send status 200 before
 * they have done the work.
 *
 * @param statuses The expected statuses, beside 404 for requests without a body.
 */
export async function ask(
  requests: HttpClient,
  key: StoreKey,
  statuses: readonly number[],
  init: RequestOptions,
  options: StoreOptions = {},
): Promise<Answer> {
  const read = async (response: HttpResponse): Promise<Answer> => {
    const xml = new TextDecoder().decode(await response.bytesUpTo(Infinity));
    const { status, headers } = response;
    const code = /<Error\b/.test(xml)
      ? xmlText(xml, "Code") ?? "an error without a code"
      : undefined;
    if (status !== 200 || code === undefined || !(code in TEMPORARY)) {
      return { status, headers, xml, code };
    }
    throw new StatusError(
      `Cannot ${init.method ?? "GET"} ${
        JSON.stringify(key)
      }: the bucket answered ${code} after status 200: ${
        xmlText(xml, "Message") ?? "no message"
      }`,
      response,
      TEMPORARY[code],
    );
  };
  return await requests.send(key, options, statuses, init, read) ??
    { status: 404, headers: new Headers(), xml: "", code: undefined };
}

/** A condition of a request, or other headers. */
export type ExtraHeaders = Readonly<Record<string, string>>;

/** The statuses of a request that conflicts with another one at the same time (409), or whose condition does not hold (412). */
const CONFLICT: readonly number[] = [409, 412];

/**
 * Stores an object in one request, if the conditions in `headers` hold.
 *
 * @returns Its ETag, if the service tells it.
 * @throws {ConflictError} If a condition does not hold.
 */
export async function putObject(
  requests: HttpClient,
  key: StoreKey,
  bytes: Uint8Array,
  headers: ExtraHeaders,
  options: StoreOptions = {},
): Promise<string | null> {
  // Without If-Match, status 404 says that the bucket does not exist.
  const conflict = "if-match" in headers
    ? [404, ...CONFLICT]
    : "if-none-match" in headers
    ? CONFLICT
    : [];
  const answer = await ask(requests, key, [200, ...conflict], {
    method: "PUT",
    body: bytes as Uint8Array<ArrayBuffer>,
    headers,
  }, options);
  if (answer.status !== 200) throw new ConflictError(key);
  return answer.headers.get("etag");
}

/**
 * Removes an object, if the conditions in `headers` hold.
 *
 * @throws {ConflictError} If a condition does not hold.
 */
export async function deleteObject(
  requests: HttpClient,
  key: StoreKey,
  headers: ExtraHeaders = {},
  options: StoreOptions = {},
): Promise<void> {
  const { status } = await ask(requests, key, [200, 204, ...CONFLICT], {
    method: "DELETE",
    headers,
  }, options);
  if (CONFLICT.includes(status)) throw new ConflictError(key);
}

/** The header that tells the write of an object that is no part of a chunk of several objects. */
const WRITE_HEADER = "x-amz-meta-zarr-parts-write";
/** The header that names the earlier writes of an object that was made by changes, the latest first. */
const EARLIER_HEADER = "x-amz-meta-zarr-parts-earlier";
/** The most writes that `EARLIER_HEADER` names: all metadata of an object have at most 2 KiB. */
const MOST_EARLIER = 24;

/** What tells an object apart from others under the same key. */
export interface ObjectTag {
  /** The write that it belongs to, or else its ETag; `-` if there is no object. */
  readonly tag: string;
  /** The ETag; `undefined` if there is no object. */
  readonly etag?: string;
  /** The write, if the object is one of several. */
  readonly generation?: string | undefined;
  /** The tags of the objects that it was made of by changes, the latest first. */
  readonly earlier: readonly string[];
}

/** The tag of an object that is not stored. */
export const ABSENT: ObjectTag = { tag: "-", earlier: [] };

/** Asks for the tag of an object. */
export async function tagOf(
  requests: HttpClient,
  key: StoreKey,
  options: StoreOptions = {},
): Promise<ObjectTag> {
  const init = { method: "HEAD" } as const;
  const { status, headers } = await ask(requests, key, [200], init, options);
  return status === 200 ? tagIn(headers, key) : ABSENT;
}

function tagIn(headers: Headers, key: StoreKey): ObjectTag {
  const etag = etagIn(headers, key);
  const generation = headers.get(GENERATION_HEADER) ?? undefined;
  const earlier = headers.get(EARLIER_HEADER)?.split(" ") ?? [];
  return {
    tag: generation ?? headers.get(WRITE_HEADER) ?? etag,
    etag,
    generation,
    earlier: earlier.filter((tag) => tag !== ""),
  };
}

/** Returns the ETag of an answer, which conditions need. */
export function etagIn(headers: Headers, key: StoreKey): string {
  const etag = headers.get("etag");
  if (etag !== null) return etag;
  throw new Error(
    `Expected the bucket to answer for ${
      JSON.stringify(key)
    } with an ETag, found none; across origins it must be exposed`,
  );
}

/** Notes the tags of the objects in the answers to requests that read. */
export class TagNotes {
  /** The tags of the objects that were read. */
  tags = new Map<StoreKey, ObjectTag>();

  readonly observe: Observer = (key, response) =>
    void this.tags.set(key, response ? tagIn(response.headers, key) : ABSENT);
}

/**
 * The headers of the objects of a write.
 *
 * @param write The identifier of the write.
 * @param isOfSeveral Whether the write has several objects.
 * @param changed The object that the write has changed, if it was read before.
 */
export function metadataOf(
  write: string,
  isOfSeveral: boolean,
  changed?: ObjectTag,
): ExtraHeaders {
  const earlier = changed
    ? [changed.tag, ...changed.earlier].slice(0, MOST_EARLIER)
    : [];
  return {
    [isOfSeveral ? GENERATION_HEADER : WRITE_HEADER]: write,
    // Other tags than identifiers of writes are ETags and `-`, which hold no spaces.
    ...earlier.length > 0 && { [EARLIER_HEADER]: earlier.join(" ") },
  };
}

/** Whether an object is of a write, or of later ones that have changed it. */
export function comesFrom({ tag, earlier }: ObjectTag, write: string): boolean {
  return tag === write || earlier.includes(write);
}

/** Returns the condition that an object is the same as when it was read; none if it was not read. */
export function conditionOf(read: ObjectTag | undefined): ExtraHeaders {
  if (read === undefined) return {};
  return read.etag === undefined
    ? { "if-none-match": "*" }
    : { "if-match": read.etag };
}

/** The conditions that a service heeds. */
export interface Conditions {
  /** Whether `PUT` heeds `If-None-Match: *` and `If-Match`. */
  readonly put: boolean;
  /** Whether `DELETE` heeds `If-Match`. */
  readonly delete: boolean;
}

/** The condition that an object has an entity tag that no object has. */
const OTHER = { "if-match": '"00000000000000000000000000000000"' };
const NEW = { "if-none-match": "*" };

/** Finds out which conditions a service heeds, by an object that is removed again. */
export async function probeConditions(
  requests: HttpClient,
  options: StoreOptions = {},
): Promise<Conditions> {
  const key = temporaryPath("") as StoreKey;
  const isRefused = (request: Promise<unknown>) =>
    request.then(() => false, (error) => {
      if (error instanceof ConflictError) return true;
      throw error;
    });
  const put = (condition: ExtraHeaders) =>
    isRefused(
      putObject(requests, key, new Uint8Array([1]), condition, options),
    );
  // A conflict means that the request was repeated, since its first response was lost.
  await put(NEW);
  try {
    return {
      put: await put(NEW) && await put(OTHER),
      delete: await isRefused(deleteObject(requests, key, OTHER, options)) &&
        await tagOf(requests, key, options) !== ABSENT,
    };
  } finally {
    await deleteObject(requests, key);
  }
}

/** An object as a listing shows it. */
export interface ListedObject {
  readonly key: StoreKey;
  /** Its length in bytes. */
  readonly size: number;
  /** When it was stored, in milliseconds since 1970; `NaN` if the service does not tell. */
  readonly modified: number;
}

/** The longest part of an answer that an error quotes, in characters. */
const LONGEST_QUOTE = 200;

/** Lists the objects of a bucket whose keys begin with `prefix`, journals included. */
export async function* listObjects(
  { service, name, prefix: root }: Bucket,
  prefix: string,
  options: StoreOptions,
): AsyncGenerator<ListedObject> {
  const bucket = JSON.stringify(name.slice(1));
  let token: string | undefined;
  do {
    const search = "?" + Object.entries({
      ...token !== undefined && { "continuation-token": token },
      "encoding-type": "url",
      "list-type": "2",
      prefix: root + prefix.slice(1),
    }).map(([name, value]) => `${name}=${encodeText(value)}`).join("&");
    const { status, xml } = await ask(
      service,
      name,
      [200],
      { search },
      options,
    );
    if (status === 404) {
      throw new Error(`Cannot list bucket ${bucket}: it does not exist`);
    }
    token = xmlText(xml, "IsTruncated") === "true"
      ? xmlText(xml, "NextContinuationToken") ?? ""
      : undefined;
    if (token === "" || !/<ListBucketResult\b/.test(xml)) {
      throw new Error(
        `Cannot list bucket ${bucket}: expected ListBucketResult with all keys or with a NextContinuationToken, found ${
          JSON.stringify(xml.slice(0, LONGEST_QUOTE))
        }`,
      );
    }
    const isEncoded = xmlText(xml, "EncodingType") === "url";
    for (const contents of xml.split(/<Contents\b/).slice(1)) {
      const text = xmlText(contents, "Key");
      if (text === undefined) continue;
      const key = isEncoded
        ? decodeURIComponent(text.replaceAll("+", "%20"))
        : text;
      yield {
        key: `/${key.slice(root.length)}`,
        size: Number(xmlText(contents, "Size") ?? 0),
        modified: Date.parse(xmlText(contents, "LastModified") ?? ""),
      };
    }
  } while (token !== undefined);
}
