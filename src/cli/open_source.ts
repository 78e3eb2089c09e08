import { basename, dirname, join, resolve } from "node:path";
import type { ZipDescription, ZipStore } from "../zip/mod.ts";
import {
  FileSystemStore,
  readSize,
  type Store,
  type StoreKey,
} from "../stores/mod.ts";
import { isMembers, parseZarrJson } from "../metadata/mod.ts";
import { v2View } from "../views/mod.ts";
import { type Arguments, type Io, UsageError } from "./command.ts";
import {
  assertNoDocument,
  assertSource,
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
  const isQuiet = args.has("quiet");
  const archive = await findArchive(place, io);
  if (archive === undefined) {
    const store = await openStore(place, io, {
      followLinks: args.has("follow-links"),
    });
    await assertSource(place);
    if (!follow && !isQuiet && await isOfNamedNodes(store, io.signal)) {
      io.note(
        `${place}: the server lists no files, and the group has no consolidated metadata, so only nodes that attributes of OME-Zarr or GeoZarr name are found\n`,
      );
    }
    return store;
  }
  const { store, key, path } = archive;
  const { ZipStore } = await import("../zip/zip_store.ts");
  let zip: ZipStore;
  try {
    zip = new ZipStore(store, key, { path, follow });
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(error.message) : error;
  }
  let description: ZipDescription;
  try {
    description = await zip.describe({ signal: io.signal });
  } catch (error) {
    io.signal.throwIfAborted();
    if (isTimeout(error)) throw error;
    const isAbsent = error instanceof RangeError &&
      await readSize(store, key) === undefined;
    if (isAbsent && pathOf(place) !== undefined) {
      throw new Error(`There is no file ${JSON.stringify(place)}`);
    }
    if (pathOf(place) === undefined) {
      // A folder of a server may have the name of an archive.
      const folder = await openStore(place, io);
      if (await isNode(folder)) return folder;
    }
    throw isAbsent ? new Error(error.message) : error;
  }
  assertOneNode(description, place);
  const { folder } = description;
  if (folder !== path && !isQuiet) {
    io.note(`${place}: reading ${JSON.stringify(folder)} in the archive\n`);
  }
  return zip;
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

/** Whether a place is that of a zip archive, or of a node in one. */
export async function isInArchive(place: string, io: Io): Promise<boolean> {
  return await findArchive(place, io) !== undefined;
}

/** Refuses a zip archive where files are written. */
export async function assertNoArchive(place: string, io: Io): Promise<void> {
  if (!await isInArchive(place, io)) return;
  throw new UsageError(
    `Cannot write to ${
      JSON.stringify(place)
    }, since zip archives are only read: name a folder, and pack it by zip -0 -r, from within the folder`,
  );
}

/** An archive in a store, and the path of a node in the archive. */
interface ArchivePlace {
  readonly store: Store;
  readonly key: StoreKey;
  readonly path: string;
}

const NAME = /\.(?:zip|ozx)$/i;

/** Finds the archive that a path or a URL leads to; `undefined` for other places. */
async function findArchive(
  place: string,
  io: Io,
): Promise<ArchivePlace | undefined> {
  const path = pathOf(place);
  return path === undefined
    ? await findArchiveOfUrl(place, io)
    : await findArchiveOfPath(path);
}

/** Finds the archive of a URL by its name, since nothing is looked up on servers. */
async function findArchiveOfUrl(
  place: string,
  io: Io,
): Promise<ArchivePlace | undefined> {
  const found = /^((?:https?|s3):\/\/[^/?#]+)([^?#]*)(.*)$/is.exec(place);
  if (found === null) return undefined;
  const [, origin, names, rest] = found as unknown as string[];
  const segments = names!.split("/");
  const at = segments.findIndex((segment) => NAME.test(segment));
  if (at < 0) return undefined;
  const isHttp = /^http/i.test(origin!);
  const textOf = (segment: string) => isHttp ? decode(segment) : segment;
  return {
    store: await openStore(
      origin + segments.slice(0, at).join("/") + rest,
      io,
    ),
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

/** Finds the file that a path leads to or through. Other files than archives are no archives, whatever their names. */
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
  if (!info?.isFile) {
    // A file that does not exist, or not yet.
    const at = inside.findIndex((name) => NAME.test(name));
    return at < 0 ? undefined : placeOf(
      join(file, ...inside.slice(0, at + 1)),
      inside.slice(at + 1).join("/"),
    );
  }
  return NAME.test(file) || await isZip(file)
    ? placeOf(await Deno.realPath(file), inside.join("/"))
    : undefined;
}

function placeOf(file: string, path: string): ArchivePlace {
  const store = new FileSystemStore(dirname(file));
  return { store, key: `/${basename(file)}`, path };
}

/** Whether a file starts as zip files do: with an entry, or with the last record of an empty one. */
async function isZip(path: string): Promise<boolean> {
  using file = await Deno.open(path);
  const start = new Uint8Array(4);
  await file.read(start);
  const [p, k, ...type] = start;
  return p === 0x50 && k === 0x4b && ["3,4", "5,6"].includes(`${type}`);
}

/** Refuses an archive of several nodes without the path of one. */
function assertOneNode(
  { nodes, folder }: ZipDescription,
  place: string,
): void {
  if (folder !== "" || nodes.length < 2) return;
  throw new UsageError(
    `Archive ${
      JSON.stringify(place)
    } holds ${nodes.length} nodes: add the path of one, such as ${
      place.replace(/[/\\]$/, "")
    }/${nodes[0]}`,
  );
}

/** Whether a store holds a node at its root, as far as it can be read. */
async function isNode(store: Store): Promise<boolean> {
  for (const document of ["zarr.json", ".zgroup", ".zarray"]) {
    const size = await readSize(store, `/${document}`).catch(() => undefined);
    if (size !== undefined) return true;
  }
  return false;
}
