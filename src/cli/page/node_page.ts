import { html, raw } from "hono/html";
import { MetadataError } from "../../errors/mod.ts";
import { isMembers } from "../../metadata/mod.ts";
import { unitsText } from "../format.ts";
import { arrayPage, groupSnippetsFor, openIn } from "./array_page.ts";
import { ASSETS } from "./assets.ts";
import {
  documentOf,
  drawTree,
  explain,
  type PageRequest,
  type TreeNode,
  urlOf,
} from "./hierarchy.ts";
import { importMap } from "./modules.ts";
import { describeMultiscales } from "./multiscale_section.ts";
import {
  alert,
  arrayScript,
  columns,
  documentLink,
  type Html,
  jsonBlock,
  muted,
  section,
} from "./templates.ts";

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
