import { assertStore } from "../stores/assert_store.ts";
import { describeStore } from "../stores/describe_store.ts";
import { viewStore } from "../views/store_view.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { copyBytes } from "../stores/copy_bytes.ts";
import { TranslatedArrays } from "../views/translated_arrays.ts";
import { INNER_CHUNKS } from "./inner_chunk_translation.ts";
import { nameChunks } from "./name_chunks.ts";
import { overlay } from "./overlay.ts";
import { noteKey } from "./read_keys.ts";
import { WholeInnerChunk } from "./sharded_array.ts";

/**
 * Any store of zarrita's, synchronous ones such as a `Map` included, and any of
 * this package's.
 *
 * @example
 * ```ts
 * import type { ZarritaStore } from "@zarr-parts/zarr-parts/zarrita";
 * import { FetchStore } from "zarrita";
 *
 * const stores: ZarritaStore[] = [new FetchStore("https://example.com"), new Map()];
 * ```
 */
export interface ZarritaStore {
  /**
   * Reads a whole value.
   *
   * @param key The key that it is stored under.
   * @param options `signal` aborts the operation.
   * @returns Its bytes, or `undefined` if the key has no value.
   */
  get(
    key: StoreKey,
    options?: StoreOptions,
  ): Uint8Array | undefined | Promise<Uint8Array | undefined>;
}

/**
 * A store as {@linkcode withZarrParts} shows it: it can always read, it can write,
 * delete and list where the store below can, and it has what else that has.
 *
 * @typeParam S The store below.
 *
 * @example
 * ```ts
 * import { MemoryStore } from "@zarr-parts/zarr-parts";
 * import { withZarrParts, type ZarrPartsStore } from "@zarr-parts/zarr-parts/zarrita";
 *
 * const store: ZarrPartsStore<MemoryStore> = withZarrParts(new MemoryStore());
 * await store.set("/c/0", new Uint8Array([1]));
 * ```
 */
export type ZarrPartsStore<S> =
  & Required<Pick<Store, "get" | "getRange" | "stream" | "size">>
  & (S extends { set: unknown } ? Required<Pick<Store, "set">> : unknown)
  & (S extends { delete: unknown } ? Required<Pick<Store, "delete">> : unknown)
  & (S extends { list: unknown } ? Required<Pick<Store, "list">> : unknown)
  & Omit<S, keyof Store>;

/** Methods of a store below that are never shown as they are; the view has what it can do. */
const HIDDEN = {
  get: undefined,
  getRange: undefined,
  stream: undefined,
  size: undefined,
  set: undefined,
  delete: undefined,
  list: undefined,
  snapshot: undefined,
  writer: undefined,
} satisfies Record<keyof Store, undefined>;

/** Under which a wrapped store has its arrays. */
const ARRAYS = Symbol("zarr-parts arrays");

/**
 * Makes zarrita read and write arrays with `suffix` keys, in parts and in shards:
 * as a store extension (`zarr.extendStore(store, withZarrParts)`) or alone. Every
 * array in the store, at any depth, is shown with `default` keys and without
 * storage transformers, and one in shards as an array of its inner chunks, so that
 * zarrita can write it too, and read it where the index is at the start, or where
 * shards are made of shards.
 *
 * A shard's index is verified, and read once for each time that the array is
 * opened. Wrappers of one store object know what the others write; what another
 * program, or `ArrayChunks`, writes into a shard may be read with the old index,
 * which gives wrong elements, until the array is opened again. Inner chunks that
 * lie together and are asked for at once are one request. Each is read whole: its
 * `getRange` is refused, since zarrita calls that only where it takes inner chunks
 * for shards.
 *
 * An array whose metadata this package does not understand, which has codecs
 * beside `sharding_indexed`, or more than 2^20 inner chunks in a shard, is shown
 * as it is stored, and its chunks are refused.
 *
 * @param store Any store of zarrita's or of this package's.
 * @returns The store for zarrita. Its methods reject with a `MetadataError` for
 * chunks of an array that is not understood, with a `ChecksumError` or a
 * `RangeError` for a shard whose index is damaged, and with what
 * `ConcatParts.apply` says for chunks that are not whole.
 *
 * @example
 * ```ts
 * import { createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { registerCodecs, withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
 * import { assertEquals } from "@std/assert";
 * import * as zarr from "zarrita";
 *
 * registerCodecs(zarr);
 * const stored = new MemoryStore();
 * await createArrayChunks(stored, "", {
 *   zarr_format: 3,
 *   node_type: "array",
 *   shape: [4],
 *   data_type: "int16",
 *   chunk_grid: { name: "regular", configuration: { chunk_shape: [2] } },
 *   chunk_key_encoding: { name: "suffix", configuration: { suffix: ".bin" } },
 *   fill_value: 0,
 *   codecs: [{ name: "bytes", configuration: { endian: "little" } }, { name: "crc32c" }],
 *   storage_transformers: [{
 *     name: "concat-parts",
 *     configuration: { parts: [{ key_suffix: "" }, { key_suffix: ".crc32c", size: 4 }] },
 *   }],
 * });
 *
 * const array = await zarr.open(withZarrParts(stored), { kind: "array" });
 * await zarr.set(array, [zarr.slice(2, 4)], 7);
 * assertEquals((await zarr.get(array)).data, new Int16Array([0, 0, 7, 7]));
 * assertEquals(await stored.get("/c/1.bin"), new Uint8Array([7, 0, 7, 0]));
 * ```
 */
export function withZarrParts<S extends ZarritaStore>(
  store: S,
): ZarrPartsStore<S> {
  assertStore(store);
  const below = store as unknown as Store;
  const arrays = new TranslatedArrays(below, INNER_CHUNKS);
  const view = viewStore(below, INNER_CHUNKS, {
    arrays,
    onRead(bytes, { store, key }) {
      // Inner chunks are bytes in memory of their own already.
      if (store instanceof WholeInnerChunk && !store.needsKey) return bytes;
      const own = ownBytes(bytes);
      noteKey(own, key);
      return own;
    },
  });
  return overlay<object>(store, {
    ...HIDDEN,
    ...view,
    toString: () => `withZarrParts(${describeStore(store)})`,
    // zarrita extends the arrays that it opens from a store by these.
    arrayExtensions: [
      ...(store as { arrayExtensions?: unknown[] }).arrayExtensions ?? [],
      nameChunks(arrays),
    ],
    [ARRAYS]: arrays,
  }) as ZarrPartsStore<S>;
}

/** Bytes in an object of their own, and in memory of their own: zarrita encodes all of the memory that elements lie in. */
function ownBytes(bytes: Uint8Array): Uint8Array {
  return bytes.length === bytes.buffer.byteLength
    ? new Uint8Array(bytes.buffer)
    : copyBytes(bytes);
}

/** The arrays of a store that {@linkcode withZarrParts} gave, or `undefined` for another one. */
export function arraysOf(store: object): TranslatedArrays | undefined {
  return (store as { [ARRAYS]?: TranslatedArrays })[ARRAYS];
}
