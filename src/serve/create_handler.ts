import {
  DamageError,
  MetadataError,
  UnfinishedWriteError,
} from "../errors/mod.ts";
import {
  assertStore,
  FolderKeyError,
  isMetadataKey,
  resolveByteRange,
  type Store,
  type StoreKey,
} from "../stores/mod.ts";
import { Deadline, DeadlineError } from "./deadline.ts";
import { type HandlerOptions, parseOptions } from "./handler_options.ts";
import {
  allowsRange,
  failedCondition,
  keyOfPath,
  NOT_FOUND,
  parseRangeHeader,
  pathBelow,
} from "./request.ts";
import { openValue, type Value } from "./served_value.ts";
import { type NeededBytes, ShownStore } from "./shown_store.ts";

/**
 * Creates a function that answers HTTP requests for the values of a store, so that any
 * Zarr client reads its arrays: by default as plain Zarr, whatever chunk key encoding
 * and parts they have. It runs in Deno without permissions of its own, in Node 20 and in
 * edge functions.
 *
 * The path of a request is a key of the store, percent-encoded. `GET` and `HEAD` follow
 * RFC 9110: a single `Range` (several are answered by the whole value), `If-Range`,
 * `If-Match`, `If-None-Match`, `If-Modified-Since` and `If-Unmodified-Since`, with a
 * strong `ETag` that is made from the versions of a chunk's parts, and `Last-Modified`
 * where the store knows it. `OPTIONS` answers the preflights of browsers. Values that
 * were written to files or to a web server a moment ago have no `ETag` yet.
 *
 * A path that ends with `/` is that of a folder, whose nodes are listed in JSON. The document
 * of a group at the root has consolidated metadata in the forms `"plain"` and
 * `"inner chunks"`, so that clients find its nodes, if the store can list up to 100,000 keys
 * and 1,000 nodes.
 *
 * A body of more than 4 MiB is read piece by piece, as fast as the client takes it, and
 * a client that leaves ends the reading. Once the version of a chunk is known, a range of
 * the chunk takes one request to the store for each part that it lies in. The first
 * request for a chunk also looks up all other parts.
 *
 * | status | when |
 * | --- | --- |
 * | 200, 206, 304 | the value, a range of it, or that it has not changed |
 * | 400 | the path is the key of no value, for any store |
 * | 404 | there is no such value |
 * | 405 | the method is not allowed; `Allow` lists those that are |
 * | 412, 416 | a condition does not hold, or the range starts after the value's end |
 * | 502 | the value is damaged or lacks a part, or the store failed or took too long |
 *
 * A failure in the middle of a body ends the connection, so that nobody takes the bytes
 * for all.
 *
 * @param store Any store. One that has versions gives entity tags:
 * `FileSystemStore`, `MemoryStore`, `HttpStore` or `S3Store`. Of any other store, and
 * of inner chunks, values of up to 4 MiB have the digest of their bytes as entity tag.
 * @param options How arrays are shown.
 * @returns The handler. It never rejects.
 * @throws {TypeError} If `store` is not a store, or if an option has a wrong type.
 * @throws {RangeError} If an option is out of range.
 *
 * @example Every Zarr client reads arrays in parts
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { createHandler } from "@zarr-parts/zarr-parts/serve";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const metadata = arrayMetadata({
 *   shape: [4],
 *   dataType: "uint8",
 *   chunkShape: [4],
 *   codecs: ["crc32c"],
 *   suffix: ".bin",
 *   parts: ["", ".crc32c"],
 * });
 * const chunks = await createArrayChunks(store, "dem", metadata);
 * await chunks.set([0], new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]));
 *
 * const handler = createHandler(store); // Deno.serve(handler)
 * const response = await handler(
 *   new Request("http://localhost/dem/c/0", { headers: { range: "bytes=-6" } }),
 * );
 * assertEquals(response.status, 206);
 * assertEquals(response.headers.get("content-range"), "bytes 2-7/8");
 * assertEquals(await response.bytes(), new Uint8Array([3, 4, 5, 6, 7, 8]));
 * const document = await handler(new Request("http://localhost/dem/zarr.json"));
 * assertEquals((await document.json()).chunk_key_encoding.name, "default");
 * ```
 */
