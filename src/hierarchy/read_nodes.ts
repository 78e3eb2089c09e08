import {
  missingArray,
  parseArray,
  type ParsedArray,
  readDocument,
} from "../arrays/mod.ts";
import { inDocument, MetadataError } from "../errors/mod.ts";
import {
  assertNodeDocument,
  isArrayDocument,
  isMembers,
  type Members,
  nodePaths,
  parseZarrJson,
} from "../metadata/mod.ts";
import { mapConcurrently, runConcurrently } from "../runtime/mod.ts";
import {
  describeStore,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { type ComposedDocument, composeV2Document } from "../views/mod.ts";
import { namedNodes } from "./named_nodes.ts";
import {
  describePlace,
  documentKey,
  MARKER,
  type Place,
  rootIn,
} from "./node_location.ts";
import {
  ALL_NODES,
  type NodeSelection,
  type SelectedNodes,
  selectNodes,
} from "./select_nodes.ts";

/** A node of a hierarchy, with its document. */
export interface Node {
  /** The path below the outermost node, which has an empty path. */
  readonly path: string;
  /** The document as it is stored or, for a node of Zarr v2, as it was composed. */
  readonly bytes: Uint8Array;
  readonly document: unknown;
  /** The array that the document describes; `undefined` for a group. */
  readonly array: ParsedArray | undefined;
  /** The keys of the documents of Zarr v2 that the document was composed of; none for a node of Zarr v3. */
  readonly v2Documents: readonly StoreKey[];
}

/** A node that could not be read. */
interface FailedNode {
  readonly path: string;
  /** Why: a `MetadataError` if the document is not valid, or an error of the store. */
  readonly error: Error;
}

/** The nodes of a hierarchy, in the order of their paths. */
interface ReadNodes {
  readonly nodes: Node[];
  /** The nodes that were left out. */
  readonly failed: FailedNode[];
  readonly selected: SelectedNodes;
}

/** How nodes are read. */
interface ReadNodesSettings {
  /** Whether a node is left out because of an error, in place of throwing it. Default: never. */
  readonly isLeftOut?: (error: Error, path: string) => boolean;
  /** Whether nodes of Zarr v2 are passed over, in place of read as nodes of Zarr v3. */
  readonly withoutV2?: boolean | undefined;
}

/** Leaves out nodes whose documents are not valid. */
export const isInvalid = (error: Error): boolean =>
  error instanceof MetadataError;

/** Leaves out nodes below the outermost one whose documents are not valid. */
export const isInvalidInside = (error: Error, path: string): boolean =>
  error instanceof MetadataError && path !== "";

/**
 * Reads the documents of a node and of all nodes below it, in the order of their paths.
 * Those of nodes of Zarr v2 are composed, as `v2View` shows them. The nodes of a group are
 * those that the store lists or, if it cannot list, those in the group's consolidated
 * metadata or, without this, those that attributes of OME-Zarr, GeoZarr and ndpyramid name.
 *
 * @param options The nodes of a group that are read; `signal`.
 * @throws {MetadataError} If no node is there, a document is not valid, or the nodes of a
 * group cannot be found.
 */
export async function readNodes(
  place: Place,
  options: StoreOptions & NodeSelection,
  { isLeftOut = () => false, withoutV2 = false }: ReadNodesSettings = {},
): Promise<ReadNodes> {
  const reads = new Map<string, ReturnType<ReadNode>>();
  // Nodes are read once, also if others are found by their attributes.
  const read: ReadNode = (path, signal) => {
    const reading = reads.get(path) ??
      readNode(place, path, withoutV2, { ...options, ...signal && { signal } })
        .catch((error) => {
          if (signal?.aborted || !isLeftOut(error, path)) throw error;
          return { path, error };
        });
    reads.set(path, reading);
    return reading;
  };
  const root = await read("", options.signal);
  if (root === undefined) {
    const marker: StoreKey = `${place.root as StoreKey}${MARKER}`;
    if (await place.store.get(marker, options) !== undefined) {
      throw unfinishedError(place);
    }
    throw await missingArray(place.store, place.root, options);
  }
  if (isRead(root) && root.array) {
    const selected = await selectNodes([], options);
    return { nodes: [root], failed: [], selected };
  }
  // Only a listing shows whether there are nodes below a document that is not valid.
  if (!isRead(root) && typeof place.store.list !== "function") {
    return { nodes: [], failed: [root], selected: ALL_NODES };
  }
  const document = isRead(root) ? root.document : undefined;
  const found = await findPaths(place, document, options, { withoutV2 });
  const paths = found.paths?.filter((path) => path !== "") ??
    await namedBelow(place, root as Node, read, options.signal);
  const selected = await selectNodes(paths, options);
  const chosen = paths.filter((path) => !selected.excluded.has(path));
  const below = await mapConcurrently(chosen, READS, async (path, signal) => {
    const node = await read(path, signal);
    if (node !== undefined) return node;
    const error = missingNode(place, document, path);
    if (!isLeftOut(error, path)) throw error;
    return { path, error };
  }, options.signal);
  const all = [root, ...below];
  return {
    nodes: all.filter(isRead),
    failed: all.flatMap((node) => isRead(node) ? [] : [node]),
    selected,
  };
}

/** Reads a node once: `undefined` if there is none. */
type ReadNode = (
  path: string,
  signal?: AbortSignal,
) => Promise<Node | FailedNode | undefined>;

function isRead(node: Node | FailedNode): node is Node {
  return !("error" in node);
}

/** Reads the document of a node. */
async function readNode(
  place: Place,
  path: string,
  withoutV2: boolean,
  options: StoreOptions,
): Promise<Node | undefined> {
  const key = documentKey(place, path);
  const read = await readNodeDocument(place, path, withoutV2, options);
  if (read === undefined) return undefined;
  const { bytes, keys } = read;
  const store = describeStore(place.store);
  return inDocument(keys[0] ?? key, store, () => {
    const document = parseZarrJson(bytes);
    assertNodeDocument(document);
    const array = isArrayDocument(document) ? parseArray(document) : undefined;
    return { path, bytes, document, array, v2Documents: keys };
  });
}

/**
 * Reads the document of a node, or composes it of documents of Zarr v2.
 *
 * @param withoutV2 Whether nodes of Zarr v2 are passed over.
 */
export async function readNodeDocument(
  place: Place,
  path: string,
  withoutV2: boolean,
  options: StoreOptions,
): Promise<Pick<ComposedDocument, "bytes" | "keys"> | undefined> {
  const key = documentKey(place, path);
  const bytes = await readDocument(place.store, key, options);
  if (bytes !== undefined) return { bytes, keys: [] };
  if (withoutV2) return undefined;
  return await composeV2Document(place.store, rootIn(place, path), options);
}

/** Limits of {@linkcode findPaths}. */
interface PathLimits {
  /** The most keys that are listed, and the most nodes. Default: no limits. */
  readonly keys?: number;
  readonly nodes?: number;
  /** Whether nodes of Zarr v2 are passed over. */
  readonly withoutV2?: boolean;
}

/** Paths of nodes below a place. */
export interface FoundPaths {
  /** The paths in order; `undefined` if the store can neither list nor has consolidated metadata. */
  readonly paths: string[] | undefined;
  /** Whether they are of all nodes, by a listing that no limit has ended. */
  readonly areAll: boolean;
}

/**
 * Finds the nodes at and below a place: those whose documents the store lists or, if it
 * cannot list, those in a document, which is that of an array or has consolidated metadata.
 *
 * @param document The document of the outermost node.
 */
export async function findPaths(
  { store, root }: Place,
  document: unknown,
  options: StoreOptions,
  { keys = Infinity, nodes = Infinity, withoutV2 = false }: PathLimits = {},
): Promise<FoundPaths> {
  if (typeof store.list !== "function") {
    const isKnown = isArrayDocument(document) ||
      isMembers(document) && isMembers(document.consolidated_metadata);
    const paths = isKnown ? nodePaths(document).sort() : undefined;
    return { paths, areAll: false };
  }
  const documents = withoutV2
    ? /\/zarr\.json$/
    : /\/(?:zarr\.json|\.zarray|\.zgroup)$/;
  const prefix: StoreKey = `${root as StoreKey}/`;
  const paths = new Set<string>();
  let count = 0;
  let areAll = true;
  for await (const key of store.list(prefix, options)) {
    const end = documents.exec(key)?.index;
    if (end !== undefined) paths.add(key.slice(prefix.length, end));
    areAll = ++count < keys && paths.size < nodes;
    if (!areAll) break;
  }
  return { paths: [...paths].sort(), areAll };
}

/** How many documents are read at the same time. */
const READS = 16;

/**
 * The sorted paths of the nodes below a group that attributes name, of groups below it, too.
 *
 * @param read Reads a node; `undefined` if there is none.
 * @throws {MetadataError} If attributes name no node.
 */
async function namedBelow(
  place: Place,
  root: Node,
  read: ReadNode,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const found = new Set<string>();
  const seen = new Set([""]);
  const follow = async (group: Node) => {
    for (let groups = [group]; groups.length > 0;) {
      const named = groups.flatMap(({ document, path }) =>
        namedNodes(document, path)
      );
      for (const path of named) found.add(path);
      const above = named.flatMap((path) =>
        [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index))
      );
      const paths = [...named, ...above, ...groups.flatMap(usualNodes)];
      const unseen = [...new Set(paths)].filter((path) => !seen.has(path));
      groups = [];
      await runConcurrently(unseen, READS, async (path, signal) => {
        seen.add(path);
        const node = await read(path, signal);
        if (node === undefined) return;
        found.add(path);
        if (isRead(node) && !node.array) groups.push(node);
      }, signal);
    }
  };
  await follow(root);
  if (isCollection(root) && !found.has("0")) {
    // Without a list of the images of a collection, their names are numbers.
    for (let i = 0;; i++) {
      const node = await read(`${i}`, signal);
      if (node === undefined) break;
      found.add(`${i}`);
      if (isRead(node)) await follow(node);
    }
  }
  if (found.size > 0) return [...found].sort();
  throw new MetadataError(
    "Cannot find the nodes of the group: the store cannot list, and the group has neither consolidated metadata nor attributes that name nodes; expected the path of an array",
    "",
    locationOf(place),
  );
}

