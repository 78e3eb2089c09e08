import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isMembers, parseZarrJson } from "../metadata/mod.ts";
import {
  backendOf,
  FileSystemStore,
  type FileSystemStoreOptions,
  isAbsence,
  type Store,
  type StoreKey,
} from "../stores/mod.ts";
import { v2View } from "../views/mod.ts";
import type { ZipStore } from "../zip/mod.ts";
import {
  type Arguments,
  type Io,
  type Requests,
  UsageError,
  usageError,
} from "./command.ts";
import { quoted } from "./format.ts";

/** The store of a source. That of a zip archive describes the archive. */
type Source = Store & Partial<Pick<ZipStore, "describe">>;

/**
 * Opens the place of a node to read: a folder, a zip archive, or the URL of either, also
 * with the path of a node in the archive behind it, such as `image.ozx/0`. Refuses places
 * that hold no node: the document of a node, another file, and a folder that does not exist.
 *
 * @param options `follow`: whether reads continue with the new archive if the archive is
 * replaced.
 */
export async function openSource(
  place: string,
  args: Arguments,
  io: Io,
  { follow = false } = {},
): Promise<Source> {
  assertNoDocument(place);
  const archive = await findArchive(place, io);
  if (archive !== undefined) {
    return await openArchive(place, archive, io, follow);
  }
  const followLinks = args.has("follow-links");
  const store = await openStore(place, io, { followLinks });
  await assertFolder(place);
  if (!follow && !args.has("quiet") && await isOfNamedNodes(store, io.signal)) {
    io.hint(
      `${place}: the server lists no files, and the group has no consolidated metadata, so only nodes that attributes of OME-Zarr or GeoZarr name are found`,
    );
  }
  return store;
}

/**
 * Opens a folder or a bucket to write to. Refuses web servers, archives and places that
 * cannot become a folder.
 *
 * @param mustExist Whether a folder that does not exist is refused.
 */
export async function openTarget(
  place: string,
  io: Io,
  mustExist = false,
): Promise<Store> {
  assertNoDocument(place);
  if (/^https?:/i.test(place)) {
    throw usageError`Cannot write to ${place}, a web server`;
  }
  const store = await openStore(place, io);
  if (await findArchive(place, io) !== undefined) {
    throw usageError`Cannot write to ${place}, since zip archives are only read: name a folder, and pack it by zip -0 -r, from within the folder`;
  }
  await (mustExist ? assertFolder(place) : assertTarget(place));
  return store;
}

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

async function openArchive(
  place: string,
  { store, key, path }: ArchivePlace,
  io: Io,
  follow: boolean,
): Promise<Source> {
  const { ZipStore } = await import("../zip/zip_store.ts");
  const zip = new ZipStore(store, key, { path, follow });
  try {
    const { nodes, folder } = await zip.describe({ signal: io.signal });
    if (folder === "" && nodes.length > 1) {
      const example = `${place.replace(/[/\\]$/, "")}/${nodes[0]}`;
      throw new UsageError(
        `Archive ${
          quoted(place)
        } holds ${nodes.length} nodes: add the path of one, such as ${example}`,
      );
    }
    if (folder !== path) {
      io.hint(`${place}: reading ${JSON.stringify(folder)} in the archive`);
    }
    return zip;
  } catch (error) {
    io.signal.throwIfAborted();
    if (isTimeout(error) || error instanceof UsageError) throw error;
    const isAbsent = error instanceof RangeError &&
      await backendOf(store).size(key) === undefined;
    if (pathOf(place) !== undefined) {
      throw isAbsent
        ? new Error(`There is no file ${JSON.stringify(place)}`)
        : error;
    }
    // A folder of a server may have the name of an archive.
    const folder = await openStore(place, io);
    const document = await v2View(folder).get("/zarr.json")
      .catch(() => undefined);
    if (document !== undefined) return folder;
    throw isAbsent ? new Error(error.message) : error;
  }
}

/** Whether only attributes tell which nodes a group has. */
async function isOfNamedNodes(
  store: Store,
  signal: AbortSignal,
): Promise<boolean> {
  if (store.list !== undefined) return false;
  try {
    const bytes = await v2View(store).get("/zarr.json", { signal });
    const document: unknown = bytes && parseZarrJson(bytes);
    return isMembers(document) && document.node_type === "group" &&
      document.consolidated_metadata === undefined;
  } catch (error) {
    if (isTimeout(error)) throw error; // The command would wait once more.
    return false; // The command itself says what is wrong.
  }
}

/** Whether an error is that of a server that was silent for too long. */
function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof DOMException &&
    error.cause.name === "TimeoutError";
}

/** An archive in a store, and the path of a node in the archive. */
interface ArchivePlace {
  readonly store: Store;
  readonly key: StoreKey;
  readonly path: string;
}

const NAME = /\.(?:zip|ozx)$/i;

/** Finds the archive that a path or a URL leads to; `undefined` for other places. */
export async function findArchive(
  place: string,
  io: Io,
): Promise<ArchivePlace | undefined> {
  const path = pathOf(place);
  if (path !== undefined) return await findArchiveOfPath(path);
  // By its name, since nothing is looked up on servers.
  const [, origin = "", names = "", rest = ""] =
    /^((?:https?|s3):\/\/[^/?#]+)([^?#]*)(.*)$/is.exec(place) ?? [];
  const segments = names.split("/");
  const at = segments.findIndex((segment) => NAME.test(segment));
  if (at < 0) return undefined;
  const isHttp = /^http/i.test(origin);
  const textOf = (segment: string) => isHttp ? decode(segment) : segment;
  const folder = origin + segments.slice(0, at).join("/") + rest;
  return {
    store: await openStore(folder, io),
    key: `/${textOf(segments[at]!)}`,
    path: segments.slice(at + 1).filter(Boolean).map(textOf).join("/"),
  };
}

/** Decodes a name of a URL, which the store encodes again. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * Finds the archive that a path leads to or through, by the start of the file or, if there is
 * no file yet, by its name.
 */
async function findArchiveOfPath(
  path: string,
): Promise<ArchivePlace | undefined> {
  let info = await stateOf(path);
  // The usual case, without a module of Node, which takes time to load.
  if (info?.isDirectory) return undefined;
  let file = resolve(path);
  const inside: string[] = [];
  while (info === undefined && dirname(file) !== file) {
    inside.unshift(basename(file));
    file = dirname(file);
    info = await stateOf(file);
  }
  if (info?.isFile) {
    if (!NAME.test(file) && !await isZip(file)) return undefined;
    file = await Deno.realPath(file);
  } else {
    const at = inside.findIndex((name) => NAME.test(name));
    if (at < 0) return undefined;
    file = join(file, ...inside.splice(0, at + 1));
  }
  return {
    store: new FileSystemStore(dirname(file)),
    key: `/${basename(file)}`,
    path: inside.join("/"),
  };
}

/** Whether a file starts as zip files do: with an entry, or with the last record of an empty one. */
async function isZip(path: string): Promise<boolean> {
  using file = await Deno.open(path);
  const start = new Uint8Array(4);
  await file.read(start);
  const [p, k, ...type] = start;
  return p === 0x50 && k === 0x4b && ["3,4", "5,6"].includes(`${type}`);
}