export function createHandler(
  store: Store,
  options: HandlerOptions = {},
): (request: Request) => Promise<Response> {
  assertStore(store);
  const parsed = parseOptions(options);
  const { cacheControl, mount, onError, timeout } = parsed;
  const shown = new ShownStore(store, parsed);

  /** The key that a request asks for, for a message. */
  function keyOf({ url }: Request): string {
    const found = keyOfPath(pathBelow(mount, url) ?? "");
    return "key" in found ? found.key : "the value";
  }

  async function answer(
    request: Request,
    deadline: Deadline,
  ): Promise<Answer> {
    const { method, url } = request;
    if (!METHODS.includes(method)) {
      const body = `Expected one of the methods ${ALLOW}\n`;
      return { status: 405, headers: { allow: ALLOW }, body };
    }
    if (method === "OPTIONS") return PREFLIGHT;
    const path = pathBelow(mount, url);
    if (path === undefined) return NOT_FOUND;
    const isFolder = path.endsWith("/");
    const found = keyOfPath(isFolder ? `${path}zarr.json` : path);
    if ("status" in found) return found;
    const { key } = found;
    const answer = isFolder
      ? await answerFolder(key.replace(/\/[^/]*$/, "") as StoreKey, deadline)
      : await answerRead(shown, key, request, deadline);
    return answer ?? NOT_FOUND;
  }

  /** Lists the nodes in a folder, if there are any. */
  async function answerFolder(
    root: "" | StoreKey,
    deadline: Deadline,
  ): Promise<Answer | undefined> {
    const { paths: nodes, areAll } = await shown.nodes(root, deadline);
    if (nodes.length === 0) return undefined;
    const listing = { folder: `${root}/`, nodes, areAll };
    return {
      status: 200,
      headers: { "content-type": "application/json" },
      body: `${JSON.stringify(listing, null, 2)}\n`,
    };
  }

  return async (request) => {
    const deadline = new Deadline(timeout, request, (error) => {
      onError(error, request);
    });
    const answered = await answer(request, deadline).catch((error): Answer => {
      // A file system can have no value of the key, which names a folder or is too long.
      const isOfNoValue = error instanceof FolderKeyError ||
        error?.code === "ENAMETOOLONG";
      if (isOfNoValue) return NOT_FOUND;
      deadline.fail(error);
      return {
        status: 502,
        body: `${failureMessage(error, keyOf(request))}\n`,
      };
    });
    if (request.body && !request.bodyUsed) {
      await request.body.cancel().catch(() => {});
    }
    const isHead = request.method === "HEAD";
    return toResponse(answered, { isHead, cacheControl });
  };
}

/**
 * Returns the message of a failure for clients: without paths and URLs of the server,
 * which the errors of stores may hold. Keys are named.
 *
 * @param key The key that was asked for.
 */
export function failureMessage(error: unknown, key: string): string {
  if (error instanceof DamageError) {
    const reason = publicReason(error, key);
    return reason === undefined
      ? `The stored data of ${key} is damaged`
      : `The stored data is damaged: ${reason}`;
  }
  if (error instanceof MetadataError) {
    const reason = publicReason(error, key);
    return `The metadata is invalid or not understood${
      reason === undefined ? error.path && ` at ${error.path}` : `: ${reason}`
    }`;
  }
  if (error instanceof UnfinishedWriteError) {
    return "The value is being written, or its writer was killed";
  }
  return error instanceof DeadlineError
    ? "The store behind this server did not answer in time"
    : "The store behind this server failed";
}

/**
 * Returns the message of an error about a value if the message names no place but keys;
 * `undefined` if it names a path, a URL, a store, or what may be one.
 *
 * @param key The key that was asked for.
 */
