/**
 * Serves the arrays at a URL to every Zarr client, as a Worker of Cloudflare:
 *
 *     npm install @zarr-parts/zarr-parts@npm:zarr-parts
 *     npx wrangler deploy cloudflare.ts --name arrays --compatibility-date 2026-01-01 --var STORE_URL:https://example.com/data
 */
import { HttpStore } from "@zarr-parts/zarr-parts";
import { createHandler } from "@zarr-parts/zarr-parts/serve";

/** The variables of the Worker. */
interface Variables {
  /** The folder with the arrays: `https://example.com/data`. */
  readonly STORE_URL: string;
}

/** Caches documents and indexes for all requests to one instance of the Worker. */
let handler: ((request: Request) => Promise<Response>) | undefined;

export default {
  fetch(request: Request, { STORE_URL }: Variables): Promise<Response> {
    handler ??= createHandler(new HttpStore(STORE_URL), {
      cacheControl: "public, max-age=60",
    });
    return handler(request);
  },
};
