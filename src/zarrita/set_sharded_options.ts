import type { EncodeShardOptions } from "../shards/encode_shard.ts";
import type { ShardContainer } from "../shards/shard_container.ts";

/**
 * Options of `setSharded`: those of shards, and those of zarrita's `set`.
 *
 * @example A header of 64 bytes in each shard
 * ```ts
 * import type { SetShardedOptions } from "@zarr-parts/zarr-parts/zarrita";
 *
 * const options: SetShardedOptions = { prefix: new Uint8Array(64), alignment: 512 };
 * ```
 */
export interface SetShardedOptions
  extends Omit<EncodeShardOptions, "container"> {
  /**
   * The bytes of a file format around the inner chunks, in place of a prefix: one
   * container for all shards, or a function that gives that of a shard by its grid
   * coordinates. The index must be at the end.
   */
  container?:
    | ShardContainer
    | ((shard: readonly number[]) => ShardContainer)
    | undefined;
  /**
   * What happens to bytes of a stored shard that belong to neither inner chunks, index
   * nor head parts, and that neither `prefix` nor `container` gives: `"refuse"`, the
   * default, keeps the shard as it is and throws an `OtherBytesError`; `"replace"`
   * gives them up.
   */
  otherBytes?: "refuse" | "replace" | undefined;
  /** Aborts the writing. Shards that are already stored stay. */
  signal?: AbortSignal;
  /**
   * Creates a queue for the inner chunks of one shard, as for zarrita's `set`. By default,
   * few inner chunks of all shards are encoded at the same time.
   */
  createQueue?: () => {
    add(task: () => Promise<void>): void;
    onIdle(): Promise<void[]>;
  };
}