function publicReason(error: Error, key: string): string | undefined {
  // The message of a MetadataError names the store.
  const text = error instanceof MetadataError ? error.problem : error.message;
  const keys = error instanceof DamageError ? [key, error.key] : [key];
  const rest = keys.filter((key) => key.startsWith("/"))
    .reduce((rest, key) => rest.replaceAll(namesBelow(key), '""'), text);
  return /[\\/][^\s"']|Store\(/.test(rest) ? undefined : text;
}

/** Finds a key between quotes, and the keys of its parts. */
function namesBelow(key: string): RegExp {
  const name = JSON.stringify(key).slice(1, -1);
  return new RegExp(
    `"${
      name.replaceAll(/\W/gu, (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`)
    }[^"]*"`,
    "gu",
  );
}

const METHODS: readonly string[] = ["GET", "HEAD", "OPTIONS"];
const ALLOW = METHODS.join(", ");

/** The status, the headers and the body of an answer. */
interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array | ReadableStream<Uint8Array> | string;
}

/** The number of times that a value is looked up if it changes before its body is opened. */
const TRIES = 5;

/** Answers `GET` and `HEAD`. Returns `undefined` for an absent value. */
async function answerRead(
  shown: ShownStore,
  key: StoreKey,
  { method, headers }: Request,
  deadline: Deadline,
): Promise<Answer | undefined> {
  const isHead = method === "HEAD";
  // Only GET has ranges (RFC 9110, section 14.2).
  const range = isHead ? undefined : parseRangeHeader(headers.get("range"));
  // A condition may make the body unnecessary.
  const mayBeUnmodified = headers.has("if-none-match") ||
    headers.has("if-modified-since");
  const needed: NeededBytes = isHead || mayBeUnmodified
    ? undefined
    : range ?? "all";
  for (let tries = 1; tries <= TRIES; tries++) {
    const value = await shown.find(key, needed, deadline);
    if (value === undefined) return undefined;
    let answer: Answer | undefined;
    try {
      answer = await answerValue(value);
    } finally {
      // A stream releases the value itself.
      if (!(answer?.body instanceof ReadableStream)) value.release();
    }
    if (answer !== undefined) return answer;
    shown.forget(key);
  }
  throw new Error(`The value of ${key} changes all the time`);

  async function answerValue(value: Value): Promise<Answer | undefined> {
    const { size, validators } = value;
    const failed = failedCondition(headers, validators);
    const isRange = range !== undefined && allowsRange(headers, validators);
    const { start, end } = resolveByteRange(
      isRange ? range : { offset: 0, length: size },
      size,
    );
    // The last bytes of an empty value are all of it.
    const isUnsatisfiable = isRange && start === end &&
      !(size === 0 && "suffixLength" in range && range.suffixLength > 0);
    const status = failed ??
      (isUnsatisfiable ? 416 : isRange && size > 0 ? 206 : 200);
    const needsBody = status < 300 && !isHead && start < end;
    // Only a version that was kept may have changed.
    const isCurrent = needsBody || value.latest !== undefined ||
      await value.read({ offset: 0, length: 0 }, deadline) !== undefined;
    if (!isCurrent) return undefined;
    if (status === 304) return { status, headers: validators.headers };
    if (status === 412) {
      return {
        status,
        headers: validators.headers,
        body: "A condition of the request does not hold\n",
      };
    }
    if (status === 416) {
      return {
        status,
        headers: { ...validators.headers, "content-range": `bytes */${size}` },
        body: `Expected a range of ${size} bytes\n`,
      };
    }
    const body = needsBody
      ? await openValue(value, start, end, deadline)
      : undefined;
    if (needsBody && body === undefined) return undefined;
    return {
      status,
      headers: {
        ...validators.headers,
        "accept-ranges": "bytes",
        "content-length": `${end - start}`,
        "content-type": contentTypeOf(key),
        ...status === 206 && {
          "content-range": `bytes ${start}-${end - 1}/${size}`,
        },
      },
      ...body && { body },
    };
  }
}

const TYPES: Readonly<Record<string, string>> = {
  gif: "image/gif",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  json: "application/json",
  md: "text/plain; charset=utf-8",
  ozx: "application/zip",
  png: "image/png",
  tif: "image/tiff",
  tiff: "image/tiff",
  txt: "text/plain; charset=utf-8",
  zip: "application/zip",
};

/** Returns the media type of a value by the end of its key. */
function contentTypeOf(key: StoreKey): string {
  if (isMetadataKey(key)) return "application/json";
  const extension = /\.(\w+)$/.exec(key)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(TYPES, extension)
    ? TYPES[extension]!
    : "application/octet-stream";
}

/** The headers of all answers, which let pages of any origin read them. */
const COMMON = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "Accept-Ranges, Age, Content-Encoding, Content-Length, Content-Range, Date, ETag, Last-Modified",
  "cross-origin-resource-policy": "cross-origin",
  "x-content-type-options": "nosniff",
};

/** Builds a response. Errors may not be cached. */
function toResponse(
  { status, headers, body }: Answer,
  { isHead, cacheControl }: { isHead: boolean; cacheControl: string },
): Response {
  const isText = typeof body === "string";
  return new Response(
    isHead || status === 304 ? null : body as BodyInit | null | undefined,
    {
      status,
      headers: {
        ...COMMON,
        "cache-control": status < 400 ? cacheControl : "no-store",
        ...isText && {
          "content-type": "text/plain; charset=utf-8",
          "content-length": `${new TextEncoder().encode(body).length}`,
        },
        ...headers,
      },
    },
  );
}

/** The answer to `OPTIONS`, which browsers send before requests with certain headers. */
const PREFLIGHT: Answer = {
  status: 204,
  headers: {
    allow: ALLOW,
    "access-control-allow-methods": ALLOW,
    "access-control-allow-headers":
      "Range, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, If-Range",
    "access-control-max-age": "86400",
  },
};
