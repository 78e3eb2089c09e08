import {
  BOOLEAN,
  checkOptions,
  type OptionRules,
  TEXT,
} from "../../errors/mod.ts";
import { loadOnce } from "../../runtime/mod.ts";
import {
  HTTP_OPTIONS,
  HttpClient,
  type HttpStoreOptions,
} from "../http/http_client.ts";
import { xmlText } from "../http/http_failures.ts";
import type { StoreKey } from "../store.ts";

/**
 * The credentials of a user of a bucket.
 *
 * @example
 * ```ts
 * import type { S3Credentials } from "@zarr-parts/zarr-parts/s3";
 *
 * const credentials: S3Credentials = { accessKeyId: "AKIA…", secretAccessKey: "…" };
 * ```
 */
export interface S3Credentials {
  /** The name of the access key. */
  accessKeyId: string;
  /** The secret of the access key. */
  secretAccessKey: string;
  /** The token of temporary credentials. */
  sessionToken?: string;
}

/**
 * How {@linkcode S3Store} reaches a bucket.
 *
 * @example
 * ```ts
 * import { S3Store, type S3StoreOptions } from "@zarr-parts/zarr-parts/s3";
 *
 * const options: S3StoreOptions = { region: "eu-central-1" };
 * new S3Store("s3://sentinel-cogs/sentinel-s2-l2a-cogs", options); // a public bucket
 * ```
 */
export interface S3StoreOptions extends HttpStoreOptions {
  /**
   * The credentials that requests are signed with, or a function that is called for each
   * request, for credentials that expire. Requests are not signed by default, as public
   * buckets need it.
   */
  credentials?:
    | S3Credentials
    | (() => S3Credentials | Promise<S3Credentials>);
  /** The region of the bucket. Defaults to `us-east-1`. */
  region?: string;
  /** The URL of another S3 service than that of AWS, such as `http://127.0.0.1:9000`. */
  endpoint?: string | URL;
  /**
   * Whether the bucket is in the path of URLs, and not in the name of the host. By
   * default it is if `endpoint` is given, or if the name of the bucket has a dot.
   */
  pathStyle?: boolean;
  /**
   * The length in bytes, from 5 MiB on, of the pieces in which long values are stored:
   * streams of at least one piece, and bytes of more than eight. It doubles with each
   * 1,000 pieces. Defaults to 8 MiB.
   */
  pieceSize?: number;
}

/** The smallest piece of an upload in bytes. */
const SMALLEST_PIECE = 5 * 2 ** 20;

const OPTIONS: OptionRules<S3StoreOptions> = {
  ...HTTP_OPTIONS,
  credentials: {
    expected: "credentials, or a function that returns them",
    isValid: (value) => typeof value === "function" || Object(value) === value,
  },
  region: TEXT,
  endpoint: {
    expected: "the URL of a service",
    isValid: (value) => typeof value === "string" || value instanceof URL,
  },
  pathStyle: BOOLEAN,
  pieceSize: {
    expected: `a whole number of bytes from ${SMALLEST_PIECE}`,
    isValid: (value) =>
      Number.isSafeInteger(value) && value as number >= SMALLEST_PIECE,
    outOfRange: "all",
  },
};

/** A bucket, or the objects below a prefix of its keys. */
export interface Bucket {
  /** Requests for values. */
  readonly objects: HttpClient;
  /** Requests for the whole bucket, under the key `name`. */
  readonly service: HttpClient;
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
  checkOptions(options, OPTIONS, "S3Store");
  const {
    region = "us-east-1",
    endpoint,
    pathStyle: isPathStyle,
    pieceSize = 8 * 2 ** 20,
    credentials: _,
    ...httpOptions
  } = options;
  const [, bucket, rest] = match as unknown as [string, string, string];
  const path = url instanceof URL ? decodeURIComponent(rest) : rest;
  const prefix = path.split("/").filter((name) => name !== "")
    .map((name) => `${name}/`).join("");
  const service = String(endpoint ?? `https://s3.${region}.amazonaws.com`)
    .replace(/\/$/, "");
  const pathStyle = isPathStyle ??
    (endpoint !== undefined || bucket.includes("."));
  const root = pathStyle
    ? `${service}/${bucket}`
    : service.replace("://", `://${bucket}.`);
  const send = signedFetch(options, region);
  const sendForValue = async (request: Request) =>
    await withoutAbsentBucket(request, await send(request));
  return {
    objects: new HttpClient(`${root}/${encodePath(prefix)}`, {
      ...httpOptions,
      fetch: sendForValue,
    }),
    service: new HttpClient(service, { ...httpOptions, fetch: send }),
    name: `/${bucket}`,
    prefix,
    pieceSize,
    url: `s3://${bucket}/${prefix}`.replace(/\/$/, ""),
  };
}

/** Encodes all characters but those that no service encodes. */
function encodePath(path: string): string {
  return path.split("/").map(encodeText).join("/");
}

/** Encodes a text for a path or a query string, as signatures need it (RFC 3986). */
export function encodeText(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

// Loaded for requests that are signed: those to public buckets are not.
const loadSigner = /* @__PURE__ */ loadOnce(() => import("aws4fetch"));

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
 * Returns a response, with status 400 in place of 404 if it says that the bucket does not
 * exist: with 404, all values of the bucket would count as absent.
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
  return xmlText(text, "Code") === "NoSuchBucket"
    ? new Response(text, { status: 400, statusText: "No Bucket", headers })
    : response;
}
