import { html, raw } from "hono/html";
import { openArrayChunks } from "../../arrays/mod.ts";
import { MetadataError } from "../../errors/mod.ts";
import { inspect, type InspectedArray } from "../../jobs/mod.ts";
import { failureMessage } from "../../serve/mod.ts";
import type { Store, StoreKey } from "../../stores/mod.ts";
import { jsonText, unitsText } from "../format.ts";
import {
  arrayPage,
  arrayScript,
  type ChunkProblem,
  groupSnippetsFor,
  openIn,
  section,
} from "./array_page.ts";
import { ASSETS } from "./assets.ts";
import { choosePictureAxes, mapChunks } from "./chunk_map.ts";
import type { Html } from "./drawings.ts";
import { describeMultiscales } from "./multiscale_section.ts";
import { drawTree, type Hierarchy, type TreeNode, urlOf } from "./hierarchy.ts";
import { importMap } from "./modules.ts";

/** A node that a page is asked for. */
interface PageRequest {
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

/** A page, and how it is answered. */
interface NodePage {
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
    const content =
      node?.kind === "array" || node?.kind === "unreadable" || !isKnown
        ? await describeArray(request, signal)
        : await describeGroup(request, node, below, signal);
    return await render(request, content, 200);
  } catch (error) {
    if (!isKnown && error instanceof MetadataError) return undefined;
    const content = html`
      <p class="alert" role="alert">${explain(
        request,
        error,
        documentOf(path),
      )}.</p>
      <p class="muted">The server tells more on its standard error.</p>
    `;
    return await render(request, content, 502);
  }
}

/** Reports an error, and returns the text that a page shows in its place. */
function explain(
  { onError }: PageRequest,
  error: unknown,
  key: string,
): string {
  onError(error);
  const message = failureMessage(error, key);
  return message.includes(key) ? message : `${key}: ${message}`;
}

/** The key of the document of a node. */
function documentOf(path: string): StoreKey {
  return `${path && "/"}${path}/zarr.json` as StoreKey;
}

async function describeArray(
  request: PageRequest,
  signal: AbortSignal,
): Promise<Html> {
  const { store, path, query, root } = request;
  const chunks = await openArrayChunks(store, path, { signal });
  const { metadata: { shape, dimension_names, data_type }, gridShape } = chunks;
  const axes = choosePictureAxes(shape, dimension_names ?? [], data_type);
  const chosen = coordinatesOf(query.getAll("chunk").join(), gridShape);
  const hasMap = store.list !== undefined && !gridShape.includes(0);
  const map = hasMap
    ? await mapChunks(chunks, axes, { signal }).catch((error) =>
      explain(request, error, documentOf(path))
    )
    : undefined;
  const chunk = chosen ?? (typeof map === "object" ? map.first : undefined);
  let problem: ChunkProblem | undefined;
  const describe = async (chunk: readonly number[] | null | undefined) => {
    const { nodes: [node] } = await inspect(store, path, {
      count: false,
      chunk,
      signal,
    });
    return { ...node as InspectedArray, path };
  };
  const array = await describe(chunk).catch(async (error) => {
    const coordinates = chunk ?? gridShape.map(() => 0);
    const message = explain(request, error, chunks.key(coordinates));
    problem = { coordinates, message };
    return await describe(null);
  });
  const url = urlOf(root, path);
  return arrayPage({ array, axes, map, url, problem });
}

/** Parses coordinates of the chunk grid. */
function coordinatesOf(
  text: string,
  gridShape: readonly number[],
): number[] | undefined {
  const isList = /^\d{1,15}(,\d{1,15})*$/.test(text);
  const coordinates = isList ? text.split(",").map(Number) : [];
  const isInGrid = coordinates.length === gridShape.length &&
    coordinates.every((each, i) => each < gridShape[i]!);
  return isInGrid && isList ? coordinates : undefined;
}

async function describeGroup(
  request: PageRequest,
  node: TreeNode | undefined,
  below: readonly TreeNode[],
  signal: AbortSignal,
): Promise<Html> {
  const { hierarchy, path, root } = request;
  const { attributes = {} } = node ?? {};
  const array = below.find(({ kind }) => kind === "array")?.path;
  const prefix = path === "" ? "" : `${path}/`;
  const url = urlOf(root, path);
  const count = hierarchy.gap === undefined ? "" : "at least ";
  const text = `${node ? "A group" : "A folder"} with ${count}${
    countNodes(below)
  }`;
  if (node === undefined) {
    return html`
      <p>${below.length === 0
        ? "There are no Zarr nodes: no zarr.json is here or below"
        : text}.</p>
    `;
  }
  const page = {
    ...{ hierarchy, path, attributes },
    url: (path: string) => urlOf(root, path),
    describe: (path: string) => describeLevel(request, path, signal),
  };
  const images = await describeMultiscales(page);
  const smallest = images?.pictured?.path ?? array;
  const snippets = groupSnippetsFor(url, smallest?.slice(prefix.length));
  return html`
    <p>${text}.</p>
    <div class="columns">
      <div>${images && section("Picture", images.picture)}
    ${section("Open it in", openIn(snippets))}</div>
      <div>
    ${images && section("Levels", images.levels)}
    ${section(
      "Attributes",
      html`${
        Object.keys(attributes).length === 0
          ? html`<p class="muted">There are none.</p>`
          : html`<pre tabindex="0">${jsonText(attributes)}</pre>`
      }<p><a href="${url}/zarr.json">zarr.json</a></p>`,
    )}
      </div>
    </div>
    ${images?.pictured && arrayScript(images.pictured)}
  `;
}

/** Reads the metadata of an array in a group, or returns the reason why it cannot be read. */
async function describeLevel(
  request: PageRequest,
  path: string,
  signal: AbortSignal,
): Promise<InspectedArray | string> {
  const { store } = request;
  try {
    const options = { count: false, chunk: null, signal };
    const { nodes: [node] } = await inspect(store, path, options);
    return node?.kind === "array" ? { ...node, path } : "not an array";
  } catch (error) {
    return explain(request, error, documentOf(path));
  }
}

/** The nodes of each kind in words, such as `1 array, 2 groups and 1 node that cannot be read`. */
function countNodes(nodes: readonly TreeNode[]): string {
  const of = (kind: TreeNode["kind"]) =>
    nodes.filter((node) => node.kind === kind).length;
  const [groups, unreadable] = [of("group"), of("unreadable")];
  return new Intl.ListFormat("en-GB").format([
    unitsText(of("array"), "array"),
    ...groups > 0 ? [unitsText(groups, "group")] : [],
    ...unreadable > 0
      ? [`${unitsText(unreadable, "node")} that cannot be read`]
      : [],
  ]);
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
        <a class="skip" href="#main">Skip to the content</a>
        <nav aria-label="Nodes">
          <details class="tree" open>
    <summary><a href="${mount}/">${title}</a></summary>
    ${drawTree(hierarchy, path, mount)}
          </details>
        </nav>
        <main id="main" tabindex="-1">
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
      "form-action 'self'",
    ].join("; "),
  };
}
