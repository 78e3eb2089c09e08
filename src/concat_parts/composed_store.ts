import type { Part } from "../splitter/mod.ts";
import {
  assertStoreKey,
  type ByteRange,
  forwardingStore,
  type GetOptions,
  isMetadataKey,
  KeyLocks,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { composedGroup } from "./composed_group.ts";
import { type AppliedParts, noteAppliedParts } from "./flat_parts.ts";
import { ListedParts } from "./parts_backend.ts";
import {
  readChunk,
  readChunkRange,
  readChunkSize,
  streamChunk,
} from "./read_chunk.ts";
import { Composition, type StoredChunk } from "./stored_chunk.ts";
import { deleteChunk, storeStream, writeChunk } from "./write_chunk.ts";

/**
 * Options of `ConcatParts.apply`.
 *
 * @example Files beside the chunks
 * ```ts
 * import { type ApplyOptions, ConcatParts, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".crc32c", size: 4 }]);
 * const stored = new MemoryStore([["/readme.txt", new Uint8Array([104, 105])]]);
 * const options: ApplyOptions = { isChunkKey: (key) => /^\/c\/\d+$/.test(key) };
 * // Without the option, this would be a chunk that lacks its checksum.
 * assertEquals(await parts.apply(stored, options).size("/readme.txt"), 2);
 * ```
 */
export interface ApplyOptions {
  /**
   * Returns whether a key is a chunk key. All other keys are passed on to the store
   * unchanged. By default, every key is a chunk key except those of metadata
   * documents (`zarr.json` and the documents of Zarr v2).
   */
  isChunkKey?: ((key: StoreKey) => boolean) | undefined;
}

/**
 * A store of whole chunks over a store of their parts. It can always read; it can
 * write, delete and list if the underlying store can.
 *
 * Reading rejects with a `MissingPartError` if only some parts of a chunk are
 * stored, and with a `PartSizeError` if a part does not have its size. Writing
 * rejects with a `PartSizeError` if the sizes do not allow the length of the chunk,
 * and with a `TypeError` if more than one part lacks a size.
 *
 * @typeParam S The underlying store.
 *
 * @example The type tells what the store can do
 * ```ts
 * import {
 *   type ComposedStore,
 *   ConcatParts,
 *   HttpStore,
 *   MemoryStore,
 * } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".index", size: 16 }]);
 * const writable: ComposedStore<MemoryStore> = parts.apply(new MemoryStore());
 * await writable.set("/c/0", new Uint8Array(20));
 * const remote = new HttpStore("https://example.org/data.zarr");
 * const readOnly: ComposedStore<HttpStore> = parts.apply(remote);
 * assertEquals("set" in readOnly, false);
 * ```
 */
export type ComposedStore<S extends Store = Store> =
  & Required<Pick<Store, "get" | "getRange" | "stream" | "size">>
  & Pick<S, Extract<keyof S, "set" | "delete" | "list" | "group">>;

/**
 * Returns a store of whole chunks over a store of their parts.
 *
 * @param layers The parts of a chunk, the parts of each part, and so on.
 */
export function applyParts<S extends Store>(
  layers: AppliedParts["layers"],
  store: S,
  { isChunkKey = (key) => !isMetadataKey(key) }: ApplyOptions,
): ComposedStore<S> {
  const applied = { layers, below: store, isChunkKey };
  const composition = new Composition(applied);
  const locks = KeyLocks.of(composition.store);
  const chunks = new ChunkStore(composition, locks);
  const placeOf = (key: StoreKey) => {
    assertStoreKey(key);
    return { store: isChunkKey(key) ? chunks : store, key };
  };
  const composed = forwardingStore(store, {
    placeToRead: placeOf,
    placeToChange: placeOf,
    list: (prefix, options) =>
      listChunks(composition.parts.parts, store, isChunkKey, prefix, options),
    group(key, keys) {
      for (const each of [key, ...keys]) assertStoreKey(each);
      return composedGroup(composition, key, keys, locks);
    },
  });
  noteAppliedParts(composed, applied);
  return composed as Store as ComposedStore<S>;
}

/** The whole chunks over a store of parts. Each is read and changed under its lock. */
class ChunkStore implements Store {
  readonly #composition: Composition;
  readonly #locks: KeyLocks;

  constructor(composition: Composition, locks: KeyLocks) {
    this.#composition = composition;
    this.#locks = locks;
  }

  get(key: StoreKey, options?: GetOptions): Promise<Uint8Array | undefined> {
    return this.#read(key, options, readChunk);
  }

  getRange(
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return this.#read(key, options, (chunk) => readChunkRange(chunk, range));
  }

  stream(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    return this.#read(key, options, streamChunk);
  }

  size(key: StoreKey, options?: StoreOptions): Promise<number | undefined> {
    return this.#read(key, options, readChunkSize);
  }

  set(
    key: StoreKey,
    value: Uint8Array | ReadableStream<Uint8Array>,
    options?: StoreOptions,
  ): Promise<void> {
    if (value instanceof Uint8Array) {
      return this.#change(key, options, (chunk) => writeChunk(chunk, value));
    }
    const lockable = this.#locks.prepare(key, options);
    const chunk = this.#composition.valueAt(key, lockable);
    return storeStream(
      chunk,
      value,
      (task) => this.#locks.write(key, task, lockable),
    );
  }

  delete(key: StoreKey, options?: StoreOptions): Promise<void> {
    return this.#change(key, options, deleteChunk);
  }

  /** Reads a chunk after the earlier changes of the chunk. */
  #read<T>(
    key: StoreKey,
    options: StoreOptions | undefined,
    read: (chunk: StoredChunk) => Promise<T>,
  ): Promise<T> {
    const chunk = this.#composition.valueAt(key, options);
    return this.#locks.read(key, () => read(chunk));
  }

  /** Changes a chunk after the earlier reads and changes of the chunk. */
  #change(
    key: StoreKey,
    options: StoreOptions | undefined,
    change: (chunk: StoredChunk) => Promise<void>,
  ): Promise<void> {
    return this.#locks.write(
      key,
      (options) => change(this.#composition.valueAt(key, options)),
      options,
    );
  }
}

/**
 * Lists the keys of a store with each chunk key once instead of its part keys.
 * Keys that belong to no chunk are listed unchanged.
 *
 * A key that is a chunk key but not a part key is left out, since it would be taken for
 * a chunk.
 *
 * @param isChunkKey Returns whether a key is a chunk key.
 */
async function* listChunks(
  parts: readonly Part[],
  store: Store,
  isChunkKey: (key: StoreKey) => boolean,
  prefix: StoreKey,
  options: StoreOptions | undefined,
): AsyncGenerator<StoreKey> {
  const listed = new ListedParts(parts, isChunkKey);
  for await (const key of store.list!(prefix, options)) {
    const chunk = listed.take(key);
    if (chunk === undefined) {
      if (!isChunkKey(key)) yield key;
    } else if (chunk.isFirst && chunk.key.startsWith(prefix)) yield chunk.key;
  }
}
