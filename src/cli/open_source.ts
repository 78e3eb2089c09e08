import { basename, dirname, join, resolve } from "node:path";
import type { ZipStore } from "../zip/mod.ts";
import {
  backendOf,
  FileSystemStore,
  type Store,
  type StoreKey,
} from "../stores/mod.ts";
import { isMembers, parseZarrJson } from "../metadata/mod.ts";
import { v2View } from "../views/mod.ts";
import { type Arguments, type Io, UsageError, usageError } from "./command.ts";
import { quoted } from "./format.ts";
import {
  assertFolder,
  assertNoDocument,
  assertTarget,
  openStore,
  pathOf,
  stateOf,
} from "./open_store.ts";

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
    if (await isNode(folder)) return folder;
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

/** Whether a store holds a node at its root, as far as it can be read. */
async function isNode(store: Store): Promise<boolean> {
  for (const document of ["zarr.json", ".zgroup", ".zarray"]) {
    const size = await backendOf(store).size(`/${document}`).catch(() =>
      undefined
    );
    if (size !== undefined) return true;
  }
  return false;
}
