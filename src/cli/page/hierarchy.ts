import { readDocument } from "../../arrays/read_document.ts";
import { DamageError } from "../../errors/damage_error.ts";
import { MetadataError } from "../../metadata/metadata_error.ts";
import {
  isArrayDocument,
  isGroupDocument,
  isMembers,
  nodePaths,
} from "../../metadata/node_documents.ts";
import { assertNodeDocument } from "../../metadata/node_metadata.ts";
import { parseZarrJson } from "../../metadata/zarr_json.ts";
import { runConcurrently } from "../../jobs/run_concurrently.ts";
import type { Store, StoreKey } from "../../stores/store.ts";

/** The most keys that are listed to find nodes. */
const MOST_KEYS = 300_000;
/** The most nodes that pages list. */
const MOST_NODES = 1000;
/** The number of documents that are read at once. */
const AT_ONCE = 16;

/** A node, as the tree of a page shows it. */
export interface TreeNode {
  readonly path: string;
  readonly kind: "group" | "array" | "unreadable";
  /** The shape of an array. */
  readonly shape?: readonly number[];
}

/** The nodes of a store. */
export interface Hierarchy {
  /** The nodes by path, without the folders between them. */
  readonly nodes: readonly TreeNode[];
  /** The reason for which nodes may be missing. */
  readonly gap?: string;
}

/**
 * Finds the nodes of a store: those that it lists or, if it cannot list, those in the
 * consolidated metadata of its root.
 */
export async function findNodes(store: Store): Promise<Hierarchy> {
  const { paths, gap } = typeof store.list === "function"
    ? await listedPaths(store.list("/"))
    : await consolidatedPaths(store);
  paths.sort(byName);
  const shown = paths.slice(0, MOST_NODES);
  const nodes = new Map<string, TreeNode>();
  await runConcurrently(shown, AT_ONCE, async (path) => {
    const node = await readNode(store, path);
    if (node !== undefined) nodes.set(path, node);
  }, undefined);
  const reason = paths.length > shown.length
    ? `only the first ${MOST_NODES} nodes are shown`
    : gap;
  return {
    nodes: shown.flatMap((path) => nodes.get(path) ?? []),
    ...reason !== undefined && { gap: reason },
  };
}

async function listedPaths(
  keys: AsyncIterable<StoreKey>,
): Promise<{ paths: string[]; gap?: string }> {
  const paths: string[] = [];
  let count = 0;
  for await (const key of keys) {
    if (key.endsWith("/zarr.json")) {
      paths.push(key.slice(1, -"/zarr.json".length));
    }
    if (++count === MOST_KEYS) {
      return { paths, gap: `only the first ${MOST_KEYS} keys were listed` };
    }
  }
  return { paths };
}

async function consolidatedPaths(
  store: Store,
): Promise<{ paths: string[]; gap?: string }> {
  const bytes = await readDocument(store, "/zarr.json", {});
  const document = bytes && parseZarrJson(bytes);
  const hasNames = isMembers(document) &&
    isMembers(document.consolidated_metadata);
  if (hasNames || isArrayDocument(document)) {
    return { paths: nodePaths(document) };
  }
  return {
    paths: bytes ? [""] : [],
    gap:
      "the store cannot list its nodes, and its root has no consolidated metadata",
  };
}

async function readNode(
  store: Store,
  path: string,
): Promise<TreeNode | undefined> {
  const key = `${path && "/"}${path}/zarr.json` as StoreKey;
  try {
    const bytes = await readDocument(store, key, {});
    if (bytes === undefined) return undefined;
    const document = parseZarrJson(bytes);
    assertNodeDocument(document);
    if (isGroupDocument(document)) return { path, kind: "group" };
    if (!isArrayDocument(document) || !isShape(document.shape)) {
      return { path, kind: "unreadable" };
    }
    return { path, kind: "array", shape: document.shape };
  } catch (error) {
    const isDamage = error instanceof MetadataError ||
      error instanceof DamageError || error instanceof SyntaxError;
    if (isDamage) return { path, kind: "unreadable" };
    throw error;
  }
}

function isShape(value: unknown): value is number[] {
  return Array.isArray(value) &&
    value.every((length) => typeof length === "number");
}

/** Orders paths as people count: `c/2` before `c/10`. */
const { compare: byName } = new Intl.Collator("en", { numeric: true });
