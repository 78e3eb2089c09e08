import { html, raw } from "hono/html";
import { readDocument } from "../../arrays/mod.ts";
import { DamageError, MetadataError } from "../../errors/mod.ts";
import {
  assertNodeDocument,
  isArrayDocument,
  isGroupDocument,
  isMembers,
  type Members,
  parseZarrJson,
} from "../../metadata/mod.ts";
import { runConcurrently } from "../../runtime/mod.ts";
import type { Store, StoreKey } from "../../stores/mod.ts";
import { type Branch, treeOf } from "../draw_array.ts";
import { compareNames, countText, shapeText } from "../format.ts";
import { findPaths } from "../../hierarchy/mod.ts";
import type { Html } from "./drawings.ts";

/** The most keys that are listed to find nodes, and the most nodes that pages list. */
const LIMITS = { keys: 300_000, nodes: 1000 };
/** The number of documents that are read at once. */
const AT_ONCE = 16;

/** A node, as the tree of a page shows it. */
export interface TreeNode {
  readonly path: string;
  readonly kind: "group" | "array" | "unreadable";
  /** The shape of an array. */
  readonly shape?: readonly number[];
  /** The attributes of a group. */
  readonly attributes?: Members;
}

/** The nodes of a store. */
export interface Hierarchy {
  /** The nodes by path, without the folders between them. */
  readonly nodes: readonly TreeNode[];
  /** The reason for which nodes may be missing. */
  readonly gap?: string | undefined;
}

/**
 * Finds the nodes of a store: those that it lists or, if it cannot list, those in the
 * consolidated metadata of its root.
 */
export async function findNodes(store: Store): Promise<Hierarchy> {
  const { paths, gap } = await pathsOf(store);
  const nodes = new Map<string, TreeNode>();
  await runConcurrently(paths, AT_ONCE, async (path) => {
    const node = await readNode(store, path);
    if (node !== undefined) nodes.set(path, node);
  });
  return {
    nodes: paths.sort(compareNames).flatMap((path) => nodes.get(path) ?? []),
    gap,
  };
}

/** Where nodes may be. */
async function pathsOf(
  store: Store,
): Promise<{ paths: string[]; gap?: string | undefined }> {
  const canList = typeof store.list === "function";
  const bytes = canList
    ? undefined
    : await readDocument(store, "/zarr.json", {});
  const document = bytes && parseZarrJson(bytes);
  const place = { store, root: "" } as const;
  const { paths, areAll } = await findPaths(place, document, {}, LIMITS);
  if (paths === undefined) {
    return {
      paths: bytes ? [""] : [],
      gap:
        "the store cannot list its nodes, and its root has no consolidated metadata",
    };
  }
  const gap = `only the first ${
    countText(LIMITS.nodes)
  } nodes, or those of the first ${countText(LIMITS.keys)} keys, are shown`;
  return { paths, gap: areAll || !canList ? undefined : gap };
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
    if (isGroupDocument(document)) {
      const { attributes } = document as Members;
      const isGiven = isMembers(attributes);
      return { path, kind: "group", ...isGiven && { attributes } };
    }
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
    gap && html`<p class="muted">Incomplete: ${gap}.</p>`
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
            branch,
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
  if (path === "") return root;
  const names = path.split("/").map(encodeURIComponent);
  return `${root}/${names.join("/").replaceAll("'", "%27")}`;
}
