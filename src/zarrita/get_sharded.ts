import {
  BOOLEAN,
  checkOptions,
  describe,
  FUNCTION,
  numberFrom,
  type OptionRules,
  SIGNAL,
} from "../errors/mod.ts";
import { rejectOnAbort } from "../runtime/mod.ts";
import { describeStore, type StoreKey } from "../stores/mod.ts";
import { THREADS } from "../threads/mod.ts";
import { splitPlainKey } from "../views/mod.ts";
import { contextOf } from "./array_context.ts";
import { assertSelection, type DimensionSelection } from "./selection.ts";
import type { ZarritaArray } from "./set_sharded.ts";
import { arraysOf, poolOf } from "./with_zarr_parts.ts";
import { type GetShardedOptions, ShardedRead } from "./sharded_read.ts";

/**
 * Reads elements of an array, as zarrita's `get` does, and decodes chunks in threads: in a
 * fraction of the time on several processors. The array may have shards or not.
 *
 * The calling thread reads from the store, one shard after another: it requests ranges of
 * close inner chunks together, and checks versions and parts as always. Threads decode,
 * verify, and copy elements to their place in the result, which lies in memory that they
 * share where the runtime has it. Some functions refuse such memory, such as those of
 * `TextDecoder` and `WebGL`: the option `shared: false` avoids it. Absent chunks, chunks that
 * are not compressed and small reads stay on the calling thread, as well as elements without
 * a fixed size and codecs that the threads do not have.
 *
 * Array extensions are obeyed: if an extension has replaced `getChunk`, all chunks are read
 * by it, in the calling thread.
 *
 * @param zarr zarrita itself: `import * as zarr from "zarrita"`.
 * @param array An array, opened from a store of `withZarrParts`.
 * @param selection The elements to read: a slice with a step from 1, an index or `null` (all
 * elements) for each dimension, or `null` for the whole array.
 * @param options `threads`, `signal`, `onProgress`, `memory` and `shared`.
 * @returns The elements, as `zarr.get` returns them: an object with `data`, `shape` and
 * `stride`, or one element if the selection has an index for each dimension.
 * @throws {TypeError} If the array is of another store, or an argument is missing or has a
 * wrong type.
 * @throws {RangeError} If the selection is outside the array, or an option is out of range.
 * @throws {DamageError} If a shard is damaged. Damage that a codec finds is the `cause` of
 * zarrita's `CodecPipelineError`, which names the key.
 * @throws {MetadataError} If the metadata of the array is not understood.
 * @throws {Error} If a thread ends before it has decoded its chunks.
 *
 * @example
 * ```ts
 * import { FileSystemStore } from "@zarr-parts/zarr-parts";
 * import { getSharded, registerCodecs, withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
 * import { assertEquals } from "@std/assert";
 * import * as zarr from "zarrita";
 *
 * registerCodecs(zarr);
 * const store = new FileSystemStore("tests/fixtures/dem.zarr");
 * const array = await zarr.open(withZarrParts(store), { kind: "array" });
 * const rows = await getSharded(zarr, array, [zarr.slice(0, 100, 10), null]);
 * assertEquals(rows.shape, [10, array.shape[1]!]);
 * ```
 */
export async function getSharded<
  A extends ZarritaArray,
  S extends readonly DimensionSelection[] | null = null,
>(
  zarr: ZarritaReader,
  array: A,
  selection?: S,
  options: GetShardedOptions = {},
): Promise<SelectedElements<A, S>> {
  if (typeof zarr?.get !== "function") {
    throw new TypeError(
      `Expected the module of zarrita as the first argument, found ${
        describe(zarr)
      }`,
    );
  }
  checkOptions(options, OPTIONS, "getSharded");
  const root = rootOf(array);
  const selected: readonly DimensionSelection[] | null = selection ?? null;
  assertSelection(selected, array.shape);
  const { signal } = options;
  signal?.throwIfAborted();
  const context = contextOf(array);
  const isList = context !== undefined &&
    !("BYTES_PER_ELEMENT" in new context.TypedArray(0));
  if (context === undefined || isList || array.shape.length === 0) {
    const options = signal === undefined ? {} : { signal };
    return await zarr.get(
      array as never,
      selected as never,
      options as never,
    ) as SelectedElements<A, S>;
  }
  const { threads = poolOf(array.store as object) } = options;
  const read = new ShardedRead(array, root, context, selected, {
    ...options,
    threads,
  });
  const result = await rejectOnAbort(read.run(), signal);
  return result as SelectedElements<A, S>;
}

/**
 * The part of zarrita that `getSharded` uses.
 *
 * @example
 * ```ts
 * import type { ZarritaReader } from "@zarr-parts/zarr-parts/zarrita";
 * import * as zarr from "zarrita";
 *
 * const peer: ZarritaReader = zarr;
 * ```
 */
export interface ZarritaReader {
  /** Reads elements of an array. */
  get(array: never, selection?: never, options?: never): Promise<unknown>;
}

/**
 * The elements that {@linkcode getSharded} reads: one element if the selection has an index
 * for each dimension, and otherwise a chunk with `data`, `shape` and `stride`.
 *
 * @typeParam A The array.
 * @typeParam S The selection.
 *
 * @example
 * ```ts
 * import type { SelectedElements } from "@zarr-parts/zarr-parts/zarrita";
 * import type * as zarr from "zarrita";
 *
 * type Image = zarr.Array<"uint8">;
 * const pixel: SelectedElements<Image, [number, number]> = 7;
 * ```
 */
export type SelectedElements<
  A extends ZarritaArray,
  S extends readonly DimensionSelection[] | null,
> = S extends readonly number[] ? NonNullable<A["fillValue"]>
  : Awaited<ReturnType<A["getChunk"]>>;

const OPTIONS: OptionRules<GetShardedOptions> = {
  threads: THREADS,
  signal: SIGNAL,
  onProgress: FUNCTION,
  memory: /* @__PURE__ */ numberFrom(0),
  shared: BOOLEAN,
};

/** The root in the store of an array that is read from a store of `withZarrParts`. */
function rootOf(array: ZarritaArray): string {
  const store: unknown = array?.store;
  const isOpen = typeof store === "object" && store !== null;
  if (!isOpen || arraysOf(store) === undefined) {
    throw new TypeError(
      `Expected an array that was opened from withZarrParts(store) as the second argument, found ${
        isOpen
          ? `the array at ${JSON.stringify(array.path)} of ${
            describeStore(store)
          }`
          : describe(array)
      }`,
    );
  }
  // By `resolve`, since zarrita decodes percent escapes in the keys of chunks.
  return splitPlainKey(array.resolve("c").path as StoreKey)!.root;
}
