import {
  blockOf,
  chunkOf,
  type ChunkPiece,
  type ChunkSource,
  readBlock,
  sectionsIn,
  sectionsOf,
} from "../blocks/mod.ts";
import { rowsOf } from "../codecs/mod.ts";
import {
  BOOLEAN,
  checkOptions,
  FUNCTION,
  numberFrom,
  type OptionRules,
  sentence,
  SIGNAL,
} from "../errors/mod.ts";
import {
  copyBytes,
  isSameList,
  rejectOnAbort,
  runConcurrently,
} from "../runtime/mod.ts";
import {
  copyFromChunk,
  type ElementsAt,
  type ThreadPool,
  THREADS,
  withThreads,
} from "../threads/mod.ts";
import {
  assertSelection,
  type DimensionSelection,
  runsOf,
  selectedAxes,
  selectedShape,
} from "./selection.ts";
import { ShardedArray } from "./sharded_array.ts";
import { isOwnStore, type ReadArray, shownKey } from "./with_zarr_parts.ts";
import {
  type ArrayElements,
  bytesOf,
  type Chunk,
  codecsOf,
  elementsOf,
  hasOwnMethod,
  rootOf,
  shownStoreOf,
  type ZarritaArray,
} from "./zarrita_array.ts";

/**
 * Options of `getSharded`.
 *
 * @example
 * ```ts
 * import type { GetShardedOptions } from "@zarr-parts/zarr-parts/zarrita";
 *
 * const options: GetShardedOptions = {
 *   threads: 4,
 *   onProgress: ({ done, total }) => console.log(`${done} of ${total} chunks`),
 * };
 * ```
 */
export interface GetShardedOptions {
  /**
   * The threads that decode chunks: a pool, or their number from 0; with 0, the
   * calling thread decodes. Defaults to the pool of the store or, without one, to one for
   * each processor, which start with a call that reads 16 MiB or more, and end with it.
   */
  readonly threads?: ThreadPool | number | undefined;
  /** Aborts the reading. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each chunk with the number of chunks that are read, and the number of all chunks of the selection. */
  readonly onProgress?: ((progress: ReadProgress) => void) | undefined;
  /**
   * The most bytes of chunks, encoded and decoded, that are in memory at the same time
   * beside the result, unless one chunk needs more. Defaults to 64 MiB, or what all
   * threads need for two chunks each.
   */
  readonly memory?: number | undefined;
  /**
   * Whether the result lies in shared memory, in which threads store elements themselves.
   * By default, it does if threads decode and the runtime has shared memory; a page has it
   * if it is isolated.
   */
  readonly shared?: boolean | undefined;
}

/**
 * How far a read is.
 *
 * @example
 * ```ts
 * import type { ReadProgress } from "@zarr-parts/zarr-parts/zarrita";
 *
 * const percent = ({ done, total }: ReadProgress) => `${Math.floor(100 * done / total)} %`;
 * ```
 */
export interface ReadProgress {
  /** The number of chunks that are read, or absent. */
  readonly done: number;
  /** The number of chunks of the selection. */
  readonly total: number;
}

/** The greatest number of chunks that zarrita reads at the same time. */
const MOST_CHUNKS = 64;
/** The least bytes of chunks for which a read uses threads. Tests lower the numbers. */
export const LEAST_BYTES = {
  /** To start threads takes as long as to decode some MiB. */
  toStart: 16 * 2 ** 20,
  /** Of threads that may be running. */
  toUse: 2 ** 17,
};
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
      sentence`Expected the module of zarrita as the first argument, found ${zarr}`,
    );
  }
  checkOptions(options, OPTIONS, "getSharded");
  const { arrays, pool } = shownStoreOf(array);
  const selected: readonly DimensionSelection[] | null = selection ?? null;
  assertSelection(selected, array.shape);
  const { signal } = options;
  signal?.throwIfAborted();
  const elements = await elementsOf(array, arrays, zarr.BoolArray);
  if (elements === undefined || array.shape.length === 0) {
    const options = signal === undefined ? {} : { signal };
    return await zarr.get(
      array as never,
      selected as never,
      options as never,
    ) as SelectedElements<A, S>;
  }
  const read = readElements(array, elements, selected, {
    ...options,
    threads: options.threads ?? pool,
  });
  return await rejectOnAbort(read, signal) as SelectedElements<A, S>;
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
  /** The class of booleans. Without it, booleans are read by `get`. */
  readonly BoolArray?: unknown;
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

