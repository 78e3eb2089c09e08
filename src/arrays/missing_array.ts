import { describe, describeAll, MetadataError } from "../errors/mod.ts";
import {
  describeStore,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { hasDocument } from "./read_document.ts";

const DOCUMENT = "/zarr.json";

/** The greatest number of keys that are listed for a message, and of nodes that the message names. */
const [MOST_KEYS, MOST_NODES] = [1000, 3];

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
  const nodes = await findNodes(store, root, options) ||
    root && await findNodes(store, "", options) ||
    "; the folder or URL may not exist";
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
  const nodes = store.list ? await findNodes(store, root, options) : "";
  return new MetadataError(
    `Expected an array, found a group${nodes}`,
    "/node_type",
    { document: root + DOCUMENT, store: describeStore(store) },
  );
}

/**
 * Says where nodes are: those below a path among the first keys of a listing or, in a store
 * that cannot list, the nearest one above. The text is empty if there are none.
 */
async function findNodes(
  store: Store,
  root: "" | StoreKey,
  options: StoreOptions | undefined,
): Promise<string> {
  const nodes = new Set<string>();
  for (let path: string = root; store.list === undefined && path !== "";) {
    path = path.slice(0, path.lastIndexOf("/"));
    const key = `${path}${DOCUMENT}` as StoreKey;
    if (await hasDocument(store, key, options)) return nodesAt([path]);
  }
  let count = 0;
  try {
    for await (const key of store.list?.(`${root}/`, options) ?? []) {
      const [, node] = /^(.*)\/(?:zarr\.json|\.zarray|\.zgroup)$/.exec(key) ??
        [];
      if (node !== undefined && node !== root) nodes.add(node);
      if (++count === MOST_KEYS) break;
    }
  } catch {
    options?.signal?.throwIfAborted(); // Otherwise the message names no nodes.
  }
  return nodesAt([...nodes].sort());
}

function nodesAt(roots: readonly string[]): string {
  if (roots.length === 0) return "";
  const names = describeAll(
    roots.slice(0, MOST_NODES).map((root) => root || "/"),
  );
  return roots.length === 1
    ? `; there is a node at ${names}`
    : `; there are nodes at ${names}`;
}
