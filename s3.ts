/**
 * Arrays in buckets: a store over Amazon S3 and services with its interface.
 *
 * @example
 * ```ts
 * import { openArrayChunks } from "@zarr-parts/zarr-parts";
 * import { S3Store } from "@zarr-parts/zarr-parts/s3";
 * import { assertRejects } from "@std/assert";
 *
 * const store = new S3Store("s3://bucket/data.zarr", {
 *   fetch: () => Promise.resolve(new Response(null, { status: 404 })),
 * });
 * await assertRejects(() => openArrayChunks(store), Error, "No Zarr node");
 * ```
 *
 * @module
 */

export {
  type S3Credentials,
  S3Store,
  type S3StoreOptions,
} from "./src/stores/mod.ts";
