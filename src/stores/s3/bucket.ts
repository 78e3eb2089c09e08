import { HttpRequests } from "../http/requests.ts";
import { loadOnce } from "../load_once.ts";
import type { StoreKey } from "../store.ts";
import type { S3StoreOptions } from "./options.ts";

// Public buckets do without this module.
const loadSigner = /* @__PURE__ */ loadOnce(() => import("aws4fetch"));

/** The smallest piece of an upload in bytes. */
const SMALLEST_PIECE = 5 * 2 ** 20;

/** A bucket, or the objects below a prefix of its keys. */
export interface Bucket {
  /** Requests for values. */
  readonly objects: HttpRequests;
  /** Requests for the whole bucket, under the key `name`. */
  readonly service: HttpRequests;
  /** The name of the bucket, as a key. */
  readonly name: StoreKey;
  /** The prefix of all keys in the bucket: empty, or names that end with `/`. */
  readonly prefix: string;
  readonly pieceSize: number;
  /** The bucket and the prefix as a URL. */
  readonly url: string;
}

/** Opens a bucket by a URL such as `s3://bucket/prefix`. Sends no request. */
export function openBucket(
  url: string | URL,
  options: S3StoreOptions,
): Bucket {
  const match = /^s3:\/\/([^/?#]+)((?:\/[^?#]*)?)$/i.exec(String(url));
  if (!match) {
    throw new TypeError(
      `Expected the URL of a bucket, such as "s3://bucket/prefix", found ${
        JSON.stringify(String(url))
      }`,
    );
  }
  const { pieceSize = 8 * 2 ** 20 } = options;
  if (!(Number.isSafeInteger(pieceSize) && pieceSize >= SMALLEST_PIECE)) {
    throw new RangeError(
      `Expected a piece size from ${SMALLEST_PIECE} bytes on, found ${pieceSize}`,
    );
  }
  const [, bucket, rest] = match as unknown as [string, string, string];
  const path = url instanceof URL ? decodeURIComponent(rest) : rest;
  const prefix = path.split("/").filter((name) => name !== "")
    .map((name) => `${name}/`).join("");
  const { region = "us-east-1", endpoint } = options;
  const service = String(endpoint ?? `https://s3.${region}.amazonaws.com`)
    .replace(/\/$/, "");
  const pathStyle = options.pathStyle ??
    (endpoint !== undefined || bucket.includes("."));
  const root = pathStyle
    ? `${service}/${bucket}`
    : service.replace("://", `://${bucket}.`);
  const send = signedFetch(options, region);
  const sendForValue = async (request: Request) =>
    await withoutAbsentBucket(request, await send(request));
  return {
    objects: new HttpRequests(`${root}/${encodePath(prefix)}`, {
      ...options,
      fetch: sendForValue,
    }),
    service: new HttpRequests(service, { ...options, fetch: send }),
    name: `/${bucket}`,
    prefix,
    pieceSize,
    url: `s3://${bucket}/${prefix}`.replace(/\/$/, ""),
  };
}

/** Encodes all characters but those that no service encodes. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeText).join("/");
}

/** Encodes a text for a path or a query string, as signatures need it (RFC 3986). */
export function encodeText(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Returns a function that signs requests and sends them. */
function signedFetch(
  { credentials, fetch: send = (request) => fetch(request) }: S3StoreOptions,
  region: string,
): (request: Request) => Promise<Response> {
  if (credentials === undefined) return send;
  const cache = new Map<string, ArrayBuffer>();
  return async (request) => {
    const { accessKeyId, secretAccessKey, sessionToken } =
      typeof credentials === "function" ? await credentials() : credentials;
    const { AwsV4Signer } = await loadSigner();
    const { method, url, headers } = request;
    const { headers: signed } = await new AwsV4Signer({
      method,
      url,
      headers,
      accessKeyId,
      secretAccessKey,
      ...sessionToken !== undefined && { sessionToken },
      service: "s3",
      region,
      cache,
    }).sign();
    return await send(new Request(request, { headers: signed }));
  };
}

/** The longest answer about a bucket that does not exist, in bytes. */
const LONGEST_ANSWER = 4096;

/**
 * Returns an answer, but another status than 404 if it says that the bucket does not exist:
 * with 404, all values of the bucket would count as absent.
 */
async function withoutAbsentBucket(
  { method }: Request,
  response: Response,
): Promise<Response> {
  const { status, headers } = response;
  const isShortXml = /\bxml\b/.test(headers.get("content-type") ?? "") &&
    Number(headers.get("content-length") ?? 0) <= LONGEST_ANSWER;
  if (status !== 404 || method !== "GET" || !isShortXml) return response;
  const text = await response.clone().text();
  return text.includes("<Code>NoSuchBucket</Code>")
    ? new Response(text, { status: 400, statusText: "No Bucket", headers })
    : response;
}
