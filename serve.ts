/**
 * Serves arrays over HTTP, so that clients read them that know neither `suffix` nor
 * `concat-parts`: a function from `Request` to `Response`, for any server.
 *
 * @example A folder on port 8000
 * ```ts ignore
 * import { FileSystemStore } from "@zarr-parts/zarr-parts";
 * import { createHandler } from "@zarr-parts/zarr-parts/serve";
 *
 * Deno.serve({ port: 8000 }, createHandler(new FileSystemStore("data")));
 * ```
 *
 * @module
 */

export {
  createHandler,
  type HandlerOptions,
  type KeepOptions,
  type ServedForm,
} from "./src/serve/mod.ts";
