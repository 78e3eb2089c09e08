import {
  changeNodes,
  isArrayDocument,
  isMembers,
} from "../../metadata/node_documents.ts";
import { changeZarrJson } from "../../metadata/format_zarr_json.ts";
import { parseExactZarrJson, parseZarrJson } from "../../metadata/zarr_json.ts";
import type { Store, StoreKey, StoreOptions } from "../../stores/store.ts";
import type { ConvertPlan } from "../plan/convert_plan.ts";
import { changedKey, type DocumentChange, type InPlaceState } from "./state.ts";
import { isSameBytes } from "../../stores/is_same_file.ts";
import type { Place } from "../hierarchy/node_location.ts";

/**
 * The name of the chunk key encoding and of the codec of an array that is being converted.
 * Readers refuse unknown names, and messages show them.
 */
const UNFINISHED =
  "unfinished, to be finished by: zarr-parts convert --in-place";

/** The documents that a conversion in place changes: inner nodes first, groups above last. */
export async function documentChanges(
  { source, nodes, documents }: ConvertPlan,
  options: StoreOptions,
): Promise<DocumentChange[]> {
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
    meanwhile: textOf(changeZarrJson(before, meanwhileOf)),
    after: textOf(after),
  };
}

/** A document that is refused by readers if it is that of an array, and leads them to the arrays' own documents if it is that of a group. */
function meanwhileOf(document: unknown): unknown {
  if (!isMembers(document)) return document;
  const { consolidated_metadata: _, ...rest } = document;
  if (document.node_type !== "array") return rest;
  const unknown = { name: UNFINISHED };
  return { ...rest, chunk_key_encoding: unknown, codecs: [unknown] };
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** A store that has some documents as they were before a conversion in place. */
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
  const after = new Map(documents.map(({ path, after }) => [path, after]));
  return (path) => {
    const text = after.get(path);
    return text && parseZarrJson(new TextEncoder().encode(text));
  };
}
