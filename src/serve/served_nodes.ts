/** The nodes of a store: those in a folder, and the consolidated metadata of its root. */
import { readDocument } from "../arrays/mod.ts";
import { findPaths, type FoundPaths } from "../hierarchy/mod.ts";
import {
  formatZarrJson,
  isGroupDocument,
  isMembers,
  parseExactZarrJson,
  parseZarrJson,
} from "../metadata/mod.ts";
import { runConcurrently } from "../runtime/mod.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/mod.ts";

/** The most keys that are listed to find nodes, and the most nodes. */
const LIMITS = { keys: 100_000, nodes: 1000 };
/** The number of documents that are read at once. */
const AT_ONCE = 16;

/**
 * Finds the nodes in a folder: those whose documents the store lists or, if it cannot list,
 * those in the consolidated metadata of the folder.
 */
export async function nodesIn(
  store: Store,
  root: "" | StoreKey,
  options: StoreOptions,
): Promise<FoundPaths> {
  const bytes = typeof store.list === "function"
    ? undefined
    : await readDocument(store, `${root as StoreKey}/zarr.json`, options);
  const document = bytes && parseZarrJson(bytes);
  const found = await findPaths({ store, root }, document, options, LIMITS);
  return bytes && !found.paths ? { ...found, paths: [""] } : found;
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
  store: Store,
  read: (key: StoreKey) => Promise<Uint8Array | undefined>,
  options: StoreOptions,
): Promise<Uint8Array> {
  const document = parseZarrJson(bytes);
  const isAlone = isGroupDocument(document) && isMembers(document) &&
    !isMembers(document.consolidated_metadata);
  if (!isAlone) return bytes;
  try {
    const { paths: found = [], areAll } = await nodesIn(store, "", options);
    const paths = found.filter((path) => path !== "");
    if (!areAll || paths.length === 0) return bytes;
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
