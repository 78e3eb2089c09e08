import {
  changeNodes,
  changeZarrJson,
  isArrayDocument,
  isMembers,
  parseExactZarrJson,
  parseZarrJson,
  V2_DOCUMENTS,
} from "../../metadata/mod.ts";
import { isSameBytes } from "../../runtime/mod.ts";
import type { Store, StoreKey, StoreOptions } from "../../stores/mod.ts";
import type { ConvertPlan } from "../convert/convert_plan.ts";
import { besideNodes, withoutNodes } from "../convert/source_files.ts";
import type { Place } from "../../hierarchy/mod.ts";
import type { LeftOutNode, OtherArray } from "../convert/convert_options.ts";

/** The contents of the marker of a conversion in place: all that another run needs to finish the conversion. */
export interface InPlaceState {
  /** Whether a run has failed, so that the earlier layout is restored: the documents are swapped. */
  readonly isUndone: boolean;
  readonly documents: readonly DocumentChange[];
  /** The arrays whose documents change. */
  readonly arrays: readonly {
    readonly path: string;
    /** The number of chunks. */
    readonly count: number;
    /**
     * Whether new files are added beside the earlier ones, so that the array can be read all
     * the time. Otherwise, each chunk is changed, and the array does not open meanwhile.
     */
    readonly isAdded: boolean;
  }[];
  /** The keys of Zarr v2 metadata beside a `zarr.json`, below the converted node. */
  readonly v2Documents: readonly StoreKey[];
  /** The nodes whose documents are not valid, which stay as they are. */
  readonly leftOut: readonly LeftOutNode[];
  /** The paths of the nodes that `only` and `exclude` leave out. */
  readonly excluded: readonly string[];
  /** The arrays that cannot get the layout, with `keepGoing`. */
  readonly others: readonly OtherArray[];
  /** The paths of Zarr v2 nodes below the converted node, which stay as they are. */
  readonly v2Nodes: readonly string[];
}

/** The texts of a document before, during and after a conversion in place: `null` where it is absent. */
export interface DocumentChange {
  /** The path of the node below the converted one, or `..` for each group above it. */
  readonly path: string;
  /** The name of a document of Zarr v2. Default: `zarr.json`. */
  readonly name?: string;
  readonly before: string | null;
  /** The document while nodes do not open; absent if they can be read all the time. */
  readonly interim?: string | null | undefined;
  readonly after: string | null;
}

/** The state in which the earlier layout is restored. */
export function undone(state: InPlaceState): InPlaceState {
  return {
    ...state,
    isUndone: true,
    documents: state.documents.map(({ before, after, ...change }) => ({
      ...change,
      before: after,
      after: before,
    })),
  };
}

/** The key of the document of a {@linkcode DocumentChange}; `undefined` if it lies outside of the store. */
export function changedKey(
  { root }: Place,
  { path, name: document }: DocumentChange,
): StoreKey | undefined {
  const names = root.split("/").slice(1);
  for (const name of path.split("/")) {
    if (name === "..") {
      if (names.pop() === undefined) return undefined;
    } else if (name !== "") names.push(name);
  }
  return `/${[...names, document ?? "zarr.json"].join("/")}`;
}

/**
 * The name of the chunk key encoding and of the codec of an array that is being converted.
 * Readers refuse unknown names, and messages show them.
 */
const UNFINISHED =
  "unfinished, to be finished by: zarr-parts convert --in-place";

/** The documents that a conversion in place changes: inner nodes first, groups above last. */
export async function documentChanges(
  plan: ConvertPlan,
  options: StoreOptions,
): Promise<DocumentChange[]> {
  const { source, nodes, documents } = plan;
  const changes: DocumentChange[] = [];
  const byPath = new Map<string, Uint8Array>();
  for (const { path, bytes, document } of nodes.toReversed()) {
    const after = documents.get(path)!;
    if (isSameBytes(bytes, after)) continue;
    if (isArrayDocument(document)) byPath.set(path, after);
    changes.push(changeOf(path, bytes, after));
  }
  let [path, below, root] = ["", "", source.root as string];
  while (root !== "") {
    const slash = root.lastIndexOf("/");
    below = [root.slice(slash + 1), below].filter((name) => name !== "")
      .join("/");
    root = root.slice(0, slash);
    path = path === "" ? ".." : `../${path}`;
    const key: StoreKey = `${root as StoreKey}/zarr.json`;
    const bytes = await source.store.get(key, options);
    if (bytes === undefined) continue;
    const after = changeZarrJson(
      bytes,
      (exact) =>
        changeNodes(exact, (node, name) => {
          const isBelow = name === below || name.startsWith(`${below}/`);
          const own = isBelow && byPath.get(name.slice(below.length + 1));
          return own ? parseExactZarrJson(own) : node;
        }),
    );
    if (after !== bytes) changes.push(changeOf(path, bytes, after));
  }
  return changes.length === 0
    ? []
    : [...changes, ...await v2Changes(plan, options)];
}

