import { dirname, isAbsolute, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
  FileSystemStore,
  type FileSystemStoreOptions,
  isAbsence,
  type Store,
} from "../stores/mod.ts";
import { type Io, type Requests, UsageError, usageError } from "./command.ts";
import { quoted } from "./format.ts";

/**
 * Opens the store of a path or a URL.
 *
 * @param options The options of a store of files.
 */
export async function openStore(
  place: string,
  { requests }: Io,
  options: FileSystemStoreOptions = {},
): Promise<Store> {
  const path = pathOf(place);
  try {
    if (path !== undefined) return new FileSystemStore(path, options);
    if (/^s3:/i.test(place)) return await openBucketStore(place, requests);
    if (/^https?:/i.test(place)) {
      const { HttpStore } = await import("../stores/http/http_store.ts");
      return new HttpStore(place, requests);
    }
  } catch (error) {
    // Stores throw these for URLs that they cannot use.
    const isUrl = error instanceof TypeError || error instanceof RangeError;
    throw isUrl ? new UsageError(error.message) : error;
  }
  const scheme = place.replace(/:.*/s, "").toLowerCase();
  const { message } =
    usageError`Cannot open ${place}: expected a path, or a URL with http:, https:, s3: or file:`;
  throw new UsageError(message + (OTHER_CLOUDS[scheme] ?? ""));
}

const GOOGLE =
  "; https://storage.googleapis.com/BUCKET/… reads public data, and s3://BUCKET/… with AWS_ENDPOINT_URL=https://storage.googleapis.com and an HMAC key reads and writes";
const AZURE =
  "; https://ACCOUNT.blob.core.windows.net/CONTAINER/… with a shared access signature reads";

/** How the buckets of other clouds are reached, by the schemes of their URLs. */
const OTHER_CLOUDS: Readonly<Record<string, string>> = {
  gs: GOOGLE,
  gcs: GOOGLE,
  az: AZURE,
  abfs: AZURE,
};

/** Matches the path of the document of a node, which users type where they mean the folder of the node. */
const DOCUMENT = /[\/\\](?:zarr\.json|\.zarray|\.zgroup|\.zattrs|\.zmetadata)$/;

/** Refuses a file, and a folder that does not exist. URLs of servers are not looked up here. */
export async function assertFolder(place: string): Promise<void> {
  const path = pathOf(place);
  if (path === undefined) return;
  const info = await stateOf(path);
  if (info?.isDirectory) return;
  if (info !== undefined) throw fileForFolder(place);
  const link = await danglingLink(path);
  if (link !== undefined) throw new Error(`There is no folder at ${link}`);
  const from = isAbsolute(path) ? "" : ` in ${Deno.cwd()}`;
  throw new Error(`There is no folder ${quoted(place)}${from}`);
}

/** Refuses places that cannot become a folder. */
export async function assertTarget(place: string): Promise<void> {
  assertNoDocument(place);
  const path = pathOf(place);
  if (path === undefined) return;
  let above = resolve(path);
  while (await stateOf(above) === undefined && dirname(above) !== above) {
    const link = await danglingLink(above);
    if (link !== undefined) {
      throw new UsageError(
        `Cannot create the folder ${quoted(place)}: remove ${link}`,
      );
    }
    above = dirname(above);
  }
  if ((await stateOf(above))?.isDirectory !== false) return;
  if (above === resolve(path)) throw fileForFolder(place);
  throw usageError`Cannot create the folder ${place}, since ${above} is a file`;
}

/** Describes a symbolic link that leads to nothing; `undefined` for anything else. */
async function danglingLink(path: string): Promise<string | undefined> {
  try {
    const to = await Deno.readLink(path);
    const names = `${quoted(path)}, a symbolic link to ${quoted(to)}`;
    return `${names}, which does not exist`;
  } catch {
    return undefined;
  }
}

/** Refuses the document of a node, where the node is expected. */
export function assertNoDocument(place: string): void {
  const [path] = /^(?:https?|s3):/i.test(place) ? place.split(/[?#]/) : [place];
  if (!DOCUMENT.test(path!)) return;
  const node = path!.replace(DOCUMENT, "") || "/";
  const found = quoted(place);
  throw new UsageError(
    `Expected the path or the URL of an array or a group, found that of its document, ${found}; did you mean ${node}?`,
  );
}

function fileForFolder(place: string): UsageError {
  return usageError`Expected a folder, found a file: ${place}`;
}

const URL_START = /^(?:(?:https?|s3|file):|[a-z][a-z\d+.-]+:\/\/)/i;

/** The path of a place on this machine; `undefined` for a URL of a server. */
export function pathOf(place: string): string | undefined {
  if (!URL_START.test(place)) return place;
  if (!/^file:/i.test(place)) return undefined;
  if (/^file:\/(?:\/\/|[^/])/i.test(place)) return fileURLToPath(place);
  throw usageError`Expected a path, or a URL that starts with file:///, found ${place}`;
}

/** The state of a file or a folder; `undefined` if there is none. */
export async function stateOf(
  path: string | URL,
): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (isAbsence(error)) return undefined;
    throw error;
  }
}

/** Refuses a URL where a command takes only paths: as a path, the URL would name a folder such as `s3:`. */
export function assertPath(place: string): void {
  if (!URL_START.test(place)) return;
  throw usageError`Cannot use ${place} here: expected a path, found a URL`;
}

/** Opens a bucket with the variables that the tools of AWS read. */
async function openBucketStore(
  url: string,
  requests: Requests,
): Promise<Store> {
  const [accessKeyId, secretAccessKey, sessionToken, region, endpoint] = [
    ["AWS_ACCESS_KEY_ID"],
    ["AWS_SECRET_ACCESS_KEY"],
    ["AWS_SESSION_TOKEN"],
    ["AWS_REGION", "AWS_DEFAULT_REGION"],
    ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"],
  ].map((names) => names.map((name) => Deno.env.get(name)).find(Boolean));
  if (!accessKeyId !== !secretAccessKey) {
    throw new UsageError(
      "Expected both of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, found one",
    );
  }
  if (endpoint && !/^https?:\/\/[^/]/i.test(endpoint)) {
    throw usageError`Expected the endpoint of AWS_ENDPOINT_URL to be an http: or https: URL, found ${endpoint}`;
  }
  const { S3Store } = await import("../stores/s3/s3_store.ts");
  return new S3Store(url, {
    ...requests,
    ...accessKeyId && secretAccessKey
      ? {
        credentials: {
          accessKeyId,
          secretAccessKey,
          ...sessionToken && { sessionToken },
        },
      }
      : { fetch: (request) => fetchUnsigned(request, requests) },
    ...region && { region },
    ...endpoint && { endpoint },
  });
}

/** Sends a request that is not signed. If the answer refuses the request, the status text names the missing keys. */
async function fetchUnsigned(
  request: Request,
  { fetch }: Requests,
): Promise<Response> {
  const response = await fetch(request);
  if (response.status !== 403) return response;
  return new Response(response.body, {
    status: response.status,
    statusText:
      "Forbidden; requests are not signed without AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    headers: response.headers,
  });
}
