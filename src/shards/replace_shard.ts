import { isDamage } from "../errors/mod.ts";
import {
  assertValue,
  exclusively,
  hasGroups,
  removeValue,
  replaceValue,
  type Store,
  type StoreKey,
  type StoreOptions,
  write,
} from "../stores/mod.ts";
import { mayHaveRecords } from "./file_record.ts";
import {
  assertOtherBytes,
  findFirstBytes,
  firstRun,
  liesIn,
  type OtherBytes,
  otherBytesLost,
  readFirstBytes,
  type StoredShard,
} from "./other_bytes.ts";
import type { ShardChanges } from "./shard_changes.ts";
import { decodeShardIndex, shardIndexSize } from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/** Where a whole shard is stored. */
export interface ShardPlace {
  readonly key: StoreKey;
  /** The store of whole shards. */
  readonly store: Store;
  /** The layout of the shard; `undefined` if it is not understood. */
  readonly layout: ShardLayout | undefined;
  /** The unsized part of the shard, if there is one. */
  readonly part:
    | { readonly offset: number; readonly tailSize: number | undefined }
    | undefined;
  /** The changes of the array in this process. */
  readonly changes: ShardChanges;
}

/**
 * Stores a whole shard. A stored shard that begins with bytes of another file format is
 * replaced only by a shard that begins with such bytes, too. Readers of inner chunks in
 * this process forget the index of the earlier shard.
 *
 * @throws {OtherBytesError} If the stored shard begins with such bytes, and the new one
 * begins with an inner chunk or is not a shard.
 */
export async function setShard(
  { store, key, layout, part, changes }: ShardPlace,
  value: Uint8Array | ReadableStream<Uint8Array>,
  { otherBytes, exclusive = false, ...options }: StoreOptions & {
    otherBytes?: OtherBytes | undefined;
    /** Whether nobody else changes the shard meanwhile, so that a shard of one object needs no lock. */
    exclusive?: boolean;
  },
): Promise<void> {
  assertValue(value);
  assertOtherBytes(otherBytes);
  const headSize = part?.offset ?? 0;
  const stored = otherBytes === "replace" || layout === undefined
    ? undefined
    : { key, layout, headSize, mayHaveRecords: mayHaveRecords(part, layout) };
  const changing = { ...options, exclusive };
  const task = (store: Store) =>
    stored === undefined
      ? write(store, key, value, changing)
      : replaceChecked(store, stored, value, changing);
  if (exclusive) return await changes.run(() => task(store));
  if (value instanceof Uint8Array) {
    return await changes.run(() =>
      stored === undefined
        ? replaceValue(store, key, value, options)
        : exclusively(
          store,
          key,
          (locked) => replaceChecked(locked, stored, value, options),
          options,
        )
    );
  }
  if (!hasGroups(store)) {
    return await changes.run(() => exclusively(store, key, task, options));
  }
  // The group is locked only once the stream has ended, so that a slow stream blocks no reader or writer.
  await task(store).finally(() => changes.note());
}

/** Removes a shard. */
export async function deleteShard(
  { store, key, changes }: ShardPlace,
  options: StoreOptions | undefined,
): Promise<void> {
  await changes.run(() => removeValue(store, key, options));
}

/** Replaces a shard, unless this would lose bytes of another file format at its start. */
async function replaceChecked(
  store: Store,
  stored: StoredShard,
  value: Uint8Array | ReadableStream<Uint8Array>,
  options: StoreOptions,
): Promise<void> {
  const { key, layout, headSize } = stored;
  const run = await storedFirstBytes(store, stored, options);
  if (run === undefined) return await write(store, key, value, options);
  const bytes = new FirstBytes(layout, headSize);
  const assertOthers = () => {
    if (!bytes.areOthers()) throw otherBytesLost(key, run);
  };
  if (value instanceof Uint8Array) {
    bytes.add(value);
    assertOthers();
    return await write(store, key, value, options);
  }
  const checked = value.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        // The store refuses pieces that are not bytes.
        if (piece instanceof Uint8Array) bytes.add(piece);
        controller.enqueue(piece);
      },
      flush: assertOthers,
    }),
  );
  await write(store, key, checked, options);
}

/** Finds the bytes of another file format. The lock is taken only if the shard is damaged. */
async function storedFirstBytes(
  store: Store,
  stored: StoredShard,
  options: StoreOptions,
): ReturnType<typeof findFirstBytes> {
  try {
    return await readFirstBytes(store, stored, options);
  } catch (error) {
    if (!isDamage(error)) throw error;
    if (!hasGroups(store)) return await findFirstBytes(store, stored, options);
    // Taking the lock finishes the write of a killed program.
    return await exclusively(
      store,
      stored.key,
      (locked) => findFirstBytes(locked, stored, options),
      options,
    );
  }
}

/** Finds out, from the pieces of a new shard, whether it begins with bytes of another file format. */
export class FirstBytes {
  readonly #layout: ShardLayout;
  readonly #headSize: number;
  /** The first or the last bytes of the pieces, where the index is. */
  readonly #index: Uint8Array;
  #size = 0;
  /** The offset of the first byte other than 0 behind head parts and index. */
  #firstByte = Infinity;

  /** @param headSize The number of bytes of the head parts. */
  constructor(layout: ShardLayout, headSize: number) {
    this.#layout = layout;
    this.#headSize = headSize;
    this.#index = new Uint8Array(shardIndexSize(layout));
  }

  /** Adds the next bytes of the shard. */
  add(piece: Uint8Array): void {
    const index = this.#index;
    const isAtStart = this.#layout.indexLocation === "start";
    if (this.#firstByte === Infinity) {
      const start = Math.max(this.#headSize, isAtStart ? index.length : 0);
      const skipped = Math.max(0, start - this.#size);
      const at = piece.subarray(skipped).findIndex((byte) => byte !== 0);
      if (at >= 0) this.#firstByte = this.#size + skipped + at;
    }
    if (isAtStart) {
      const room = Math.max(0, index.length - this.#size);
      if (room > 0) index.set(piece.subarray(0, room), this.#size);
    } else {
      const last = piece.subarray(-index.length);
      index.copyWithin(0, last.length);
      index.set(last, index.length - last.length);
    }
    this.#size += piece.length;
  }

  /** Whether the bytes so far are a shard that begins with bytes of another file format. */
  areOthers(): boolean {
    const layout = this.#layout;
    try {
      const index = decodeShardIndex(this.#index, layout);
      if (!liesIn(index, layout, this.#size)) return false;
      const run = firstRun(index, layout, this.#size, this.#headSize);
      return this.#firstByte < run.offset + run.length;
    } catch (error) {
      if (isDamage(error)) return false;
      throw error;
    }
  }
}
