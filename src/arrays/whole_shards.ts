import { isDamage, MetadataError } from "../errors/mod.ts";
import {
  assertOtherBytes,
  findFirstBytes,
  FirstBytes,
  mayHaveRecords,
  otherBytesLost,
  parseShardLayout,
  readFirstBytes,
  ShardChanges,
  type ShardLayout,
  type StoredShard,
} from "../shards/mod.ts";
import {
  assertValue,
  exclusively,
  hasGroups,
  remove,
  replaceValue,
  type Store,
  type StoreKey,
  type StoreOptions,
  write,
} from "../stores/mod.ts";
import { type ArrayStorage, unsizedPart } from "./array_storage.ts";

/** Where a shard is stored. */
export interface ShardPlace {
  readonly key: StoreKey;
  /** The store of whole shards. */
  readonly store: Store;
  /** The store below, and the prefix of the array's keys in it, without a last `/`. */
  readonly given: Store;
  readonly root: string;
  readonly storage: ArrayStorage;
}

/**
 * Stores a whole shard. A stored shard that begins with bytes of another file format is
 * replaced only by one that does so, too. Changes of inner chunks in this process wait,
 * and forget the index.
 *
 * @throws {OtherBytesError} If the new shard begins with an inner chunk, or is no shard.
 */
export async function setShard(
  place: ShardPlace,
  value: Uint8Array | ReadableStream<Uint8Array>,
  { otherBytes, ...options }: SetChunkOptions,
): Promise<void> {
  assertValue(value);
  assertOtherBytes(otherBytes);
  const task = () =>
    otherBytes === "replace"
      ? replace(place.store, place.key, value, options)
      : replaceShard(place, value, options);
  const changes = ShardChanges.of(place.given, place.root);
  // A group is locked once the stream has ended, so that a slow one keeps nobody out.
  const locksLate = !(value instanceof Uint8Array) && hasGroups(place.given);
  if (!locksLate) return await changes.run(place.key, task);
  await task().finally(() => changes.note());
}

/** Removes a shard, as {@linkcode setShard} stores one. */
export async function deleteShard(
  { given, root, store, key }: ShardPlace,
  options: StoreOptions | undefined,
): Promise<void> {
  const changes = ShardChanges.of(given, root);
  await changes.run(key, () => remove(store, key, options));
}

async function replaceShard(
  { store, key, storage }: ShardPlace,
  value: Uint8Array | ReadableStream<Uint8Array>,
  options: StoreOptions,
): Promise<void> {
  const layout = layoutOf(storage);
  if (layout === undefined) return await replace(store, key, value, options);
  const part = unsizedPart(storage.layers);
  const headSize = part?.offset ?? 0;
  const stored = {
    key,
    layout,
    headSize,
    mayHaveRecords: mayHaveRecords(part, layout),
  };
  const run = await storedFirstBytes(store, stored, options);
  if (run === undefined) return await replace(store, key, value, options);
  const bytes = new FirstBytes(layout, headSize);
  const assertOthers = () => {
    if (!bytes.areOthers()) throw otherBytesLost(key, run);
  };
  if (value instanceof Uint8Array) {
    bytes.add(value);
    assertOthers();
    return await replace(store, key, value, options);
  }
  const checked = value.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        // The store refuses pieces that are no bytes.
        if (piece instanceof Uint8Array) bytes.add(piece);
        controller.enqueue(piece);
      },
      flush: assertOthers,
    }),
  );
  await write(store, key, checked, options);
}

/** Replaces a shard under its lock. A stream is stored as the store does it. */
async function replace(
  store: Store,
  key: StoreKey,
  value: Uint8Array | ReadableStream<Uint8Array>,
  options: StoreOptions,
): Promise<void> {
  await (value instanceof Uint8Array
    ? replaceValue(store, key, value, options)
    : write(store, key, value, options));
}

/** Finds the bytes of another file format without the lock of the shard, which few shards need. */
async function storedFirstBytes(
  store: Store,
  stored: StoredShard,
  options: StoreOptions,
): ReturnType<typeof findFirstBytes> {
  try {
    return await readFirstBytes(store, stored, options);
  } catch (error) {
    if (!isDamage(error)) throw error;
    // Taking the lock finishes the write of a killed program.
    return await exclusively(
      store,
      stored.key,
      (locked) => findFirstBytes(locked, stored, options),
      options,
    );
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
