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
 * Creates the error for a place without `zarr.json`. The error says whether Zarr
 * v2 metadata is there, and where nodes are.
 */
export async function missingArray(
  store: Store,
  root: "" | StoreKey,
  options: StoreOptions | undefined,
): Promise<MetadataError> {
  const place = `${describe(root || "/")} in ${describeStore(store)}`;
  for (const [name, node] of [[".zarray", "array"], [".zgroup", "group"]]) {
    const key: StoreKey = `${root}/${name}`;
    if (!await hasDocument(store, key, options)) continue;
    return new MetadataError(
      `Expected a Zarr v3 array at ${place}, found a Zarr v2 ${node} (${name}); v2View shows it as Zarr v3, and migrate or zarr-parts migrate gives it a zarr.json`,
    );
  }
  return new MetadataError(
    `No Zarr node at ${place}: there is no ${
      describe(root + DOCUMENT)
    }${await nodesNearby(
      store,
      root,
      options,
    )}`,
  );
}

/** Creates the error for a place where a group is, with the nodes in the group. */
export async function groupForArray(
  store: Store,
  root: "" | StoreKey,
  options: StoreOptions | undefined,
): Promise<MetadataError> {
  const { nodes } = await findNodes(store, `${root}/`, options);
  return new MetadataError(
    `Expected an array, found a group${nodesAt(nodes)}`,
    "/node_type",
    { document: root + DOCUMENT, store: describeStore(store) },
  );
}

/** Says where nodes are: below the place, or else anywhere in the store. */
async function nodesNearby(
  store: Store,
  root: "" | StoreKey,
  options: StoreOptions | undefined,
): Promise<string> {
  if (store.list === undefined) return await nodeAbove(store, root, options);
  const below = await findNodes(store, `${root}/`, options);
  if (below.nodes.length > 0) return nodesAt(below.nodes);
  const all = root === "" ? below : await findNodes(store, "/", options);
  return all.isEmpty
    ? "; the store is empty, or does not exist"
    : nodesAt(all.nodes);
}

/** Says which node is the nearest one above a place, in a store that cannot list. */
async function nodeAbove(
  store: Store,
  root: "" | StoreKey,
  options: StoreOptions | undefined,
): Promise<string> {
  for (
    let end = root.lastIndexOf("/");
    end >= 0;
    end = root.lastIndexOf("/", end - 1)
  ) {
    const above = root.slice(0, end);
    const key = `${above}${DOCUMENT}` as StoreKey;
    if (await hasDocument(store, key, options)) {
      return nodesAt([above]);
    }
    if (end === 0) break;
  }
  return "; the folder or URL may not exist";
}

function nodesAt(roots: readonly string[]): string {
  if (roots.length === 0) return "";
  const named = roots.slice(0, MOST_NODES).map((root) => root || "/");
  const isCut = roots.length > MOST_NODES;
  return `; ${roots.length === 1 ? "there is a node" : "there are nodes"} at ${
    isCut
      ? `${named.map(describe).join(", ")} and elsewhere`
      : describeAll(named)
  }`;
}

/** Finds the roots of nodes below a prefix among the first keys of a listing. */
async function findNodes(
  store: Store,
  prefix: StoreKey,
  options: StoreOptions | undefined,
): Promise<{ nodes: string[]; isEmpty: boolean }> {
  const nodes = new Set<string>();
  let count = 0;
  try {
    for await (const key of store.list?.(prefix, options) ?? []) {
      const [document] = /\/(?:zarr\.json|\.zarray|\.zgroup)$/.exec(key) ?? [];
      if (document !== undefined) {
        const root = key.slice(0, -document.length);
        if (`${root}/` !== prefix) nodes.add(root);
      }
      if (++count === MOST_KEYS) break;
    }
  } catch {
    options?.signal?.throwIfAborted();
    return { nodes: [], isEmpty: false }; // The message names no nodes.
  }
  return { nodes: [...nodes].sort(), isEmpty: count === 0 };
}
