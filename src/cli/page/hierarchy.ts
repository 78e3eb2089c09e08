import { html, raw } from "hono/html";
import { readDocument } from "../../arrays/mod.ts";
import { DamageError } from "../../errors/mod.ts";
import { inspect, type InspectedArray } from "../../jobs/mod.ts";
import {
  assertNodeDocument,
  checkLengths,
  isArrayDocument,
  type Members,
  parseZarrJson,
} from "../../metadata/mod.ts";
import { mapConcurrently } from "../../runtime/mod.ts";
import { failureMessage, nodesIn } from "../../serve/mod.ts";
import type { Store, StoreKey } from "../../stores/mod.ts";
import { type Branch, treeOf } from "../draw_array.ts";
import { compareNames, countText, shapeText } from "../format.ts";
import { type Html, muted } from "./templates.ts";

/** The most keys that are listed to find nodes, and the most nodes that pages list. */
const LIMITS = { keys: 300_000, nodes: 1000 };
/** The number of documents that are read at once. */
const AT_ONCE = 16;

/** A node, as the tree of a page shows it. */
export interface TreeNode {
  readonly path: string;
  readonly kind: "group" | "array" | "unreadable";
  /** The document, if it can be read. */
  readonly document?: Members;
}

/** The nodes of a store. */
export interface Hierarchy {
  /** The nodes by path, without the folders between them. */
  readonly nodes: readonly TreeNode[];
  /** The reason for which nodes may be missing. */
  readonly gap?: string;
}

/** Finds the nodes of a store, as {@linkcode nodesIn} does, and reads their documents. */
export async function findNodes(store: Store): Promise<Hierarchy> {
  const { paths, areAll, areUnknown } = await nodesIn(store, "", {}, LIMITS);
  const read = await mapConcurrently(
    paths.toSorted(compareNames),
    AT_ONCE,
    (path) => readNode(store, path),
  );
  const nodes = read.filter((node) => node !== undefined);
  if (areUnknown) {
    return {
      nodes,
      gap:
        "the store cannot list its nodes, and its root has no consolidated metadata",
    };
  }
  if (areAll || store.list === undefined) return { nodes };
  const [count, keys] = [LIMITS.nodes, LIMITS.keys].map(countText);
  return {
    nodes,
    gap:
      `only the first ${count} nodes, or those of the first ${keys} keys, are shown`,
  };
}

async function readNode(
  store: Store,
  path: string,
): Promise<TreeNode | undefined> {
  try {
    const bytes = await readDocument(store, documentOf(path), {});
    if (bytes === undefined) return undefined;
    const document = parseZarrJson(bytes) as Members;
    assertNodeDocument(document);
    const kind = isArrayDocument(document) ? "array" : "group";
    if (kind === "array") checkLengths(document.shape, "shape", 0);
    return { path, kind, document };
  } catch (error) {
    const isDamage = error instanceof SyntaxError ||
      error instanceof DamageError;
    if (isDamage) return { path, kind: "unreadable" };
    throw error;
  }
}

/** The shape of an array of the tree; `undefined` for other nodes. */
export function shapeOf(node: TreeNode | undefined): number[] | undefined {
  return node?.document?.shape as number[] | undefined;
}

/** A node that a page is asked for. */
export interface PageRequest {
  readonly store: Store;
  /** The name of the store, such as its folder. */
  readonly title: string;
  /** The URL of the store, without a last `/`. */
  readonly root: string;
  readonly hierarchy: Hierarchy;
  /** The path of the node. */
  readonly path: string;
  /** `chunk`: the grid coordinates of the chunk to show, joined by commas or one by one. */
  readonly query: URLSearchParams;
  /** Called with each failure. The page does not show the message, which may have paths of the server. */
  readonly onError: (error: unknown) => void;
}

/** Reports an error, and returns the text that a page shows in its place. */
export function explain(
  { onError }: PageRequest,
  error: unknown,
  key: string,
): string {
  onError(error);
  const message = failureMessage(error, key);
  return message.includes(key) ? message : `${key}: ${message}`;
}

/** The key of the document of a node. */
export function documentOf(path: string): StoreKey {
  return `${path && "/"}${path}/zarr.json` as StoreKey;
}

/**
 * Reads what a page shows of an array.
 *
 * @param chunk The coordinates of a chunk, `undefined` for the first one, and `null` for none.
 */
export async function inspectArray(
  { store }: PageRequest,
  path: string,
  signal: AbortSignal,
  chunk: readonly number[] | null | undefined,
): Promise<InspectedArray> {
  const options = { count: false, chunk, signal };
  const { nodes: [node] } = await inspect(store, path, options);
  return { ...node as InspectedArray, path };
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
  return html`${drawBranches(treeOf(nodes), "", current, root)}${
    gap && muted(`Incomplete: ${gap}.`)
  }`;
}

function drawBranches(
  { branches }: Branch<TreeNode>,
  parent: string,
  current: string,
  root: string,
): Html | "" {
  if (branches.size === 0) return "";
  const items = Array.from(branches, ([name, branch]) => {
    const { node } = branch;
    const path = parent === "" ? name : `${parent}/${name}`;
    const shape = shapeOf(node);
    const note = node?.kind === "unreadable"
      ? "unreadable"
      : shape && shapeText(shape);
    const mark = path === current ? raw('aria-current="page"') : "";
    return html`<li class="${node?.kind ?? "folder"}">
<a href="${urlOf(root, path)}" ${mark}>${name}</a>
${note && html`<small>${note}</small>`}
${drawBranches(branch, path, current, root)}
</li>`;
  });
  return html`<ul>${items}</ul>`;
}

/**
 * The URL of a node. It holds no quotes, so that it can stand between quotes in code that
 * is copied from a page.
 */
export function urlOf(root: string, path: string): string {
  if (path === "") return root;
  const names = path.split("/").map(encodeURIComponent);
  return `${root}/${names.join("/").replaceAll("'", "%27")}`;
}
