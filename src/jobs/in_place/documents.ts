import type { Place } from "../../hierarchy/mod.ts";
import {
  changeNodes,
  changeZarrJson,
  isArrayDocument,
  isMembers,
  parseExactZarrJson,
  V2_DOCUMENTS,
} from "../../metadata/mod.ts";
import { isSameBytes } from "../../runtime/mod.ts";
import type { StoreKey, StoreOptions } from "../../stores/mod.ts";
import type { Conversion } from "../convert/convert_options.ts";
import type { ConvertPlan } from "../convert/convert_plan.ts";
import { besideNodes, withoutNodes } from "../convert/source_files.ts";

/** The contents of the marker of a conversion in place: all that another run needs to finish the conversion. */
export interface InPlaceState {
  /** Whether a run has failed, so that the earlier layout is restored: the documents are swapped. */
  readonly isUndone: boolean;
  readonly documents: readonly DocumentChange[];
  /** The options of the layout as a text, which the next run may not change. */
  readonly layout: string;
  /** The number of chunks of each array, by the array's path. */
  readonly counts: Readonly<Record<string, number>>;
  /** The nodes and documents that the conversion reports beside its arrays. */
  readonly report: Pick<
    Conversion,
    "v2Documents" | "v2Nodes" | "leftOut" | "excluded" | "others"
  >;
}

/** The texts of a document before, during and after a conversion in place: `null` where it is absent. */
export interface DocumentChange {
  /** The path of the node below the converted one, or `..` for each group above it. */
  readonly path: string;
  readonly name: string;
  readonly before: string | null;
  /** The document while arrays do not open. */
  readonly interim: string | null;
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
  { path, name }: DocumentChange,
): StoreKey | undefined {
  const names = root.split("/").slice(1);
  for (const each of path.split("/")) {
    if (each !== "..") names.push(each);
    else if (names.pop() === undefined) return undefined;
  }
  return `/${[...names, name].filter((each) => each !== "").join("/")}`;
}

/**
 * The name of the chunk key encoding and of the codec of an array that is being converted.
 * Readers refuse unknown names, and messages show them.
 */
const UNFINISHED =
  "unfinished, to be finished by: zarr-parts convert --in-place";

/**
 * The documents that a conversion in place changes: inner nodes first, groups above last. The
 * metadata of Zarr v2 that names the earlier keys of chunks goes.
 */
export async function documentChanges(
  plan: ConvertPlan,
  options: StoreOptions,
): Promise<DocumentChange[]> {
  const { source: { store, root }, nodes, documents } = plan;
  const changes: DocumentChange[] = [];
  const arrays = new Map<string, Uint8Array>();
  for (const { path, bytes, document } of nodes.toReversed()) {
    const after = documents.get(path)!;
    if (isSameBytes(bytes, after)) continue;
    if (isArrayDocument(document)) arrays.set(path, after);
    changes.push(changeOf(path, bytes, after));
  }
  const above = root.split("/").slice(1);
  for (let up = "..", n = above.length - 1; n >= 0; n--, up += "/..") {
    const folder = ["", ...above.slice(0, n)].join("/");
    const bytes = await store.get(`${folder as StoreKey}/zarr.json`, options);
    if (bytes === undefined) continue;
    const below = above.slice(n).join("/");
    const after = changeZarrJson(
      bytes,
      (exact) =>
        changeNodes(exact, (node, name) => {
          const isBelow = name === below || name.startsWith(`${below}/`);
          const own = isBelow && arrays.get(name.slice(below.length + 1));
          return own ? parseExactZarrJson(own) : node;
        }),
    );
    if (after !== bytes) changes.push(changeOf(up, bytes, after));
  }
  if (changes.length > 0) changes.push(...await v2Changes(plan, options));
  for (const { path } of nodes) {
    for (const name of V2_DOCUMENTS) {
      const change = { path, name, before: null, interim: null, after: null };
      const bytes = await store.get(changedKey(plan.source, change)!, options);
      if (bytes) changes.push({ ...change, before: textOf(bytes) });
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
    const bytes = withoutNodes(before, key, plan);
    if (bytes === before) continue;
    const path = folder.startsWith(`${root}/`)
      ? folder.slice(root.length + 1)
      : root.slice(folder.length + 1).replaceAll(/[^/]+/g, "..");
    const after = textOf(bytes);
    changes.push({
      ...{ path, name: ".zmetadata", before: textOf(before) },
      ...{ interim: after, after },
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
    name: "zarr.json",
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
