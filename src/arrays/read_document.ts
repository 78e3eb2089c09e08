import {
  describe,
  describeAll,
  MetadataError,
  SizeLimitError,
} from "../errors/mod.ts";
import { LONGEST_DOCUMENT } from "../metadata/mod.ts";
import {
  backendOf,
  describeStore,
  keyProblem,
  type Snapshot,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";

/**
 * Converts an array's path to the prefix of its keys, without a last `/`: empty
 * for the root.
 *
 * @throws {TypeError} If the path is not a string.
 * @throws {RangeError} If the path is not names joined by `/`.
 */
export function arrayRoot(path: string): "" | StoreKey {
  const expected =
    `the array's path in the store, such as "elevation" or "" for the root`;
  if (typeof path !== "string") {
    throw new TypeError(`Expected ${expected}, found ${describe(path)}`);
  }
  if (path === "" || path === "/") return "";
  const names = path.replace(/^\/|\/$/g, "");
  const problem = keyProblem(names);
  if (problem === undefined) return `/${names}`;
  throw new RangeError(
    `Path ${describe(path)} ${problem}; expected ${expected}`,
  );
}

/**
 * Reads a metadata document.
 *
 * @throws {MetadataError} If the document is too long. It is not read to its end then.
 */
export async function readDocument(
  store: Store,
  key: StoreKey,
  options?: StoreOptions,
): Promise<Uint8Array | undefined> {
  options?.signal?.throwIfAborted();
  return await backendOf(store).read(
    [key],
    (values) => documentIn(values, key, store),
    options,
  );
}

/**
 * Reads a metadata document of a snapshot.
 *
 * @param store The store of the snapshot, for messages.
 * @throws {MetadataError} If the document is too long.
 */
export async function documentIn(
  values: Snapshot,
  key: StoreKey,
  store: Store,
): Promise<Uint8Array | undefined> {
  try {
    return await values.read(key, undefined, { limit: LONGEST_DOCUMENT });
  } catch (cause) {
    if (!(cause instanceof SizeLimitError)) throw cause;
    throw new MetadataError(
      `Expected a document of at most ${LONGEST_DOCUMENT} bytes, found ${
        cause.size ?? "more"
      }`,
      "",
      { document: key, store: describeStore(store), cause },
    );
  }
}

/** Whether a store has a metadata document. */
export async function hasDocument(
  store: Store,
  key: StoreKey,
  options?: StoreOptions,
): Promise<boolean> {
  return await backendOf(store).size(key, options) !== undefined;
}

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
