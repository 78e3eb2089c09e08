import type { ChunkKeyEncoding } from "../chunk_key_encoding/mod.ts";
import { partsBackend } from "../concat_parts/mod.ts";
import {
  BOOLEAN,
  checkOption,
  DamageError,
  describe,
  sentence,
  SizeLimitError,
} from "../errors/mod.ts";
import type { ArrayMetadata } from "../metadata/mod.ts";
import { mayHaveRecords, setShard, type ShardForm } from "../shards/mod.ts";
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
import { isInGrid } from "./chunk_grid.ts";
import { parseArray } from "./parse_array.ts";
import { ParsedArray, unsizedPart } from "./parsed_array.ts";
import { arrayRoot } from "./read_document.ts";

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
 * Returns the backend of whole chunks that are to be decoded, over the one that holds the
 * array. All keys that it reads and writes are those of chunks; it lists other keys, too.
 * Chunks that are longer than their elements can make them are damaged, and not read into
 * memory.
 *
 * @param root The prefix of the array's keys, without a last `/`.
 */
export function chunksOf(
  backend: Backend,
  root: string,
  array: ParsedArray,
): Backend {
  const whole = wholeChunks(backend, root, array);
  const most = array.mostBytesOf(array.chunk);
  if (most === Infinity) return whole;
  const { readOf, prepare, remove, update, list } = whole;
  return {
    read: (keys, task, options) =>
      whole.read(keys, (values) => task(limited(values, most)), options),
    ...readOf && { readOf: readOf.bind(whole) },
    ...prepare && { prepare: prepare.bind(whole) },
    ...remove && { remove: remove.bind(whole) },
    ...update && {
      update: (keys, change, options) =>
        update.call(
          whole,
          keys,
          (values) => change(limited(values, most)),
          options,
        ),
    },
    ...list && { list: list.bind(whole) },
  };
}

/** The chunks of a snapshot, of which no more than `most` bytes are read into memory. */
function limited(values: Snapshot, most: number): Snapshot {
  const tooLong = (key: StoreKey) =>
    new DamageError(
      sentence`Chunk ${key} has more than ${most} bytes, the most that its elements can take once they are encoded`,
      { key },
    );
  return {
    size: (key) => values.size(key),
    async read(key, range, options) {
      if (range !== undefined) {
        const read = await values.read(key, cut(range, most + 1), options);
        if (read !== undefined && read.length > most) throw tooLong(key);
        return read;
      }
      const { limit = Infinity } = options ?? {};
      if (limit < most) return await values.read(key, range, options);
      try {
        return await values.read(key, range, { ...options, limit: most });
      } catch (error) {
        throw error instanceof SizeLimitError ? tooLong(key) : error;
      }
    },
    stream: (key, range) => values.stream(key, range),
    version: (key) => values.version(key),
  };
}

/** A range of at most `length` bytes. */
function cut(range: ByteRange, length: number): ByteRange {
  return "suffixLength" in range
    ? { suffixLength: Math.min(range.suffixLength, length) }
    : { offset: range.offset, length: Math.min(range.length, length) };
}

/** The backend of whole chunks: that of the array, unless chunks are stored in parts. */
function wholeChunks(
  backend: Backend,
  root: string,
  array: ParsedArray,
): Backend {
  if (!array.hasParts) return backend;
  const { list } = partsBackend(
    backend,
    array.parts,
    (key) =>
      key.startsWith(`${root}/`) &&
      array.coordinatesOf(key.slice(root.length + 1)) !== undefined,
  );
  return {
    ...partsBackend(backend, array.parts),
    ...list && { list },
  };
}

/** Returns how shards are stored; `undefined` if inner chunks do not lie in them as they are. */
export function shardFormOf(array: ParsedArray): ShardForm | undefined {
  const { chunk: { shard }, levels, parts } = array;
  if (shard === undefined || shard.after.length > 0) return undefined;
  const part = unsizedPart(parts);
  return {
    layouts: levels.flatMap(({ shard }) => shard ? [shard.layout] : []),
    headSize: part?.offset,
    mayHaveRecords: mayHaveRecords(part?.tailSize, shard.layout),
    mostBytes: array.mostBytesOf(array.innermost),
  };
}
