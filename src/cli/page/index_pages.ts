import { failureMessage, pathBelow } from "../../serve/mod.ts";
import { keyProblem, type Store } from "../../stores/mod.ts";
import { v2View } from "../../views/mod.ts";
import { answerAsset, ASSETS } from "./assets.ts";
import { findNodes, type Hierarchy } from "./hierarchy.ts";
import { nodePage } from "./node_page.ts";

/** The time for which the hierarchy of a store is not read again, in milliseconds. */
const HIERARCHY_AGE = 5000;

/** The time that a store may take for a page, in milliseconds. */
const LONGEST_TIME = 30_000;

const HTML_HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Cache-Control": "no-cache",
  "Vary": "Accept",
  "X-Content-Type-Options": "nosniff",
};

/** How pages are served. */
interface PageOptions {
  /** The path before all URLs of the store, empty, or with a first `/`. */
  readonly mount?: string;
  /** Called with each failure, whose message pages do not show. */
  readonly onError?: (error: unknown, request: Request) => void;
}

/**
 * Creates a function that answers requests of browsers for the pages of a store and their files:
 * one page for each node, at the URL of the node, for requests that accept HTML. It returns
 * `undefined` for all other requests, such as those for `zarr.json` and chunks.
 *
 * @param stored The store, as it is stored. Nodes of Zarr v2 are shown as those of Zarr v3.
 * @param title The name of the store, such as its folder.
 */
export function createPages(
  stored: Store,
  title: string,
  { mount = "", onError = console.error }: PageOptions = {},
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
    if (page === undefined) return undefined;
    const { html, policy, status } = page;
    return new Response(method === "HEAD" ? null : html, {
      status,
      headers: {
        ...HTML_HEADERS,
        "Content-Length": `${new TextEncoder().encode(html).length}`,
        "Content-Security-Policy": policy,
      },
    });
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
