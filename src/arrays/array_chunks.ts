import { arrayRoot } from "./array_root.ts";
import { ArrayStorage } from "./array_storage.ts";
import type { ChunkKeyEncoding } from "../chunk_key_encoding/chunk_key_encoding.ts";
import type { ArrayMetadata } from "../metadata/array_metadata.ts";
import { describe } from "../metadata/describe.ts";
import { below } from "../metadata/metadata_error.ts";
import { checkLengths } from "../metadata/check.ts";
import {
  readRange,
  readSize,
  readStream,
  readValue,
  remove,
  write,
} from "../stores/capabilities.ts";
import type {
  ByteRange,
  Store,
  StoreKey,
  StoreOptions,
} from "../stores/store.ts";
import { assertStore } from "../stores/assert_store.ts";
import { describeStore } from "../stores/describe_store.ts";
import { assertStoreKey } from "../stores/store_key.ts";
import { discard } from "../stores/stream.ts";

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
  /** The shape of a stored chunk, in elements; a shard's where the array has shards. */
  readonly chunkShape: readonly number[];

  readonly #storage: ArrayStorage;
  /** The store of whole chunks. */
  readonly #store: Store;
  /** The store below, as it was given. */
  readonly #given: Store;
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
   *
   * @example A store without `zarr.json`
   * ```ts
   * import { ArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new MemoryStore([["/monthly/2", new Uint8Array([7, 8, 9])]]);
   * const chunks = new ArrayChunks(store, "monthly", {
   *   zarr_format: 3, node_type: "array", shape: [8], data_type: "uint8", fill_value: 0,
   *   chunk_grid: { name: "regular", configuration: { chunk_shape: [3] } },
   *   chunk_key_encoding: "v2", codecs: ["bytes"],
   * });
   * assertEquals(chunks.gridShape, [3]);
   * assertEquals(await chunks.get([2]), new Uint8Array([7, 8, 9]));
   * ```
   */
  constructor(store: Store, path: string, metadata: unknown) {
    assertStore(store);
    const root = arrayRoot(path);
    const storage = new ArrayStorage(metadata);
    this.metadata = storage.metadata;
    this.keyEncoding = storage.keyEncoding;
    this.gridShape = storage.gridShape;
    this.chunkShape = storage.chunkShape;
    this.#storage = storage;
    this.#root = root;
    this.#given = store;
    this.#store = storage.transform(store, root);
  }

  /**
   * The shape of an inner chunk, in elements, or `undefined` if the array has no
   * shards. A shard is a chunk here, with the shape `chunkShape`.
   *
   * @throws {MetadataError} If the codec `sharding_indexed` has no such shape.
   *
   * @example
   * ```ts
   * import { ArrayChunks, arrayMetadata, MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const chunks = new ArrayChunks(
   *   new MemoryStore(),
   *   "",
   *   arrayMetadata({ shape: [100], dataType: "uint8", shardShape: [20], chunkShape: [5] }),
   * );
   * assertEquals(chunks.chunkShape, [20]);
   * assertEquals(chunks.innerChunkShape, [5]);
   * assertEquals(chunks.gridShape, [5]);
   * ```
   */
  get innerChunkShape(): readonly number[] | undefined {
    const codec = this.metadata.codecs?.[0];
    if (typeof codec !== "object" || codec?.name !== "sharding_indexed") {
      return undefined;
    }
    return below(
      "/codecs/0/configuration",
      () => checkLengths(codec.configuration?.chunk_shape, "chunk_shape", 1),
    );
  }

  /**
   * The key of a chunk in the store. Its parts are stored under this key and
   * their key suffixes.
   *
   * @param coordinates Grid coordinates, one a dimension, each below `gridShape`.
   * @returns The key, from the root of the store.
   * @throws {RangeError} Coordinates outside the chunk grid, or not as many as
   * the array has dimensions.
   *
   * @example
   * ```ts
   * import { createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertThrows } from "@std/assert";
   *
   * const chunks = await createArrayChunks(new MemoryStore(), "a/b", {
   *   zarr_format: 3, node_type: "array", shape: [4, 9], data_type: "uint8", fill_value: 0,
   *   chunk_grid: { name: "regular", configuration: { chunk_shape: [4, 3] } },
   *   chunk_key_encoding: "default", codecs: ["bytes"],
   * });
   * assertEquals(chunks.key([0, 2]), "/a/b/c/0/2");
   * assertThrows(() => chunks.key([0, 3]), RangeError, "whose shape is [1, 3]");
   * ```
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
    const inside = coordinates.length === gridShape.length &&
      coordinates.every((c, i) =>
        Number.isInteger(c) && c >= 0 && c < gridShape[i]!
      );
    if (!inside) {
      throw new RangeError(
        `Chunk ${
          describe(coordinates)
        } is not in the chunk grid, whose shape is ${
          describe(gridShape)
        } (${this.#name()})`,
      );
    }
    const key = `${this.#root}/${this.keyEncoding.encode(coordinates)}`;
    // Encodings that were registered may give anything.
    assertStoreKey(key);
    return key as StoreKey;
  }

  /**
   * Whether a chunk is stored.
   *
   * @param coordinates Grid coordinates, one a dimension.
   * @param options `signal` aborts the requests.
   * @returns `true` if all of its parts are, `false` if none is.
   * @throws {RangeError} Coordinates outside the chunk grid.
   * @throws {MissingPartError} A chunk of which only some parts are stored.
   * @throws {PartSizeError} A part of another length than its size.
   *
   * @example An array without dimensions has one chunk
   * ```ts
   * import { createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const chunks = await createArrayChunks(new MemoryStore(), "", {
   *   zarr_format: 3, node_type: "array", shape: [], data_type: "uint8", fill_value: 0,
   *   chunk_grid: { name: "regular", configuration: { chunk_shape: [] } },
   *   chunk_key_encoding: "default", codecs: ["bytes"],
   * });
   * assertEquals(await chunks.has([]), false);
   * await chunks.set([], new Uint8Array([1]));
   * assertEquals(await chunks.has([]), true);
   * ```
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
   * @throws {RangeError} Coordinates outside the chunk grid.
   * @throws {MissingPartError} A chunk of which only some parts are stored.
   * @throws {PartSizeError} A part of another length than its size.
   *
   * @example A chunk that lacks a part is an error, not a shorter chunk
   * ```ts
   * import { createArrayChunks, MemoryStore, MissingPartError } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertRejects } from "@std/assert";
   *
   * const store = new MemoryStore([["/c/0", new Uint8Array(10)]]);
   * const parts = [{ key_suffix: "" }, { key_suffix: ".crc32c", size: 4 }];
   * const chunks = await createArrayChunks(store, "", {
   *   zarr_format: 3, node_type: "array", shape: [20], data_type: "uint8", fill_value: 0,
   *   chunk_grid: { name: "regular", configuration: { chunk_shape: [10] } },
   *   chunk_key_encoding: "default", codecs: ["bytes", "crc32c"],
   *   storage_transformers: [{ name: "concat-parts", configuration: { parts } }],
   * });
   * await assertRejects(() => chunks.size([0]), MissingPartError, "/c/0.crc32c");
   * await store.set("/c/0.crc32c", new Uint8Array(4));
   * assertEquals(await chunks.size([0]), 14);
   * ```
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
   * @returns Its bytes, still encoded, or `undefined` if it is absent: all its
   * elements then have the fill value.
   * @throws {RangeError} Coordinates outside the chunk grid.
   * @throws {MissingPartError} A chunk of which only some parts are stored.
   * @throws {PartSizeError} A part of another length than its size.
   *
   * @example
   * ```ts
   * import { createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertRejects } from "@std/assert";
   *
   * const chunks = await createArrayChunks(new MemoryStore(), "", {
   *   zarr_format: 3, node_type: "array", shape: [6], data_type: "uint8", fill_value: 0,
   *   chunk_grid: { name: "regular", configuration: { chunk_shape: [3] } },
   *   chunk_key_encoding: "default", codecs: ["bytes"],
   * });
   * assertEquals(await chunks.get([1]), undefined); // In the grid, but not stored.
   * await assertRejects(() => chunks.get([2]), RangeError, "not in the chunk grid");
   * ```
   */
  async get(
    coordinates: readonly number[],
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return await readValue(this.#store, this.key(coordinates), options);
  }

  /**
   * Reads a range of a chunk's bytes, from the parts that it touches.
   *
   * @param coordinates Grid coordinates, one a dimension.
   * @param range Bytes of the whole chunk: whole numbers from 0 to 2^53−1.
   * @param options `signal` aborts the requests.
   * @returns The bytes, fewer where the chunk ends before the range, or
   * `undefined` if the chunk is absent.
   * @throws {RangeError} Coordinates outside the chunk grid, or other numbers in
   * the range.
   * @throws {MissingPartError} A chunk that lacks a part which the range touches.
   * @throws {PartSizeError} Such a part of another length than its size.
   *
   * @example The last bytes, and a range past the end
   * ```ts
   * import { createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const chunks = await createArrayChunks(new MemoryStore(), "", {
   *   zarr_format: 3, node_type: "array", shape: [6], data_type: "uint8", fill_value: 0,
   *   chunk_grid: { name: "regular", configuration: { chunk_shape: [3] } },
   *   chunk_key_encoding: "default", codecs: ["bytes"],
   * });
   * await chunks.set([1], new Uint8Array([1, 2, 3]));
   * assertEquals(await chunks.getRange([1], { suffixLength: 2 }), new Uint8Array([2, 3]));
   * assertEquals(await chunks.getRange([1], { offset: 3, length: 9 }), new Uint8Array());
   * ```
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
   * @returns A stream of its bytes, or `undefined` if it is absent. A part whose
   * length turns out to be another than its size is an error of the stream.
   * @throws {RangeError} Coordinates outside the chunk grid.
   * @throws {MissingPartError} A chunk of which only some parts are stored.
   * @throws {PartSizeError} A part of another length than its size.
   *
   * @example From one chunk to another
   * ```ts
   * import { createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const chunks = await createArrayChunks(new MemoryStore(), "", {
   *   zarr_format: 3, node_type: "array", shape: [6], data_type: "uint8", fill_value: 0,
   *   chunk_grid: { name: "regular", configuration: { chunk_shape: [3] } },
   *   chunk_key_encoding: "default", codecs: ["bytes"],
   * });
   * await chunks.set([0], new Uint8Array([1, 2, 3]));
   * assertEquals(await chunks.stream([1]), undefined);
   * await chunks.set([1], (await chunks.stream([0]))!);
   * assertEquals(await chunks.get([1]), new Uint8Array([1, 2, 3]));
   * ```
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
   * @throws {RangeError} Coordinates outside the chunk grid.
   * @throws {PartSizeError} A chunk whose length the sizes of the parts do not allow.
   * @throws {TypeError} A store that is read-only, a value that is neither a
   * `Uint8Array` nor a stream, or more than one part without a size.
   * @throws {AggregateError} A failure after which the chunk could not be put back
   * as it was.
   *
   * @example A chunk that does not fit writes nothing
   * ```ts
   * import { createArrayChunks, MemoryStore, PartSizeError } from "@zarr-parts/zarr-parts";
   * import { assertEquals, assertRejects } from "@std/assert";
   *
   * const parts = [{ key_suffix: "" }, { key_suffix: ".crc32c", size: 4 }];
   * const chunks = await createArrayChunks(new MemoryStore(), "", {
   *   zarr_format: 3, node_type: "array", shape: [6], data_type: "uint8", fill_value: 0,
   *   chunk_grid: { name: "regular", configuration: { chunk_shape: [3] } },
   *   chunk_key_encoding: "default", codecs: ["bytes", "crc32c"],
   *   storage_transformers: [{ name: "concat-parts", configuration: { parts } }],
   * });
   * await chunks.set([0], new Blob(["abc1234"]).stream());
   * await assertRejects(() => chunks.set([0], new Uint8Array(3)), PartSizeError);
   * assertEquals(await chunks.size([0]), 7);
   * ```
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
   * @throws {RangeError} Coordinates outside the chunk grid.
   * @throws {TypeError} A store that cannot delete.
   * @throws {AggregateError} A failure after which the chunk could not be put back
   * as it was.
   *
   * @example
   * ```ts
   * import { createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const bytes = new Uint8Array(3);
   * const store = new MemoryStore([["/c/0", bytes], ["/c/0.index", bytes]]);
   * const parts = [{ key_suffix: "" }, { key_suffix: ".index" }];
   * const chunks = await createArrayChunks(store, "", {
   *   zarr_format: 3, node_type: "array", shape: [6], data_type: "uint8", fill_value: 0,
   *   chunk_grid: { name: "regular", configuration: { chunk_shape: [3] } },
   *   chunk_key_encoding: "default", codecs: ["bytes"],
   *   storage_transformers: [{ name: "concat-parts", configuration: { parts } }],
   * });
   * await chunks.delete([0]);
   * await chunks.delete([1]); // Never was there.
   * assertEquals(await Array.fromAsync(store.list()), ["/zarr.json"]);
   * ```
   */
  async delete(
    coordinates: readonly number[],
    options?: StoreOptions,
  ): Promise<void> {
    await remove(this.#store, this.key(coordinates), options);
  }

  /**
   * The chunks that are stored, in no certain order. Keys that are no chunk's
   * are passed over.
   *
   * @param options `signal` aborts the requests.
   * @returns Grid coordinates, one chunk after another.
   * @throws {TypeError} A store that cannot list.
   *
   * @example
   * ```ts
   * import { createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const store = new MemoryStore();
   * const chunks = await createArrayChunks(store, "", {
   *   zarr_format: 3, node_type: "array", shape: [6], data_type: "uint8", fill_value: 0,
   *   chunk_grid: { name: "regular", configuration: { chunk_shape: [3] } },
   *   chunk_key_encoding: "default", codecs: ["bytes"],
   * });
   * await chunks.set([1], new Uint8Array(3));
   * await store.set("/c/2", new Uint8Array(3)); // Outside the grid.
   * await store.set("/c/readme.txt", new Uint8Array(3));
   * assertEquals(await Array.fromAsync(chunks.list()), [[1]]);
   * ```
   */
  async *list(options?: StoreOptions): AsyncGenerator<number[]> {
    if (this.#store.list === undefined) {
      throw new TypeError(
        `Cannot list chunks: the store has no "list" method (${this.#name()})`,
      );
    }
    const prefix = `${this.#root}/` as StoreKey;
    for await (const key of this.#store.list(prefix, options)) {
      const coordinates = this.#storage.coordinatesOf(key.slice(prefix.length));
      if (coordinates !== undefined) yield coordinates;
    }
  }

  /** Names the array in messages. */
  #name(): string {
    return `array ${describe(this.#root || "/")} of ${
      describeStore(this.#given)
    }`;
  }
}
