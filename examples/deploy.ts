/**
 * Serves the arrays at a URL to every Zarr client, on Deno Deploy or anywhere:
 *
 *     STORE_URL=https://example.com/data deno serve --allow-net --allow-env examples/deploy.ts
 *
 * STORE_URL is the URL of the folder with the arrays, without a password in it.
 * CACHE_CONTROL is the header `Cache-Control` of values, `public, max-age=60` by default.
 */
import { HttpStore } from "@zarr-parts/zarr-parts";
import { createHandler } from "@zarr-parts/zarr-parts/serve";

const url = Deno.env.get("STORE_URL");
if (url === undefined) {
  throw new Error(
    "Expected the URL of a folder in the environment variable STORE_URL",
  );
}

export default {
  fetch: createHandler(new HttpStore(url), {
    cacheControl: Deno.env.get("CACHE_CONTROL") ?? "public, max-age=60",
  }),
} satisfies Deno.ServeDefaultExport;
