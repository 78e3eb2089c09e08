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
  readonly mount?: string;
  readonly onError?: (error: unknown, request: Request) => void;
}

/**
 * The pages that show the nodes of a store in browsers: one for each node, at the URL of the
 * node, for requests that accept HTML. Requests for `zarr.json` and chunks get no page.
 */
export class IndexPages {
  readonly #store: Store;
  readonly #title: string;
  readonly #mount: string;
  readonly #onError: (error: unknown, request: Request) => void;
  #hierarchy:
    | { time: number; readonly nodes: Promise<Hierarchy> }
    | undefined;

  /**
   * @param store The store, as it is stored. Nodes of Zarr v2 are shown as those of Zarr v3.
   * @param title The name of the store, such as its folder.
   * @param options `mount`: the path before all URLs of the store, empty, or with a first
   * `/`; `onError`: called with each failure, whose message pages do not show.
   */
  constructor(
    store: Store,
    title: string,
    { mount = "", onError = console.error }: PageOptions = {},
  ) {
    this.#store = v2View(store);
    this.#title = title;
    this.#mount = mount;
    this.#onError = onError;
  }

  /** Answers a request of a browser for a page or a file of it. Returns `undefined` for all others. */
  async answer(request: Request): Promise<Response | undefined> {
    const { method, headers } = request;
    if (method !== "GET" && method !== "HEAD") return undefined;
    const acceptsHtml = headers.get("Accept")?.includes("text/html");
    if (!acceptsHtml && !request.url.includes(ASSETS)) return undefined;
    const path = pathBelow(this.#mount, request.url);
    if (path?.startsWith(ASSETS)) {
      try {
        return await answerAsset(path.slice(ASSETS.length));
      } catch (error) {
        this.#onError(error, request);
        const body = "The server cannot load this module from npm\n";
        return new Response(body, { status: 502 });
      }
    }
    const name = acceptsHtml && path !== undefined ? nodeOf(path) : undefined;
    if (name === undefined) return undefined;
    const url = new URL(request.url);
    const onError = (error: unknown) => this.#onError(error, request);
    const hierarchy = await this.#nodes(onError);
    const page = await nodePage({
      store: this.#store,
      title: this.#title,
      root: `${url.origin}${this.#mount}`,
      hierarchy,
      path: name,
      query: url.searchParams,
      onError,
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
  }

  #nodes(onError: (error: unknown) => void): Promise<Hierarchy> {
    const known = this.#hierarchy;
    if (known && performance.now() - known.time < HIERARCHY_AGE) {
      return known.nodes;
    }
    const nodes = findNodes(this.#store).catch((error) => {
      onError(error);
      return { nodes: [], gap: failureMessage(error, "/zarr.json") };
    });
    // The time starts when the hierarchy is read, which may take longer than that.
    const hierarchy = { time: Infinity, nodes };
    nodes.then(() => hierarchy.time = performance.now());
    this.#hierarchy = hierarchy;
    return nodes;
  }
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