/** Reads elements of a fixed length. */
async function readElements(
  array: ZarritaArray,
  elements: ArrayElements,
  selection: readonly DimensionSelection[] | null,
  options: GetShardedOptions,
): Promise<unknown> {
  const { chunkBytes, fill, size } = elements;
  const { threads, memory, signal, onProgress } = options;
  const runs = runsOf(selection, array.shape);
  const total = runs.reduce(
    (product, run, i) =>
      product * Array.from(sectionsOf(run, array.chunks[i]!)).length,
    1,
  );
  let done = 0;
  const noteDone = () => onProgress?.({ done: ++done, total });
  const readByZarrita = async (piece: ChunkPiece, signal: AbortSignal) => {
    const coordinates = [...piece.coordinates];
    const { data, stride } = await array
      .getChunk(coordinates, { signal }) as Chunk;
    copyFromChunk(piece.block, { bytes: bytesOf(data), strides: stride }, size);
  };
  // An extension that has replaced `getChunk` reads all chunks.
  const own = hasOwnMethod(array) ? await codecsOf(elements) : undefined;
  const { toStart, toUse } = LEAST_BYTES;
  const isThreaded = own?.isCheap === false &&
    total * chunkBytes >= (typeof threads === "object" ? toUse : toStart);
  return await withThreads(isThreaded ? threads : 0, async (threads) => {
    const { shared = threads !== undefined && canShare } = options;
    const { result, to } = allocate(array, elements, selection, shared);
    if (own === undefined) {
      await runConcurrently(
        sectionsIn(runs, array.chunks),
        MOST_CHUNKS,
        async (sections, signal) => {
          const block = blockOf(sections, array.chunks, to);
          const coordinates = chunkOf(sections);
          await readByZarrita({ coordinates, block }, signal);
          noteDone();
        },
        signal,
      );
    } else {
      const chunks = await sourceOf(array);
      await readBlock({ chunks, codecs: own, fill }, runs, to, {
        threads,
        memory,
        signal,
        onChunk: noteDone,
        onFailed: readByZarrita,
      });
    }
    if (result.shape.length > 0) return result;
    return result.data.get ? result.data.get(0) : result.data[0];
  });
}

/** Whether the runtime has shared memory. A page has it if it is isolated. */
const canShare = typeof SharedArrayBuffer === "function";

/** Makes memory for the selected elements. */
function allocate(
  array: ZarritaArray,
  { Elements, size, stridesOf }: ArrayElements,
  selection: readonly DimensionSelection[] | null,
  isShared: boolean,
): { result: Chunk; to: ElementsAt } {
  if (isShared && !canShare) {
    throw new TypeError(
      'The option "shared" is true, and this page has no shared memory: it is not isolated by the headers Cross-Origin-Opener-Policy and Cross-Origin-Embedder-Policy',
    );
  }
  const shape = selectedShape(selection, array.shape);
  const axes = selectedAxes(selection, array.shape);
  const stride = stridesOf(shape, axes);
  const count = shape.reduce((product, n) => product * n, 1);
  const data = isShared
    ? new Elements(new SharedArrayBuffer(count * size), 0, count)
    : new Elements(count);
  const strides = array.shape.map((_, i) => stride[axes.indexOf(i)] ?? 0);
  const to = { bytes: bytesOf(data), offset: 0, strides };
  return { result: { data, shape, stride }, to };
}

/** The encoded chunks of an array. */
async function sourceOf(array: ZarritaArray): Promise<ChunkSource> {
  const { arrays } = shownStoreOf(array);
  const found = await arrays.at(rootOf(array));
  // The array may have been created again since it was opened.
  const chunks = found instanceof ShardedArray &&
      isSameList(found.chunks.chunkShape, array.chunks)
    ? found.chunks
    : undefined;
  if (chunks !== undefined && isOwnStore(array.store)) return chunks;
  // A layer above the store, or the view, finds the chunks.
  const { get } = array.store as ReadArray["store"];
  return {
    chunkShape: array.chunks,
    storedShape: chunks?.storedShape ?? array.shape,
    isSharded: true,
    async read(coordinates, options) {
      const reads = coordinates.map(async (each, place) => {
        const key = shownKey(array, each);
        const bytes = await get.call(array.store, key, options);
        // A layer may keep what it returns.
        return bytes === undefined
          ? []
          : [{ place, bytes: copyBytes(bytes), rows: rowsOf(bytes) }];
      });
      return await Promise.all(reads);
    },
    nameOf: (coordinates) => {
      const key = shownKey(array, coordinates);
      return { what: sentence`Chunk ${key}`, key };
    },
  };
}
