import { html, raw } from "hono/html";
import { readDocument } from "../../arrays/mod.ts";
import { DamageError, MetadataError } from "../../errors/mod.ts";
import {
  assertNodeDocument,
  isArrayDocument,
  isGroupDocument,
  isMembers,
  nodePaths,
  parseZarrJson,
} from "../../metadata/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import type { Store, StoreKey } from "../../stores/mod.ts";
import { countText, shapeText } from "../format.ts";
import type { Html } from "./drawings.ts";

/** The most keys that are listed to find nodes. */
const MOST_KEYS = 300_000;
/** The most nodes that pages list. */
const MOST_NODES = 1000;
const DOCUMENT = "/zarr.json";
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
  });
  const reason = paths.length > shown.length
    ? `only the first ${countText(MOST_NODES)} nodes are shown`
    : gap;
  return {
    nodes: shown.flatMap((path) => nodes.get(path) ?? []),
    ...reason !== undefined && { gap: reason },
  };
}

/** Where nodes may be. */
interface FoundPaths {
  readonly paths: string[];
  readonly gap?: string;
}

async function listedPaths(keys: AsyncIterable<StoreKey>): Promise<FoundPaths> {
  const paths = new Set<string>();
  let count = 0;
  let gap: string | undefined;
  for await (const key of keys) {
    if (key.endsWith(DOCUMENT)) paths.add(key.slice(1, -DOCUMENT.length));
    if (++count === MOST_KEYS) {
      gap = `only the first ${countText(MOST_KEYS)} keys were listed`;
      break;
    }
  }
  return { paths: [...paths], ...gap && { gap } };
}

async function consolidatedPaths(store: Store): Promise<FoundPaths> {
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

/** A node or a folder of nodes, with those below it by name. */
interface Branch {
  readonly node: TreeNode | undefined;
  readonly branches: ReadonlyMap<string, Branch>;
}

/**
 * Draws the nodes of a store as nested lists of links.
 *
 * @param current The path of the page's own node.
 * @param root The path of the store's URL, without a last `/`.
 */
export function drawTree(
  { nodes, gap }: Hierarchy,
  current: string,
  root: string,
): Html {
  const { branches } = growTree(nodes);
  return html`${drawBranches(branches, "", current, root)}${
    gap && html`<p class="muted">Incomplete: ${gap}.</p>`
  }`;
}

function growTree(nodes: readonly TreeNode[]): Branch {
  const root = { node: undefined, branches: new Map() } as Growing;
  for (const node of nodes) {
    let branch = root;
    for (const name of node.path === "" ? [] : node.path.split("/")) {
      let next = branch.branches.get(name);
      if (next === undefined) {
        next = { node: undefined, branches: new Map() };
        branch.branches.set(name, next);
      }
      branch = next;
    }
    branch.node = node;
  }
  return root;
}

interface Growing {
  node: TreeNode | undefined;
  branches: Map<string, Growing>;
}

function drawBranches(
  branches: ReadonlyMap<string, Branch>,
  parent: string,
  current: string,
  root: string,
): Html | "" {
  if (branches.size === 0) return "";
  const items = Array.from(branches, ([name, { node, branches }]) => {
    const path = parent === "" ? name : `${parent}/${name}`;
    const note = node?.kind === "unreadable"
      ? "unreadable"
      : node?.shape && shapeText(node.shape);
    return html`
      <li
        class="${node?.kind ?? "folder"}"><a href="${urlOf(
          root,
          path,
        )}" ${path === current
          ? raw('aria-current="page"')
          : ""}>${name}</a> ${note &&
          html`<small>${note}</small>`}${drawBranches(
            branches,
            path,
            current,
            root,
          )}</li>
    `;
  });
  return html`<ul>${items}</ul>`;
}

/**
 * The URL of a node. It holds no quotes, so that it can stand between quotes in code that
 * is copied from a page.
 */
export function urlOf(root: string, path: string): string {
  const names = path.split("/").map(encodeURIComponent);
  return `${root}/${names.join("/").replaceAll("'", "%27")}`;
}
