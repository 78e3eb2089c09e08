import { html, raw } from "hono/html";
import { MetadataError } from "../../errors/mod.ts";
import { isMembers } from "../../metadata/mod.ts";
import { failureMessage, pathBelow } from "../../serve/mod.ts";
import { keyProblem, type Store } from "../../stores/mod.ts";
import { v2View } from "../../views/mod.ts";
import { unitsText } from "../format.ts";
import { arrayPage, groupSnippetsFor, openIn } from "./array_page.ts";
import { answerAsset, ASSETS, importMap } from "./assets.ts";
import { arrayScript } from "./drawings.ts";
import {
  documentOf,
  drawTree,
  explain,
  findNodes,
  type Hierarchy,
  type PageRequest,
  type TreeNode,
  urlOf,
} from "./hierarchy.ts";
import { describeMultiscales } from "./multiscale_section.ts";
import {
  alert,
  columns,
  documentLink,
  type Html,
  jsonBlock,
  muted,
  section,
} from "./templates.ts";

/** The time for which the hierarchy of a store is not read again, in milliseconds. */
const HIERARCHY_AGE = 5000;

/** The time that a store may take for a page, in milliseconds. */
const LONGEST_TIME = 30_000;

/**
 * Creates a function that answers requests of browsers for the pages of a store and their files:
 * one page for each node, at the URL of the node, for requests that accept HTML. It returns
 * `undefined` for all other requests, such as those for `zarr.json` and chunks.
 *
 * @param stored The store, as it is stored. Nodes of Zarr v2 are shown as those of Zarr v3.
 * @param title The name of the store, such as its folder.
 * @param options `mount`: the path before all URLs of the store, empty, or with a first `/`;
 * `onError`: called with each failure, whose message pages do not show.
 */
export function createPages(
  stored: Store,
  title: string,
  { mount = "", onError = console.error }: {
    mount?: string;
    onError?: (error: unknown, request: Request) => void;
  } = {},
): (request: Request) => Promise<Response | undefined> {
  const store = v2View(stored);
  let known: { time: number; hierarchy: Promise<Hierarchy> } | undefined;
  const readHierarchy = (onError: (error: unknown) => void) => {
    if (known && performance.now() - known.time < HIERARCHY_AGE) {
      return known.hierarchy;
    }
    const hierarchy = findNodes(store).catch((error): Hierarchy => {
      onError(error);
      return { nodes: [], gap: failureMessage(error, "/zarr.json") };
    });
    // The time starts when the hierarchy is read, which may take longer than that.
    const reading = known = { time: Infinity, hierarchy };
    hierarchy.then(() => reading.time = performance.now());
    return hierarchy;
  };
  return async (request) => {
    const { method, headers } = request;
    if (method !== "GET" && method !== "HEAD") return undefined;
    const acceptsHtml = headers.get("Accept")?.includes("text/html");
    if (!acceptsHtml && !request.url.includes(ASSETS)) return undefined;
    const path = pathBelow(mount, request.url);
    if (path?.startsWith(ASSETS)) {
      return await answerAsset(path.slice(ASSETS.length)).catch((error) => {
        onError(error, request);
        const body = "The server cannot load this module from npm\n";
        return new Response(body, { status: 502 });
      });
    }
    const name = acceptsHtml && path !== undefined ? nodeOf(path) : undefined;
    if (name === undefined) return undefined;
    const url = new URL(request.url);
    const onFailure = (error: unknown) => onError(error, request);
    const page = await nodePage({
      store,
      title,
      root: `${url.origin}${mount}`,
      hierarchy: await readHierarchy(onFailure),
      path: name,
      query: url.searchParams,
      onError: onFailure,
    }, AbortSignal.timeout(LONGEST_TIME));
    return page && method === "HEAD" ? new Response(null, page) : page;
  };
}

/** The path of a node as URLs name it, or `undefined` for names that no node has. */
function nodeOf(pathname: string): string | undefined {
  try {
    const name = decodeURIComponent(pathname).replace(/^\/+|\/+$/g, "");
    return name === "" || keyProblem(name) === undefined ? name : undefined;
  } catch {
    return undefined;
  }
}

/** The page of a node or a folder of nodes; `undefined` if there is none at the path. */
async function nodePage(
  request: PageRequest,
  signal: AbortSignal,
): Promise<Response | undefined> {
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
        ? await arrayPage(request, signal)
        : await describeGroup(request, node, below, signal);
    return await render(request, content, 200);
  } catch (error) {
    if (!isKnown && error instanceof MetadataError) return undefined;
    const message = explain(request, error, documentOf(path));
    const content = html`${alert(message)}${
      muted("The server tells more on its standard error.")
    }`;
    return await render(request, content, 502);
  }
}

async function describeGroup(
  request: PageRequest,
  node: TreeNode | undefined,
  below: readonly TreeNode[],
  signal: AbortSignal,
): Promise<Html> {
  const { hierarchy, path, root } = request;
  const count = hierarchy.gap === undefined ? "" : "at least ";
  const kind = node ? "A group" : "A folder";
  const text = `${kind} with ${count}${countNodes(below)}`;
  if (node === undefined) {
    return html`<p>${
      below.length > 0
        ? text
        : "There are no Zarr nodes: no zarr.json is here or below"
    }.</p>`;
  }
  const given = node.document?.attributes;
  const attributes = isMembers(given) ? given : {};
  const images = await describeMultiscales(request, attributes, signal);
  const array = images?.pictured?.path ??
    below.find(({ kind }) => kind === "array")?.path;
  const url = urlOf(root, path);
  const snippets = groupSnippetsFor(
    url,
    array?.slice(path === "" ? 0 : path.length + 1),
  );
  const listed = Object.keys(attributes).length === 0
    ? muted("There are none.")
    : jsonBlock(attributes);
  return html`<p>${text}.</p>${
    columns([
      images ? section("Picture", images.picture) : "",
      section("Open it in", openIn(snippets)),
    ], [
      images ? section("Levels", images.levels) : "",
      section("Attributes", html`${listed}${documentLink(url)}`),
    ])
  }${images?.pictured && arrayScript(images.pictured)}`;
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
): Promise<Response> {
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
  const body = String(page);
  return new Response(body, {
    status,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Length": `${new TextEncoder().encode(body).length}`,
      "Cache-Control": "no-cache",
      "Vary": "Accept",
      "X-Content-Type-Options": "nosniff",
      "Content-Security-Policy": policyOf(nonce),
    },
  });
}

/** The sources that a page may load from. */
function policyOf(nonce: string): string {
  return [
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
  ].join("; ");
}
