import {
  readRange,
  readSize,
  readStream,
  readValue,
  remove,
  write,
} from "../stores/capabilities.ts";
import type { Store, StoreKey } from "../stores/store.ts";
import { isMetadataKey } from "../stores/store_key.ts";
import { assertValue, discard } from "../stores/stream.ts";
import { composedGroup } from "./composed_group.ts";
import { Composition } from "./composition.ts";
import type { FlatParts } from "./flat_parts.ts";
import { loadOperations } from "./load_operations.ts";
import { readChunk, readChunkSize } from "./read_chunk.ts";
import { readChunkRange } from "./read_chunk_range.ts";

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

/** Returns a store of whole chunks over a store of their parts. */
export function applyParts<S extends Store>(
  parts: FlatParts,
  store: S,
  { isChunkKey = (key) => !isMetadataKey(key) }: ApplyOptions,
): ComposedStore<S> {
  const composition = new Composition(parts, store, isChunkKey);
  const { locks } = composition;

  const reading: Required<Pick<Store, "get" | "getRange" | "stream" | "size">> =
    {
      async get(key, options) {
        const chunk = composition.chunkAt(key, options);
        return await (chunk
          ? locks.read(key, () => readChunk(chunk))
          : readValue(store, key, options));
      },
      getRange: (key, range, options) =>
        locks.read(key, () => {
          const chunk = composition.chunkAt(key, options);
          return chunk
            ? readChunkRange(chunk, range)
            : readRange(store, key, range, options);
        }),
      async stream(key, options) {
        const chunk = composition.chunkAt(key, options);
        return await (chunk
          ? locks.read(key, async () => {
            const { streamChunk } = await loadOperations();
            return await streamChunk(chunk);
          })
          : readStream(store, key, options));
      },
      async size(key, options) {
        const chunk = composition.chunkAt(key, options);
        return await (chunk
          ? locks.read(key, () => readChunkSize(chunk))
          : readSize(store, key, options));
      },
    };

  const changing: Pick<Store, "set" | "delete" | "list" | "group"> = {};
  if (store.set) {
    changing.set = async (key, value, options) => {
      try {
        const chunk = composition.chunkAt(key, options);
        if (chunk === undefined) return await write(store, key, value, options);
        assertValue(value);
        if (value instanceof Uint8Array) {
          await locks.write(key, async () => {
            const { writeChunk } = await loadOperations();
            await writeChunk(chunk, value);
          });
        } else {
          const { storeStream } = await loadOperations();
          await storeStream(chunk, value, locks);
        }
      } catch (error) {
        await discard(value, error);
        throw error;
      }
    };
  }
  if (store.delete) {
    changing.delete = async (key, options) => {
      const chunk = composition.chunkAt(key, options);
      if (chunk === undefined) return await remove(store, key, options);
      await locks.write(key, async () => {
        const { deleteChunk } = await loadOperations();
        await deleteChunk(chunk);
      });
    };
  }
  if (store.list) {
    changing.list = async function* (prefix = "/", options) {
      const { listChunks } = await loadOperations();
      yield* listChunks(parts.parts, store, isChunkKey, prefix, options);
    };
  }
  if (typeof store.group === "function") {
    changing.group = (key, keys) => composedGroup(composition, key, keys);
  }
  const composed: ComposedStore = { ...reading, ...changing };
  composition.belongsTo(composed);
  return composed as ComposedStore<S>;
}
