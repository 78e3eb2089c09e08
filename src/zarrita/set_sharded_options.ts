import type { EncodeShardOptions, ShardContainer } from "../shards/mod.ts";

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

/**
 * The part of zarrita that `setSharded` uses.
 *
 * @example
 * ```ts
 * import type { Zarrita } from "@zarr-parts/zarr-parts/zarrita";
 * import * as zarr from "zarrita";
 *
 * const peer: Zarrita = zarr;
 * ```
 */
export interface Zarrita {
  /** Writes into an array. */
  set(
    array: never,
    selection: never,
    value: never,
    options?: never,
  ): Promise<void>;
}

/**
 * The part of zarrita's `Array` that `setSharded` uses.
 *
 * @example
 * ```ts
 * import { MemoryStore } from "@zarr-parts/zarr-parts";
 * import { withZarrParts, type ZarritaArray } from "@zarr-parts/zarr-parts/zarrita";
 * import * as zarr from "zarrita";
 *
 * const store = withZarrParts(new MemoryStore());
 * const array: ZarritaArray = await zarr.create(store, {
 *   shape: [4],
 *   chunkShape: [2],
 *   dtype: "uint8",
 * });
 * ```
 */
export interface ZarritaArray {
  /** The store that the array was opened from. */
  readonly store: object;
  /** The path of the array in the store. */
  readonly path: string;
  /** The shape of the array in elements. */
  readonly shape: readonly number[];
  /** The shape of a chunk, or of an innermost chunk, in elements. */
  readonly chunks: readonly number[];
  /** The data type of the elements. */
  readonly dtype: string;
  /** The value of elements in absent chunks. */
  readonly fillValue: unknown;
  /** Resolves a key relative to the array. */
  resolve(key: string): { readonly path: string };
  /** Reads the elements of a chunk. */
  getChunk(coordinates: number[]): Promise<{ data: unknown }>;
}
