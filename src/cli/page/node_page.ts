import { html, raw } from "hono/html";
import { openArrayChunks } from "../../arrays/open_array_chunks.ts";
import { inspect } from "../../jobs/inspect/inspect.ts";
import type { InspectedArray } from "../../jobs/inspect/inspection.ts";
import { MetadataError } from "../../metadata/metadata_error.ts";
import type { Store } from "../../stores/store.ts";
import { arrayPage } from "./array_page.ts";
import { ASSETS } from "./assets.ts";
import { type ChunkMap, mapChunks } from "./chunk_map.ts";
import type { Html } from "./drawings.ts";
import { choosePictureAxes } from "./picture_axes.ts";
import type { Hierarchy, TreeNode } from "./hierarchy.ts";
import { importMap } from "./modules.ts";
import { drawTree, urlOf } from "./tree.ts";

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
  /** The grid coordinates of the chunk to show, joined by commas. */
  readonly chunk: string | null;
}

/** A page, and how it is answered. */
export interface NodePage {
  readonly status: number;
  readonly html: string;
  /** The sources that the page may load from, for `Content-Security-Policy`. */
  readonly policy: string;
}

/** The page of a node or a folder of nodes; `undefined` if there is none at the path. */
export async function nodePage(
  request: PageRequest,
  signal: AbortSignal,
): Promise<NodePage | undefined> {
  const { hierarchy, path } = request;
  const node = hierarchy.nodes.find((node) => node.path === path);
  const prefix = path === "" ? "" : `${path}/`;
  const below = hierarchy.nodes.filter((node) =>
    node.path !== path && node.path.startsWith(prefix)
  );
  const isEmptyStore = path === "" && hierarchy.gap === undefined;
  const isKnown = node !== undefined || below.length > 0 || isEmptyStore;
  if (!isKnown && hierarchy.gap === undefined) return undefined;
  try {
    const isArray = node?.kind === "array" || node?.kind === "unreadable" ||
      !isKnown;
    const content = isArray
      ? await describeArray(request, signal)
      : groupContent(node, below);
    return await render(request, content, 200);
  } catch (error) {
    if (!isKnown && error instanceof MetadataError) return undefined;
    const message = error instanceof Error ? error.message : String(error);
    const content = html`<p class="alert" role="alert">${message}</p>`;
    return await render(request, content, 502);
  }
}

async function describeArray(
  { store, path, chunk, root }: PageRequest,
  signal: AbortSignal,
): Promise<Html> {
  const chunks = await openArrayChunks(store, path, { signal });
  const { metadata: { shape, dimension_names, data_type }, gridShape } = chunks;
  const axes = choosePictureAxes(shape, dimension_names ?? [], data_type);
  const map: ChunkMap | undefined = store.list === undefined
    ? undefined
    : await mapChunks(chunks, axes, { signal });
  const { nodes: [node] } = await inspect(store, path, {
    count: false,
    chunk: coordinatesOf(chunk, gridShape) ?? map?.first,
    signal,
  });
  return arrayPage(
    { ...node as InspectedArray, path },
    axes,
    map,
    path === "" ? root : urlOf(root, path),
  );
}

/** Parses coordinates of the chunk grid. */
function coordinatesOf(
  text: string | null,
  gridShape: readonly number[],
): number[] | undefined {
  const isList = text !== null && /^\d{1,15}(,\d{1,15})*$/.test(text);
  const coordinates = isList ? text.split(",").map(Number) : [];
  const isInGrid = coordinates.length === gridShape.length &&
    coordinates.every((each, i) => each < gridShape[i]!);
  return isInGrid && isList ? coordinates : undefined;
}

function groupContent(
  node: TreeNode | undefined,
  below: readonly TreeNode[],
): Html {
  const arrays = below.filter(({ kind }) => kind === "array").length;
  const groups = below.length - arrays;
  return html`<p>${node ? "A group" : "A folder"} with ${
    countOf(arrays, "array")
  }${
    groups > 0
      ? html`
        and ${countOf(groups, "group")}
      `
      : ""
  }.</p>`;
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

async function render(
  { title, root, hierarchy, path }: PageRequest,
  content: Html,
  status: number,
): Promise<NodePage> {
  const mount = new URL(root).pathname.replace(/\/$/, "");
  const folder = mount + ASSETS;
  const nonce = crypto.randomUUID();
  const names = path === "" ? [] : path.split("/");
  const page = await html`
    <!DOCTYPE html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width">
        <title>${names.at(-1) ?? title} · zarr-parts</title>
        <link rel="icon" href="data:,">
        <link rel="stylesheet" href="${folder}page.css">
        <script type="importmap" nonce="${nonce}">${raw(
          importMap(`${folder}modules/`),
        )}</script>
        <script type="module" src="${folder}script.js"></script>
      </head>
      <body>
        <nav aria-label="Nodes">
          <details class="tree" open>
    <summary><a href="${mount}/">${title}</a></summary>
    ${drawTree(hierarchy, path, mount)}
          </details>
        </nav>
        <main>
    <h1>${names.length === 0
      ? title
      : names.map((name, i) =>
        html`${i > 0 ? html`<i>/</i>` : ""}${name}`
      )}</h1>
    ${content}
        </main>
      </body>
    </html>
  `;
  return {
    status,
    html: String(page),
    policy: [
      "default-src 'none'",
      // The codecs of zarrita fetch their Wasm from data URLs.
      "connect-src 'self' data:",
      "img-src data:",
      // Their Wasm modules are made by Emscripten, which evaluates texts.
      `script-src 'self' 'nonce-${nonce}' 'unsafe-eval'`,
      // Drawings set their sizes by style attributes.
      "style-src 'self' 'unsafe-inline'",
      "base-uri 'none'",
      "form-action 'none'",
    ].join("; "),
  };
}