/** The paths that OME-Zarr gives to nodes which no attribute of their group names. */
function usualNodes(group: Node): string[] {
  const { multiscales } = omeAttributes(group);
  const names = multiscales !== undefined
    ? ["labels"]
    : isCollection(group)
    ? ["OME"]
    : [];
  return names.map((name) =>
    group.path === "" ? name : `${group.path}/${name}`
  );
}

/** Whether a group is a collection of images, as bioformats2raw makes them. */
function isCollection(group: Node): boolean {
  return omeAttributes(group)["bioformats2raw.layout"] !== undefined;
}

/** The attributes of OME-Zarr, which are in one of the attributes from 0.5 on. */
function omeAttributes({ document }: Node): Members {
  if (!isMembers(document) || !isMembers(document.attributes)) return {};
  const { attributes } = document;
  return isMembers(attributes.ome) ? attributes.ome : attributes;
}

/** An error about a node that the document of its group names. */
function missingNode(
  place: Place,
  group: unknown,
  path: string,
): MetadataError {
  const isConsolidated = isMembers(group) &&
    group.consolidated_metadata !== undefined;
  const what = isConsolidated
    ? "The consolidated metadata names"
    : "Attributes name";
  return new MetadataError(
    `${what} a node at ${JSON.stringify(path)}, and there is none`,
    isConsolidated ? "/consolidated_metadata" : "",
    locationOf(place),
  );
}

function unfinishedError(place: Place): MetadataError {
  return new MetadataError(
    `No Zarr node at ${
      describePlace(place)
    }: a conversion to it is not finished; run it again with the option "resume"`,
  );
}

/** The document of the outermost node, for messages. */
function locationOf(place: Place): { document: string; store: string } {
  return {
    document: documentKey(place, ""),
    store: describeStore(place.store),
  };
}
