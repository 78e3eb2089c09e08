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
import {
  readSize,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../../stores/mod.ts";
import type { ConvertPlan } from "../convert/convert_plan.ts";
import { besideNodes, withoutNodes } from "../convert/source_files.ts";
import type { Place } from "../../hierarchy/mod.ts";
import { changedKey, type DocumentChange, type InPlaceState } from "./state.ts";

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

/** The keys of Zarr v2 metadata beside the documents of nodes, below the outermost node. */
export async function v2DocumentsBeside(
  { source, nodes }: ConvertPlan,
  options: StoreOptions,
): Promise<StoreKey[]> {
  const found: StoreKey[] = [];
  for (const { path } of nodes) {
    for (const name of V2_DOCUMENTS) {
      const key: StoreKey = path === "" ? `/${name}` : `/${path}/${name}`;
      const whole: StoreKey = `${source.root as StoreKey}${key}`;
      if (await readSize(source.store, whole, options) !== undefined) {
        found.push(key);
      }
    }
  }
  return found;
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

function textOf(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** The place in a store that has the changed documents as they were before a conversion in place. */
export function storeBefore(
  place: Place,
  { documents }: InPlaceState,
): Place {
  const { store, root } = place;
  const before = new Map<StoreKey, Uint8Array>();
  for (const change of documents) {
    const key = changedKey(place, change);
    if (key) before.set(key, new TextEncoder().encode(change.before));
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
