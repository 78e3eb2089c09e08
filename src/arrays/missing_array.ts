import { describe, describeAll, MetadataError } from "../errors/mod.ts";
import {
  describeStore,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { hasDocument } from "./read_document.ts";

const DOCUMENT = "/zarr.json";

/** The greatest number of keys that are listed for a message. */
const MOST_KEYS = 1000;
/** The greatest number of nodes that a message names. */
const MOST_NODES = 3;

/**
 * Creates the error for a path without `zarr.json`. The error says whether Zarr v2 metadata
 * is there, and where nodes are.
 *
 * @param root The prefix of the keys below the path, without a last `/`.
 */
export async function missingArray(
  store: Store,
  root: "" | StoreKey,
  options: StoreOptions | undefined,
): Promise<MetadataError> {
  const there = `${describe(root || "/")} in ${describeStore(store)}`;
  for (const [name, node] of [[".zarray", "array"], [".zgroup", "group"]]) {
    const key: StoreKey = `${root}/${name}`;
    if (!await hasDocument(store, key, options)) continue;
    return new MetadataError(
      `Expected a Zarr v3 array at ${there}, found a Zarr v2 ${node} (${name}); v2View shows it as Zarr v3, and migrate or zarr-parts migrate gives it a zarr.json`,
    );
  }
  const nodes = await nodesNearby(store, root, options);
  return new MetadataError(
    `No Zarr node at ${there}: there is no ${
      describe(root + DOCUMENT)
    }${nodes}`,
  );
}

/** Creates the error for a path where a group is, with the nodes in the group. */
export async function groupForArray(
  store: Store,
  root: "" | StoreKey,
  options: StoreOptions | undefined,
): Promise<MetadataError> {
  const nodes = await findNodes(store, `${root}/`, options);
  return new MetadataError(
    `Expected an array, found a group${nodesAt(nodes)}`,
    "/node_type",
    { document: root + DOCUMENT, store: describeStore(store) },
  );
}

const UNKNOWN = "; the folder or URL may not exist";

/** Says where nodes are: below a path, or else anywhere in the store. */
async function nodesNearby(
  store: Store,
  root: "" | StoreKey,
  options: StoreOptions | undefined,
): Promise<string> {
  if (store.list !== undefined) {
    for (const folder of new Set([root, ""])) {
      const nodes = await findNodes(store, `${folder as StoreKey}/`, options);
      if (nodes.length > 0) return nodesAt(nodes);
    }
    return UNKNOWN;
  }
  for (let path: string = root; path !== "";) {
    path = path.slice(0, path.lastIndexOf("/"));
    const key = `${path}${DOCUMENT}` as StoreKey;
    if (await hasDocument(store, key, options)) return nodesAt([path]);
  }
  return UNKNOWN;
}

function nodesAt(roots: readonly string[]): string {
  if (roots.length === 0) return "";
  const named = roots.slice(0, MOST_NODES).map((root) => root || "/");
  if (roots.length === 1) return `; there is a node at ${describeAll(named)}`;
  const names = roots.length > MOST_NODES
    ? `${named.map(describe).join(", ")} and elsewhere`
    : describeAll(named);
  return `; there are nodes at ${names}`;
}

/** Finds the roots of nodes below a prefix among the first keys of a listing. */
async function findNodes(
  store: Store,
  prefix: StoreKey,
  options: StoreOptions | undefined,
): Promise<string[]> {
  const nodes = new Set<string>();
  let count = 0;
  try {
    for await (const key of store.list?.(prefix, options) ?? []) {
      const [, root] = /^(.*)\/(?:zarr\.json|\.zarray|\.zgroup)$/.exec(key) ??
        [];
      if (root !== undefined && `${root}/` !== prefix) nodes.add(root);
      if (++count === MOST_KEYS) break;
    }
  } catch {
    options?.signal?.throwIfAborted(); // Otherwise the message names no nodes.
  }
  return [...nodes].sort();
}
