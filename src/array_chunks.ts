import { ArrayStorage } from "./array_storage.ts";
import type { ChunkKeyEncoding } from "./chunk_key_encoding/chunk_key_encoding.ts";
import type { ArrayMetadata } from "./metadata/array_metadata.ts";
import { describe } from "./metadata/describe.ts";
import {
  readRange,
  readSize,
  readStream,
  write,
} from "./stores/capabilities.ts";
import type {
  ByteRange,
  Store,
  StoreKey,
  StoreOptions,
} from "./stores/store.ts";
import { nodeRoot } from "./stores/store_key.ts";
import { discard } from "./stores/stream.ts";

/**
 * The chunks of one array by grid coordinates: encoded, as they are stored, and
 * whole, whatever parts they are stored in. Made by `openArrayChunks` and
 * `createArrayChunks`.
 *
 * All methods reject with a `RangeError` for coordinates outside the chunk grid,
 * and with what `ConcatParts.apply` says for chunks that are not whole.
 *
 * @example
 * ```ts
 * import { createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const chunks = await createArrayChunks(store, "elevation", {
 *   zarr_format: 3,
 *   node_type: "array",
 *   shape: [4, 4],
 *   data_type: "uint8",
 *   chunk_grid: { name: "regular", configuration: { chunk_shape: [2, 2] } },
 *   chunk_key_encoding: { name: "suffix", configuration: { suffix: ".bin" } },
 *   fill_value: 0,
 *   codecs: [{ name: "bytes" }, { name: "crc32c" }],
 *   storage_transformers: [{
 *     name: "concat-parts",
 *     configuration: { parts: [{ key_suffix: "" }, { key_suffix: ".crc32c", size: 4 }] },
 *   }],
 * });
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
  /** The array's metadata, as its `zarr.json` holds it. */
  readonly metadata: ArrayMetadata;
  /** Which key a chunk is stored under, relative to the array. */
  readonly keyEncoding: ChunkKeyEncoding;
  /** The number of chunks along each dimension: coordinates are below these. */
  readonly gridShape: readonly number[];

  readonly #storage: ArrayStorage;
  readonly #store: Store;
  readonly #root: string;

  /**
   * The chunks of an array whose metadata is at hand, from consolidated metadata
   * for instance. Nothing is read or written.
   *
   * @param store The store that holds the array.
   * @param path The array's place in the store; empty for the root.
   * @param metadata The array's metadata. It is checked.
   * @throws {MetadataError} Metadata that is not valid or not understood.
   * @throws {RangeError} A path that is no path in a store.
   */
  constructor(store: Store, path: string, metadata: unknown) {
    const storage = new ArrayStorage(metadata);
    this.metadata = storage.metadata;
    this.keyEncoding = storage.keyEncoding;
    this.gridShape = storage.gridShape;
    this.#storage = storage;
    this.#root = nodeRoot(path);
    this.#store = storage.transform(store, this.#root);
  }

  /**
   * The key of a chunk in the store. Its parts are stored under this key and
   * their key suffixes.
   *
   * @param coordinates Grid coordinates, one a dimension.
   * @returns The key, from the root of the store.
   */
  key(coordinates: readonly number[]): StoreKey {
    const { gridShape } = this;
    const inside = coordinates.length === gridShape.length &&
      coordinates.every((c, i) =>
        Number.isInteger(c) && c >= 0 && c < gridShape[i]!
      );
    if (!inside) {
      throw new RangeError(
        `Chunk ${
          describe(coordinates)
        } is not in the chunk grid, whose shape is ${describe(gridShape)}`,
      );
    }
    return `${this.#root}/${this.keyEncoding.encode(coordinates)}` as StoreKey;
  }

  /**
   * Whether a chunk is stored.
   *
   * @param coordinates Grid coordinates, one a dimension.
   * @param options `signal` aborts the requests.
   * @returns `false` if no part of it is.
   */
  async has(
    coordinates: readonly number[],
    options?: StoreOptions,
  ): Promise<boolean> {
    return (await this.size(coordinates, options)) !== undefined;
  }

  /**
   * The length of a chunk.
   *
   * @param coordinates Grid coordinates, one a dimension.
   * @param options `signal` aborts the requests.
   * @returns Bytes of all parts together, or `undefined` if the chunk is absent.
   */
  async size(
    coordinates: readonly number[],
    options?: StoreOptions,
  ): Promise<number | undefined> {
    return await readSize(this.#store, this.key(coordinates), options);
  }

  /**
   * Reads a chunk.
   *
   * @param coordinates Grid coordinates, one a dimension.
   * @param options `signal` aborts the requests.
   * @returns Its bytes, or `undefined` if it is absent.
   */
  async get(
    coordinates: readonly number[],
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return await this.#store.get(this.key(coordinates), options);
  }

  /**
   * Reads a range of a chunk's bytes, from the parts that it touches.
   *
   * @param coordinates Grid coordinates, one a dimension.
   * @param range Bytes of the whole chunk.
   * @param options `signal` aborts the requests.
   * @returns The bytes, fewer where the chunk ends before the range, or
   * `undefined` if the chunk is absent.
   */
  async getRange(
    coordinates: readonly number[],
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return await readRange(this.#store, this.key(coordinates), range, options);
  }

  /**
   * Reads a chunk as a stream.
   *
   * @param coordinates Grid coordinates, one a dimension.
   * @param options `signal` aborts the requests, also while the stream is read.
   * @returns A stream of its bytes, or `undefined` if it is absent.
   */
  async stream(
    coordinates: readonly number[],
    options?: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    return await readStream(this.#store, this.key(coordinates), options);
  }

  /**
   * Stores a chunk, in its parts. If that fails, the chunk is as it was, and a
   * stream is cancelled.
   *
   * @param coordinates Grid coordinates, one a dimension.
   * @param bytes The encoded chunk.
   * @param options `signal` aborts the requests.
   */
  async set(
    coordinates: readonly number[],
    bytes: Uint8Array | ReadableStream<Uint8Array>,
    options?: StoreOptions,
  ): Promise<void> {
    let key: StoreKey;
    try {
      key = this.key(coordinates);
    } catch (error) {
      await discard(bytes, error);
      throw error;
    }
    await write(this.#store, key, bytes, options);
  }

  /**
   * Removes a chunk, with all of its parts. No error if it is absent.
   *
   * @param coordinates Grid coordinates, one a dimension.
   * @param options `signal` aborts the requests.
   */
  async delete(
    coordinates: readonly number[],
    options?: StoreOptions,
  ): Promise<void> {
    const key = this.key(coordinates);
    if (this.#store.delete === undefined) {
      throw new TypeError(
        `Cannot delete ${describe(key)}: the store cannot delete`,
      );
    }
    await this.#store.delete(key, options);
  }

  /**
   * The chunks that are stored, in no certain order. Keys that are no chunk's
   * are passed over.
   *
   * @param options `signal` aborts the requests.
   * @returns Grid coordinates, one chunk after another.
   */
  async *list(options?: StoreOptions): AsyncGenerator<number[]> {
    if (this.#store.list === undefined) {
      throw new TypeError("Cannot list chunks: the store cannot list");
    }
    const prefix = `${this.#root}/` as StoreKey;
    for await (const key of this.#store.list(prefix, options)) {
      const coordinates = this.#storage.coordinatesOf(key.slice(prefix.length));
      if (coordinates !== undefined) yield coordinates;
    }
  }
}
