/** The nodes of a store: those in a folder, and the consolidated metadata of its root. */
import { listedPaths } from "../hierarchy/mod.ts";
import {
  formatZarrJson,
  isGroupDocument,
  isMembers,
  nodePaths,
  parseExactZarrJson,
  parseZarrJson,
} from "../metadata/mod.ts";
import { runConcurrently } from "../runtime/mod.ts";
import type {
  Backend,
  Snapshot,
  StoreKey,
  StoreOptions,
} from "../stores/mod.ts";

/** The most keys that are listed to find nodes, and the most nodes. */
const MOST_KEYS = 100_000;
const MOST_NODES = 1000;
/** The number of documents that are read at once. */
const AT_ONCE = 16;

/** Nodes by their paths below a folder, in order. */
export interface FoundNodes {
  readonly paths: readonly string[];
  /** Whether they are all nodes in the folder. */
  readonly areAll: boolean;
}

/**
 * Finds the nodes in a folder: those whose documents the store lists or, if it cannot list,
 * those in the consolidated metadata of the folder.
 *
 * @param folder A prefix that ends with `/`.
 */
export async function nodesIn(
  backend: Backend,
  folder: StoreKey,
  options: StoreOptions,
): Promise<FoundNodes> {
  if (backend.list === undefined) {
    const key: StoreKey = `${folder}zarr.json`;
    const read = (values: Snapshot) => values.read(key);
    const bytes = await backend.read([key], read, options);
    const paths = bytes ? nodePaths(parseZarrJson(bytes)) : [];
    return { paths, areAll: false };
  }
  const limits = { keys: MOST_KEYS, nodes: MOST_NODES };
  return await listedPaths(backend.list(folder, options), folder, limits);
}

/**
 * Adds the nodes below the root to the document of the root, if it is a group without
 * consolidated metadata: clients cannot list keys over HTTP. A store whose nodes cannot all
 * be found and read keeps its document.
 *
 * @param read Reads a document as it is shown.
 */
export async function consolidated(
  bytes: Uint8Array,
  backend: Backend,
  read: (key: StoreKey) => Promise<Uint8Array | undefined>,
  options: StoreOptions,
): Promise<Uint8Array> {
  const document = parseZarrJson(bytes);
  const isAlone = isGroupDocument(document) && isMembers(document) &&
    !isMembers(document.consolidated_metadata);
  if (!isAlone) return bytes;
  try {
    const found = await nodesIn(backend, "/", options);
    const paths = found.paths.filter((path) => path !== "");
    if (!found.areAll || paths.length === 0) return bytes;
    const metadata: Record<string, unknown> = Object.fromEntries(
      paths.map((path) => [path, undefined]),
    );
    await runConcurrently(paths, AT_ONCE, async (path) => {
      const shown = await read(`/${path}/zarr.json`);
      if (shown) metadata[path] = parseExactZarrJson(shown);
    });
    return formatZarrJson({
      ...parseExactZarrJson(bytes) as object,
      consolidated_metadata: {
        kind: "inline",
        must_understand: false,
        metadata,
      },
    });
  } catch {
    options.signal?.throwIfAborted();
    return bytes; // Requests for the node that cannot be read get the error.
  }
}
