import { loadOnce } from "../runtime/mod.ts";
import {
  assertStoreKey,
  assertValue,
  discard,
  hasGroups,
  isMetadataKey,
  readRange,
  readSize,
  readStream,
  readValue,
  remove,
  type Store,
  type StoreKey,
  type StoreOptions,
  write,
} from "../stores/mod.ts";
import { type AppliedParts, composeOf } from "./flat_parts.ts";
import type { StoredChunk } from "./stored_chunk.ts";

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
 * Programs that read no chunks in parts do without this module. Locks are taken before
 * the module is loaded, in the order of the calls.
 */
const loadOperations = /* @__PURE__ */ loadOnce(() =>
  import("./chunk_operations.ts")
);

/**
 * Returns a store of whole chunks over a store of their parts.
 *
 * @param layers The parts of a chunk, those of each part, and so on.
 */
export function applyParts<S extends Store>(
  layers: AppliedParts["layers"],
  store: S,
  { isChunkKey = (key) => !isMetadataKey(key) }: ApplyOptions,
): ComposedStore<S> {
  const composed = {} as ComposedStore;
  const applied = { layers, below: store, isChunkKey };
  const locks = composeOf(composed, applied);
  const load = loadOnce(async () => {
    const operations = await loadOperations();
    const composition = new operations.Composition(applied);
    return { ...operations, composition };
  });
  type Loaded = Awaited<ReturnType<typeof load>>;

  type Operation<T> = (operations: Loaded, chunk: StoredChunk) => Promise<T>;

  /**
   * Runs an operation on a chunk, after the operations that it must not disturb, or
   * another one on a value that is not a chunk.
   */
  const run = async <T>(
    lock: "read" | "write",
    key: StoreKey,
    options: StoreOptions | undefined,
    operation: Operation<T>,
    otherwise: () => Promise<T>,
  ): Promise<T> => {
    if (!isChunk(key)) return await otherwise();
    return await locks[lock](key, async () => {
      const loaded = await load();
      return await operation(loaded, loaded.composition.valueAt(key, options));
    });
  };

  function isChunk(key: StoreKey): boolean {
    assertStoreKey(key);
    return isChunkKey(key);
  }

  const reading: Required<Pick<Store, "get" | "getRange" | "stream" | "size">> =
    {
      get: (key, options) =>
        run(
          "read",
          key,
          options,
          ({ readChunk }, chunk) => readChunk(chunk),
          () => readValue(store, key, options),
        ),
      getRange: (key, range, options) =>
        run(
          "read",
          key,
          options,
          ({ readChunkRange }, chunk) => readChunkRange(chunk, range),
          () => readRange(store, key, range, options),
        ),
      stream: (key, options) =>
        run(
          "read",
          key,
          options,
          ({ streamChunk }, chunk) => streamChunk(chunk),
          () => readStream(store, key, options),
        ),
      size: (key, options) =>
        run(
          "read",
          key,
          options,
          ({ readChunkSize }, chunk) => readChunkSize(chunk),
          () => readSize(store, key, options),
        ),
    };

  const changing: Pick<Store, "set" | "delete" | "list" | "group"> = {};
  if (store.set) {
    changing.set = async (key, value, options) => {
      try {
        if (value instanceof Uint8Array) {
          return await run(
            "write",
            key,
            options,
            ({ writeChunk }, chunk) => writeChunk(chunk, value),
            () => write(store, key, value, options),
          );
        }
        if (!isChunk(key)) return await write(store, key, value, options);
        assertValue(value);
        const { composition, storeStream } = await load();
        await storeStream(composition.valueAt(key, options), value, locks);
      } catch (error) {
        await discard(value, error);
        throw error;
      }
    };
  }
  if (store.delete) {
    changing.delete = (key, options) =>
      run(
        "write",
        key,
        options,
        ({ deleteChunk }, chunk) => deleteChunk(chunk),
        () => remove(store, key, options),
      );
  }
  if (store.list) {
    changing.list = async function* (prefix = "/", options) {
      const { composition, listChunks } = await load();
      const { parts } = composition.parts;
      yield* listChunks(parts, store, isChunkKey, prefix, options);
    };
  }
  if (hasGroups(store)) {
    changing.group = (key, keys) => {
      for (const each of [key, ...keys]) assertStoreKey(each);
      const open = async () => {
        const { composition, composedGroup } = await load();
        return composedGroup(
          composition,
          key,
          keys,
          (task) => locks.write(key, task),
        );
      };
      return {
        read: (task, options) =>
          locks.read(key, async () => (await open()).read(task, options)),
        ...store.set && {
          write: async (options) => (await open()).write!(options),
          delete: (options) =>
            locks.write(key, async () => (await open()).delete!(options)),
          lock: (task, options) =>
            locks.write(key, async () => (await open()).lock!(task, options)),
        },
      };
    };
  }
  return Object.assign(composed, reading, changing) as ComposedStore<S>;
}