/** The Zarr v2 metadata beside the documents of nodes, which names the earlier keys of chunks and goes. */
export async function v2Removals(
  { source, nodes }: ConvertPlan,
  options: StoreOptions,
): Promise<DocumentChange[]> {
  const changes: DocumentChange[] = [];
  for (const { path } of nodes) {
    for (const name of V2_DOCUMENTS) {
      const change = { path, name, interim: null, after: null };
      const key = changedKey(source, { ...change, before: null })!;
      const bytes = await source.store.get(key, options);
      if (bytes !== undefined) {
        changes.push({ ...change, before: textOf(bytes) });
      }
    }
  }
  return changes;
}

/** The changes of consolidated metadata of Zarr v2 in folders above nodes, which describes these nodes. */
async function v2Changes(
  plan: ConvertPlan,
  options: StoreOptions,
): Promise<DocumentChange[]> {
  const { source: { store, root }, nodes } = plan;
  const isBeside = besideNodes(plan);
  const folders = new Set<string>();
  for (const { path } of nodes) {
    const names = `${root}${path && `/${path}`}`.split("/");
    while (names.pop() && names.length > 0) folders.add(names.join("/"));
  }
  const changes: DocumentChange[] = [];
  for (const folder of folders) {
    const key: StoreKey = `${folder as StoreKey}/.zmetadata`;
    if (isBeside(key)) continue; // The conversion removes this document.
    const before = await store.get(key, options);
    if (before === undefined) continue;
    const after = withoutNodes(before, key, plan);
    if (after === before) continue;
    const path = folder.startsWith(`${root}/`)
      ? folder.slice(root.length + 1)
      : root.slice(folder.length + 1).replaceAll(/[^/]+/g, "..");
    const [from, to] = [textOf(before), textOf(after)];
    changes.push({
      ...{ path, name: ".zmetadata", before: from },
      ...{ interim: to, after: to },
    });
  }
  return changes;
}

function changeOf(
  path: string,
  before: Uint8Array,
  after: Uint8Array,
): DocumentChange {
  return {
    path,
    before: textOf(before),
    interim: textOf(changeZarrJson(before, interimOf)),
    after: textOf(after),
  };
}

/**
 * A document for the time in which arrays cannot be read: readers refuse that of an array,
 * and that of a group has no consolidated metadata, so that readers open the arrays' own.
 */
function interimOf(document: unknown): unknown {
  if (!isMembers(document)) return document;
  const { consolidated_metadata: _, ...rest } = document;
  if (document.node_type !== "array") return rest;
  const unknown = { name: UNFINISHED };
  return { ...rest, chunk_key_encoding: unknown, codecs: [unknown] };
}

/** The bytes of a text; `undefined` for an absent document. */
export function bytesOf(text: string | null): Uint8Array | undefined {
  return text === null ? undefined : new TextEncoder().encode(text);
}

/** The text of a document, which is kept as it is. */
export function textOf(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** The place in a store that has the changed documents as they were before a conversion in place. */
export function storeBefore(
  place: Place,
  { documents }: InPlaceState,
): Place {
  const { store, root } = place;
  const before = new Map<StoreKey, Uint8Array | undefined>();
  for (const change of documents) {
    const key = changedKey(place, change);
    if (key) before.set(key, bytesOf(change.before));
  }
  const overlay: Store & { toString(): string } = {
    get: (key, options) =>
      before.has(key)
        ? Promise.resolve(before.get(key))
        : store.get(key, options),
    list: (prefix, options) => store.list!(prefix, options),
    toString: () => String(store),
  };
  return { store: overlay, root };
}

/** The new metadata of an array, by its path. */
export function metadataAfter(
  { documents }: InPlaceState,
): (path: string) => unknown {
  const after = new Map(
    documents.filter(({ name }) => name === undefined)
      .map(({ path, after }) => [path, after]),
  );
  return (path) => {
    const text = after.get(path);
    return text && parseZarrJson(new TextEncoder().encode(text));
  };
}
