import { MetadataError } from "../errors/mod.ts";
import {
  deleteShard,
  parseShardLayout,
  setShard,
  ShardChanges,
  type ShardLayout,
} from "../shards/mod.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/mod.ts";
import { type ArrayStorage, unsizedPart } from "./array_storage.ts";

/** Stores and removes the whole shards of an array. */
export class WholeShards {
  readonly #store: Store;
  readonly #storage: ArrayStorage;
  readonly #changes: ShardChanges;

  /**
   * @param store The store of whole shards.
   * @param given The store below, as the user gave it.
   * @param root The prefix of the array's keys, without a last `/`.
   */
  constructor(
    store: Store,
    given: Store,
    root: string,
    storage: ArrayStorage,
  ) {
    this.#store = store;
    this.#storage = storage;
    this.#changes = ShardChanges.of(given, root);
  }

  /** Stores a shard. */
  set(
    key: StoreKey,
    value: Uint8Array | ReadableStream<Uint8Array>,
    options: SetChunkOptions,
  ): Promise<void> {
    return setShard(this.#place(key), value, options);
  }

  /** Removes a shard. */
  delete(key: StoreKey, options: StoreOptions | undefined): Promise<void> {
    return deleteShard(this.#place(key), options);
  }

  #place(key: StoreKey) {
    return {
      key,
      store: this.#store,
      layout: layoutOf(this.#storage),
      part: unsizedPart(this.#storage.layers),
      changes: this.#changes,
    };
  }
}

/** The layout of shards; `undefined` if it is not understood, or if other codecs change the bytes of shards. */
function layoutOf(
  { metadata: { codecs }, chunkShape }: ArrayStorage,
): ShardLayout | undefined {
  if (codecs.length !== 1) return undefined;
  try {
    return parseShardLayout(codecs[0], chunkShape);
  } catch (error) {
    if (error instanceof MetadataError) return undefined;
    throw error;
  }
}

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
