import {
  describe,
  describeAll,
  inDocument,
  MetadataError,
  sentence,
} from "../errors/mod.ts";
import {
  type ArrayMetadata,
  formatZarrJson,
  isGroupDocument,
  parseZarrJson,
} from "../metadata/mod.ts";
import {
  assertStore,
  assertWritable,
  backendOf,
  describeStore,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { ArrayChunks } from "./array_chunks.ts";
import { parseArray } from "./parse_array.ts";
import { arrayRoot, hasDocument, readDocument } from "./read_document.ts";

/**
 * Opens an array: reads its `zarr.json`, which says where and how its chunks are
 * stored.
 *
 * @param store The store that holds the array.
 * @param path The array's path in the store, such as `temperature/monthly`;
 * empty for the root.
 * @param options `signal` aborts the requests.
 * @returns The array's chunks.
 * @throws {MetadataError} If no Zarr v3 array is at `path`, or its metadata is
 * not valid or not understood.
 * @throws {TypeError} If `store` is not a store, or `path` not a string.
 * @throws {RangeError} If `path` is not names joined by `/`.
 *
 * @example
 * ```ts
 * import { arrayMetadata, MemoryStore, openArrayChunks } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const metadata = arrayMetadata({
 *   shape: [10],
 *   dataType: "uint8",
 *   chunkShape: [4],
 *   keyEncoding: "v2",
 * });
 * const store = new MemoryStore([
 *   ["/zarr.json", new TextEncoder().encode(JSON.stringify(metadata))],
 *   ["/2", new Uint8Array([8, 9, 0, 0])],
 * ]);
 *
 * const chunks = await openArrayChunks(store);
 * assertEquals(chunks.gridShape, [3]);
 * assertEquals(await chunks.getRange([2], { offset: 0, length: 2 }), new Uint8Array([8, 9]));
 * ```
 */
export async function openArrayChunks(
  store: Store,
  path = "",
  options?: StoreOptions,
): Promise<ArrayChunks> {
  const { root, document } = locate(store, path);
  const bytes = await readDocument(store, document, options);
  if (bytes === undefined) {
    throw await missingArray(store, root, options);
  }
  const storeName = describeStore(store);
  const metadata = inDocument(document, storeName, () => parseZarrJson(bytes));
  if (isGroupDocument(metadata)) {
    throw await groupForArray(store, root, options);
  }
  return inDocument(
    document,
    storeName,
    () => new ArrayChunks(store, path, metadata),
  );
}

/**
 * Creates an array without chunks: checks its metadata, completes it so that every
 * Zarr client can open the array or its plain view, and writes it as `zarr.json`.
 *
 * - A missing fill value is 0, `false` or `""`.
 * - A missing codec from array to bytes is added, also to the codecs of inner
 *   chunks: `bytes` in little endian, or `vlen-utf8` for strings. Missing
 *   configuration of codecs is filled in with zarr-python's defaults.
 * - Codecs that are names become objects, and the chunk key encoding has its
 *   canonical form, with a `base_encoding` in `suffix`.
 *
 * The chunks of an earlier array at `path` are neither read nor removed. Of several
 * calls at once, one creates the array and the others throw: in all processes if
 * the store has groups that can be locked, as `FileSystemStore` and `MemoryStore`
 * do, and in this process for any other store.
 *
 * @param store The store to create it in.
 * @param path The array's path in the store; empty for the root. Groups above
 * it are not created.
 * @param metadata The array's metadata, from `arrayMetadata` for instance.
 * @param options `signal` aborts the requests.
 * @returns The array's chunks, with the metadata as it was written.
 * @throws {MetadataError} If a node is at `path` already, or if no Zarr client could
 * open the array: if the metadata is not valid or not understood, the data type is
 * unknown, `codecs` is empty, a fill value is not one of the data type, inner chunks
 * do not divide shards, a part `.index` does not have the size of the index, or if
 * Windows or a file system that ignores case could not hold the keys. Nothing is
 * written then.
 * @throws {TypeError} If `store` is not a store or is read-only, or `path` is not
 * a string.
 * @throws {RangeError} If `path` is not names joined by `/`.
 *
 * @example
 * ```ts
 * import {
 *   arrayMetadata,
 *   createArrayChunks,
 *   MemoryStore,
 *   openArrayChunks,
 * } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * await createArrayChunks(
 *   store,
 *   "elevation",
 *   arrayMetadata({
 *     shape: [344, 403],
 *     dataType: "int16",
 *     chunkShape: [128, 128],
 *     suffix: ".raw",
 *   }),
 * );
 *
 * const chunks = await openArrayChunks(store, "elevation");
 * assertEquals(chunks.gridShape, [3, 4]);
 * assertEquals(chunks.key([2, 3]), "/elevation/c/2/3.raw");
 * ```
 */
export async function createArrayChunks(
  store: Store,
  path: string,
  metadata: ArrayMetadata,
  options?: StoreOptions,
): Promise<ArrayChunks> {
  const { root, document } = locate(store, path);
  assertWritable(store, document);
  const storeName = describeStore(store);
  const { array, bytes } = inDocument(document, storeName, () => {
    const array = parseArray(metadata, { isNew: true });
    return { array, bytes: formatZarrJson(array.metadata) };
  });
  await backendOf(store).update!([document], async (values) => {
    if (await values.size(document) === undefined) return [bytes];
    throw new MetadataError(
      sentence`Cannot create an array at ${
        root || "/"
      }: a node is there already`,
      "",
      { document, store: storeName },
    );
  }, options);
  return new ArrayChunks(store, path, array);
}

function locate(
  store: Store,
  path: string,
): { root: "" | StoreKey; document: StoreKey } {
  assertStore(store);
  const root = arrayRoot(path);
  return { root, document: `${root}/zarr.json` };
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
async function groupForArray(
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
