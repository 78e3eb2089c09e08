import type { StoreOptions } from "../stores/store.ts";

/**
 * Options of `ArrayChunks.set`.
 *
 * @example Replace a TIFF by another one
 * ```ts
 * import type { SetChunkOptions } from "@zarr-parts/zarr-parts";
 *
 * const options: SetChunkOptions = { otherBytes: "replace" };
 * ```
 */
export interface SetChunkOptions extends StoreOptions {
  /**
   * What happens to a stored shard that begins with bytes of another file format:
   * `"refuse"`, the default, keeps the shard as it is and throws an `OtherBytesError`,
   * unless the new shard differs only in the contents of inner chunks; `"replace"`
   * replaces the shard.
   */
  otherBytes?: "refuse" | "replace" | undefined;
}
