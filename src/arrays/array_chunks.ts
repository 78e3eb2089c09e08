import type { ChunkKeyEncoding } from "../chunk_key_encoding/mod.ts";
import {
  BOOLEAN,
  checkOption,
  describe,
  inDocument,
  MetadataError,
  sentence,
} from "../errors/mod.ts";
import {
  type ArrayMetadata,
  formatZarrJson,
  isGroupDocument,
  parseZarrJson,
} from "../metadata/mod.ts";
import { setShard } from "../shards/mod.ts";
import {
  abortable,
  assertByteRange,
  assertDeletes,
  assertStore,
  assertValue,
  assertWritable,
  type Backend,
  backendOf,
  type ByteRange,
  describeStore,
  discard,
  inspectAsString,
  type Snapshot,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { parseArray } from "./parse_array.ts";
import {
  isInGrid,
  ParsedArray,
  shardFormOf,
  wholeChunks,
} from "./parsed_array.ts";
import {
  arrayRoot,
  groupForArray,
  missingArray,
  readDocument,
} from "./read_document.ts";

/** The descriptions of opened arrays. In a map, so that bundles without `ArrayChunks` leave the class out. */
const parsedArrays = new WeakMap<ArrayChunks, ParsedArray>();

/** The description of an opened array by its metadata. */
export function parsedArrayOf(chunks: ArrayChunks): ParsedArray {
  return parsedArrays.get(chunks)!;
}

/**
 * The encoded chunks of one array by grid coordinates, whole even if they are
 * stored in parts. If the array has shards, a chunk is a shard. Returned by
 * `openArrayChunks` and `createArrayChunks`.
 *
 * All methods reject with a `RangeError` for coordinates outside the chunk grid,
 * with a {@linkcode MissingPartError} for a chunk of which only some parts are stored,
 * and with a {@linkcode PartSizeError} for a part of another length than its size.
 * Their option `signal` aborts the requests.
 *
 * @example
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const metadata = arrayMetadata({
 *   shape: [4, 4],
 *   dataType: "uint8",
 *   chunkShape: [2, 2],
 *   codecs: ["crc32c"],
 *   suffix: ".bin",
 *   parts: ["", ".crc32c"],
 * });
 * const chunks = await createArrayChunks(store, "elevation", metadata);
 *
 * await chunks.set([1, 0], new Uint8Array(8));
 * assertEquals(chunks.key([1, 0]), "/elevation/c/1/0.bin");
 * assertEquals(await store.size("/elevation/c/1/0.bin.crc32c"), 4);
 * assertEquals(await chunks.size([1, 0]), 8);
 * assertEquals(await chunks.has([0, 0]), false);
 * assertEquals(await Array.fromAsync(chunks.list()), [[1, 0]]);
 * ```
 */
export class ArrayChunks {
  /** The array's metadata, as in its `zarr.json`. */
  readonly metadata: ArrayMetadata;
  /** The encoding of chunk keys, relative to the array. */
  readonly keyEncoding: ChunkKeyEncoding;
  /** The number of chunks along each dimension; coordinates are smaller. */
  readonly gridShape: readonly number[];
  /** The shape of a chunk, in elements; of a shard if the array has shards. */
  readonly chunkShape: readonly number[];

  readonly #array: ParsedArray;
  readonly #store: Store;
  readonly #chunks: Backend;
  readonly #root: string;

  /**
   * Creates the chunks of an array from metadata, such as consolidated metadata.
   * Reads and writes nothing.
   *
   * @param store The store that holds the array.
   * @param path The array's path in the store; empty for the root.
   * @param metadata The array's metadata, which is checked.
   * @throws {MetadataError} If the metadata is not valid or not understood.
   * @throws {TypeError} If `store` is not a store, or `path` not a string.
   * @throws {RangeError} If `path` is not names joined by `/`.
   */
  constructor(store: Store, path: string, metadata: unknown) {
    inspectAsString(this);
    assertStore(store);
    const root = arrayRoot(path);
    const array = metadata instanceof ParsedArray
      ? metadata
      : parseArray(metadata);
    this.metadata = array.metadata;
    this.keyEncoding = array.keys;
    this.gridShape = array.gridShape;
    this.chunkShape = array.chunk.shape;
    this.#array = array;
    parsedArrays.set(this, array);
    this.#root = root;
    this.#store = store;
    this.#chunks = wholeChunks(backendOf(store), root, array);
  }

  /**
   * The shape of an inner chunk, in elements, or `undefined` if the array has no
   * shards. A shard is a chunk here, with the shape `chunkShape`.
   */
  get innerChunkShape(): readonly number[] | undefined {
    return this.#array.innerChunkShape;
  }

  /**
   * Returns the key of a chunk in the store. The key of each part is this key and
   * the part's key suffix.
   *
   * @param coordinates Grid coordinates, one for each dimension.
   * @returns The key, from the root of the store.
   * @throws {TypeError} If the coordinates are not an array.
   * @throws {RangeError} If the coordinates are outside the chunk grid.
   */
  key(coordinates: readonly number[]): StoreKey {
    const { gridShape } = this;
    if (!Array.isArray(coordinates)) {
      throw new TypeError(
        `Expected grid coordinates, a list of numbers, found ${
          describe(coordinates)
        } (${this.#name()})`,
      );
    }
    if (!isInGrid(coordinates, gridShape)) {
      throw new RangeError(
        `Chunk ${
          describe(coordinates)
        } is not in the chunk grid, whose shape is ${
          describe(gridShape)
        } (${this.#name()})`,
      );
    }
    return this.#array.keyOf(this.#root, coordinates);
  }

  /**
   * Checks whether a chunk is stored.
   *
   * @param coordinates Grid coordinates, one for each dimension.
   * @returns `true` if all parts are stored, `false` if none is.
   */
  async has(
    coordinates: readonly number[],
    options?: StoreOptions,
  ): Promise<boolean> {
    return (await this.size(coordinates, options)) !== undefined;
  }

  /**
   * Returns the size of a chunk.
   *
   * @param coordinates Grid coordinates, one for each dimension.
   * @returns The size of all parts together in bytes, or `undefined` if the chunk
   * is absent.
   */
  async size(
    coordinates: readonly number[],
    options?: StoreOptions,
  ): Promise<number | undefined> {
    return await this.#read(
      coordinates,
      options,
      (values, key) => values.size(key),
    );
  }

  /**
   * Reads a chunk.
   *
   * @param coordinates Grid coordinates, one for each dimension.
   * @returns The encoded chunk, or `undefined` if the chunk is absent: all its
   * elements then have the fill value.
   */
  async get(
    coordinates: readonly number[],
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return await this.#read(
      coordinates,
      options,
      (values, key) => values.read(key),
    );
  }

  /**
   * Reads a range of a chunk's bytes from the parts that overlap the range.
   *
   * @param coordinates Grid coordinates, one for each dimension.
   * @param range A range of the whole chunk, in bytes from 0 to 2^53−1.
   * @returns The bytes, fewer if the range exceeds the chunk, or `undefined` if the
   * chunk is absent.
   * @throws {RangeError} If the range has other numbers.
   */
  async getRange(
    coordinates: readonly number[],
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    return await this.#read(
      coordinates,
      options,
      (values, key) => values.read(key, range),
    );
  }

  /**
   * Reads a chunk as a stream.
   *
   * @param coordinates Grid coordinates, one for each dimension.
   * @param options `signal` aborts the requests, also while the stream is read.
   * @returns A stream of its bytes, or `undefined` if it is absent. A part whose
   * length turns out to be another than its size is an error of the stream.
   */
  async stream(
    coordinates: readonly number[],
    options?: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const stream = await this.#read(
      coordinates,
      options,
      (values, key) => values.stream(key),
    );
    return stream && abortable(stream, options?.signal);
  }

  /**
   * Stores a chunk in its parts. If this fails, the stored chunk is unchanged, and
   * a stream is cancelled.
   *
   * A stored shard that has bytes of another file format, such as a TIFF, is not replaced
   * unless `otherBytes` is `"replace"`.
   *
   * @param coordinates Grid coordinates, one for each dimension.
   * @param bytes The encoded chunk.
   * @throws {PartSizeError} If the chunk does not fit the sizes of its parts.
   * @throws {TypeError} If the store is read-only, the value is neither a
   * `Uint8Array` nor a stream, more than one part has no size, or `otherBytes` is
   * unknown.
   * @throws {OtherBytesError} If a stored file of another format would be destroyed.
   * @throws {AggregateError} If the write and the restoration of the chunk fail, in a
   * store without locks.
   */
  async set(
    coordinates: readonly number[],
    bytes: Uint8Array | ReadableStream<Uint8Array>,
    { exclusive = false, ...options }: SetChunkOptions = {},
  ): Promise<void> {
    try {
      checkOption("exclusive", exclusive, BOOLEAN);
      const key = this.key(coordinates);
      assertWritable(this.#store, key);
      assertValue(bytes);
      options.signal?.throwIfAborted();
      const form = shardFormOf(this.#array);
      await setShard(this.#chunks, key, form, bytes, { ...options, exclusive });
    } catch (error) {
      await discard(bytes, error);
      throw error;
    }
  }

  /**
   * Removes a chunk with all its parts. Does nothing if the chunk is absent.
   *
   * @param coordinates Grid coordinates, one for each dimension.
   * @throws {TypeError} If the store cannot delete.
   * @throws {AggregateError} If the removal and the restoration of the chunk fail, in a
   * store without locks.
   */
  async delete(
    coordinates: readonly number[],
    options?: StoreOptions,
  ): Promise<void> {
    const key = this.key(coordinates);
    options?.signal?.throwIfAborted();
    assertDeletes(this.#store, key);
    await this.#chunks.remove!([key], options);
  }

  /**
   * Lists the stored chunks, in no particular order. Other keys are skipped.
   *
   * @returns The grid coordinates of each chunk.
   * @throws {TypeError} If the store cannot list.
   */
  async *list(options?: StoreOptions): AsyncGenerator<number[]> {
    if (this.#chunks.list === undefined) {
      throw new TypeError(
        `Cannot list chunks: the store has no "list" method (${this.#name()})`,
      );
    }
    const prefix = `${this.#root}/` as StoreKey;
    for await (const key of this.#chunks.list(prefix, options)) {
      const coordinates = this.#array.coordinatesOf(key.slice(prefix.length));
      if (coordinates !== undefined) yield coordinates;
    }
  }

  /** Returns the class, the path of the array, and a description of the store; `console.log` prints this too. */
  toString(): string {
    return `ArrayChunks(${this.#name()})`;
  }

  /** Reads from one snapshot of a chunk. */
  #read<T>(
    coordinates: readonly number[],
    options: StoreOptions | undefined,
    task: (values: Snapshot, key: StoreKey) => Promise<T>,
  ): Promise<T> {
    const key = this.key(coordinates);
    options?.signal?.throwIfAborted();
    return this.#chunks.read([key], (values) => task(values, key), options);
  }

  /** Names the array in messages. */
  #name(): string {
    return `array ${describe(this.#root || "/")} of ${
      describeStore(this.#store)
    }`;
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
   * What happens to a stored shard that has bytes of another file format beside its head
   * parts, its inner chunks and its index: `"refuse"`, the default, keeps the shard as it is
   * and throws an `OtherBytesError`; `"replace"` replaces the shard.
   */
  otherBytes?: "refuse" | "replace" | undefined;
  /**
   * Whether the caller promises that nobody else changes the chunk meanwhile, as in an array
   * whose `zarr.json` is stored last. A chunk or a shard that is one object is then stored
   * without a lock, which is faster in files. Readers see the earlier value or the new one
   * either way. Off by default.
   */
  exclusive?: boolean | undefined;
}

/**
 * Opens an array: reads its `zarr.json`, which says where and how its chunks are
 * stored.
 *
 * @param store The store that holds the array.
 * @param path The array's path in the store, such as `temperature/monthly`;
 * empty for the root.
 * @param options `signal` aborts the requests.
 * @returns The array's chunks.
 * @throws {MetadataError} If no Zarr v3 array is at `path`, or its metadata is
 * not valid or not understood.
 * @throws {TypeError} If `store` is not a store, or `path` not a string.
 * @throws {RangeError} If `path` is not names joined by `/`.
 *
 * @example
 * ```ts
 * import { arrayMetadata, MemoryStore, openArrayChunks } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const metadata = arrayMetadata({
 *   shape: [10],
 *   dataType: "uint8",
 *   chunkShape: [4],
 *   keyEncoding: "v2",
 * });
 * const store = new MemoryStore([
 *   ["/zarr.json", new TextEncoder().encode(JSON.stringify(metadata))],
 *   ["/2", new Uint8Array([8, 9, 0, 0])],
 * ]);
 *
 * const chunks = await openArrayChunks(store);
 * assertEquals(chunks.gridShape, [3]);
 * assertEquals(await chunks.getRange([2], { offset: 0, length: 2 }), new Uint8Array([8, 9]));
 * ```
 */
export async function openArrayChunks(
  store: Store,
  path = "",
  options?: StoreOptions,
): Promise<ArrayChunks> {
  const { root, document } = locate(store, path);
  const bytes = await readDocument(store, document, options);
  if (bytes === undefined) {
    throw await missingArray(store, root, options);
  }
  const storeName = describeStore(store);
  const metadata = inDocument(document, storeName, () => parseZarrJson(bytes));
  if (isGroupDocument(metadata)) {
    throw await groupForArray(store, root, options);
  }
  return inDocument(
    document,
    storeName,
    () => new ArrayChunks(store, path, metadata),
  );
}

/**
 * Creates an array without chunks: checks its metadata, completes it so that every
 * Zarr client can open the array or its plain view, and writes it as `zarr.json`.
 *
 * - A missing fill value is 0, `false` or `""`.
 * - A missing codec from array to bytes is added, also to the codecs of inner
 *   chunks: `bytes` in little endian, or `vlen-utf8` for strings. Missing
 *   configuration of codecs is filled in with zarr-python's defaults.
 * - Codecs that are names become objects, and the chunk key encoding has its
 *   canonical form, with a `base_encoding` in `suffix`.
 *
 * The chunks of an earlier array at `path` are neither read nor removed. Of several
 * calls at once, one creates the array and the others throw: in all processes if
 * the store has groups that can be locked, as `FileSystemStore` and `MemoryStore`
 * do, and in this process for any other store.
 *
 * @param store The store to create it in.
 * @param path The array's path in the store; empty for the root. Groups above
 * it are not created.
 * @param metadata The array's metadata, from `arrayMetadata` for instance.
 * @param options `signal` aborts the requests.
 * @returns The array's chunks, with the metadata as it was written.
 * @throws {MetadataError} If a node is at `path` already, or if no Zarr client could
 * open the array: if the metadata is not valid or not understood, the data type is
 * unknown, `codecs` is empty, a fill value is not one of the data type, inner chunks
 * do not divide shards, a part `.index` does not have the size of the index, or if
 * Windows or a file system that ignores case could not hold the keys. Nothing is
 * written then.
 * @throws {TypeError} If `store` is not a store or is read-only, or `path` is not
 * a string.
 * @throws {RangeError} If `path` is not names joined by `/`.
 *
 * @example
 * ```ts
 * import {
 *   arrayMetadata,
 *   createArrayChunks,
 *   MemoryStore,
 *   openArrayChunks,
 * } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * await createArrayChunks(
 *   store,
 *   "elevation",
 *   arrayMetadata({
 *     shape: [344, 403],
 *     dataType: "int16",
 *     chunkShape: [128, 128],
 *     suffix: ".raw",
 *   }),
 * );
 *
 * const chunks = await openArrayChunks(store, "elevation");
 * assertEquals(chunks.gridShape, [3, 4]);
 * assertEquals(chunks.key([2, 3]), "/elevation/c/2/3.raw");
 * ```
 */
export async function createArrayChunks(
  store: Store,
  path: string,
  metadata: ArrayMetadata,
  options?: StoreOptions,
): Promise<ArrayChunks> {
  const { root, document } = locate(store, path);
  assertWritable(store, document);
  const storeName = describeStore(store);
  const { array, bytes } = inDocument(document, storeName, () => {
    const array = parseArray(metadata, { isNew: true });
    return { array, bytes: formatZarrJson(array.metadata) };
  });
  await backendOf(store).update!([document], async (values) => {
    if (await values.size(document) === undefined) return [bytes];
    throw new MetadataError(
      sentence`Cannot create an array at ${
        root || "/"
      }: a node is there already`,
      "",
      { document, store: storeName },
    );
  }, options);
  return new ArrayChunks(store, path, array);
}

function locate(
  store: Store,
  path: string,
): { root: "" | StoreKey; document: StoreKey } {
  assertStore(store);
  const root = arrayRoot(path);
  return { root, document: `${root}/zarr.json` };
}
