import { html, raw } from "hono/html";
import type { Html } from "./drawings.ts";
import { shapeText } from "../format.ts";
import type { Hierarchy, TreeNode } from "./hierarchy.ts";

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
      : node?.kind === "v2"
      ? "Zarr v2"
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
