import type { ChunkLevel, ParsedArray } from "../arrays/mod.ts";
import { type ChunkRows, chunkRows, noteKey } from "../codecs/mod.ts";
import { describe, MetadataError } from "../errors/mod.ts";
import { ceilDivide, type NamedConfiguration } from "../metadata/mod.ts";
import { copyBytes, joinBytes, ownBytes } from "../runtime/mod.ts";
import {
  type InnerPath,
  type ShardLayout,
  ShardReader,
  ShardWriter,
} from "../shards/mod.ts";
import {
  type Backend,
  type ByteRange,
  type ReadOptions,
  type Store,
  type StoreKey,
  type StoreOptions,
  toStream,
} from "../stores/mod.ts";
import {
  gridCoordinates,
  isPlainKey,
  type Place,
  PlainArray,
  type TranslatedArray,
} from "../views/mod.ts";

/** The codecs of zarrita, whose messages do not name the key of a chunk. */
const OTHER_CODECS = ["bytes", "transpose"];

/** The shard of an inner chunk, as grid coordinates and key, and the place of the chunk in the shard. */
interface InnerPlace {
  readonly shard: number[];
  readonly key: StoreKey;
  readonly path: InnerPath;
}

/** An inner chunk by its place among those that were asked for. */
interface ReadInnerChunk {
  readonly place: number;
  readonly bytes: Uint8Array;
  /** The rows of a chunk that extends past the end of the array. */
  readonly rows: ChunkRows | undefined;
}

/** A sharded array, shown as an array of its innermost chunks. */
export class ShardedArray implements TranslatedArray {
  readonly root: string;
  /** What the metadata of the array says. */
  readonly array: ParsedArray;
  readonly levels: ShardLevels;
  readonly inner: InnerChunks;
  readonly #shards: PlainArray;
  readonly #codecs: readonly string[];
  readonly #codecsNeedKeys: boolean;
  /** The shard that was located last. */
  #latest:
    | { readonly shard: readonly number[]; readonly key: StoreKey }
    | undefined;

  constructor(
    store: Store,
    root: string,
    array: ParsedArray,
    levels: ShardLevels,
  ) {
    this.root = root;
    this.array = array;
    this.levels = levels;
    this.#shards = new PlainArray(store, root, array);
    this.inner = innerChunks(store, root, array, () => {
      const { backend } = this.#shards;
      const form = this.#shards.shards!;
      return {
        reader: new ShardReader(backend, form),
        writer: new ShardWriter(backend, form),
      };
    });
    this.refresh(); // Other programs may have changed the shards.
    this.#codecs = levels.codecs.map(({ name }) => name);
    this.#codecsNeedKeys = this.#codecs
      .some((name) => !OTHER_CODECS.includes(name));
  }

  /** The number of innermost chunks along each dimension. */
  get gridShape(): readonly number[] {
    return this.levels.gridShape;
  }

  /** The number of bytes of the head parts of a shard. */
  get headSize(): number {
    return this.#shards.shards!.headSize ?? 0;
  }

  placeOf(plainKey: string): Place | undefined {
    const place = this.locate(plainKey);
    if (place === undefined) return undefined;
    const { key, path } = place;
    return { backend: innerChunkBackend(this, plainKey, path), key };
  }

  /**
   * Reads an inner chunk; `undefined` also for a key outside the chunk grid. The bytes
   * fill their memory, since zarrita encodes all of the memory that elements lie in.
   *
   * @param options Those of zarrita's `get`.
   */
  read(
    plainKey: string,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    const place = this.locate(plainKey);
    if (place === undefined) return Promise.resolve(undefined);
    const { key, path } = place;
    const reading = this.inner.reader.read(key, path, options);
    if (!this.#codecsNeedKeys) return reading;
    const rows = this.#rowsAt(gridCoordinates(plainKey, this.gridShape)!);
    return reading.then((bytes) => {
      if (bytes === undefined) return undefined;
      const own = ownBytes(bytes);
      noteKey(own, key, rows);
      return own;
    });
  }

  /**
   * Reads inner chunks of one shard in one state. Those that lie close to each other are
   * read by one request, and share its memory, which belongs to the caller.
   *
   * @param chunks The grid coordinates of inner chunks in the chunk grid.
   * @returns The inner chunks, by request. Absent ones are left out.
   */
  async readTogether(
    chunks: readonly (readonly number[])[],
    options: (StoreOptions & ReadOptions) | undefined,
  ): Promise<ReadInnerChunk[][]> {
    // The array may have become smaller since the caller has opened it.
    const places = chunks.flatMap((coordinates, place) =>
      coordinates.every((c, i) => c < this.gridShape[i]!)
        ? { place, ...this.#placeOf(coordinates) }
        : []
    );
    if (places.length === 0) return [];
    const reads = await this.inner.reader.readTogether(
      places[0]!.key,
      places.map(({ path }) => path),
      options,
    );
    return reads.map((read) =>
      read.map(({ place: i, bytes }) => {
        const { place } = places[i]!;
        const rows = this.#codecsNeedKeys
          ? this.#rowsAt(chunks[place]!)
          : undefined;
        return { place, bytes, rows };
      })
    );
  }

  /** The rows of a chunk that extends past the end of the array; `undefined` for another chunk. */
  #rowsAt(coordinates: readonly number[]): ChunkRows | undefined {
    const { chunkShape, shape } = this.levels;
    const first = coordinates.map((coordinate, i) =>
      coordinate * chunkShape[i]!
    );
    return chunkRows(chunkShape, shape, first, this.#codecs);
  }

  refresh(): void {
    this.inner.reader.clear();
  }

  /**
   * Finds the shard of an inner chunk, as grid coordinates and key, and the chunk's
   * place in it; returns `undefined` for a key outside the chunk grid.
   */
  locate(plainKey: string): InnerPlace | undefined {
    const coordinates = gridCoordinates(plainKey, this.gridShape);
    return coordinates && this.#placeOf(coordinates);
  }

  /** Finds the shard of an inner chunk in the chunk grid, and the place of the chunk in it. */
  #placeOf(coordinates: readonly number[]): InnerPlace {
    const { layouts } = this.levels;
    const shard = [...coordinates];
    const path: number[][] = new Array(layouts.length);
    for (let level = layouts.length - 1; level >= 0; level--) {
      const { chunksPerShard } = layouts[level]!;
      path[level] = shard.map((coordinate, i) =>
        coordinate % chunksPerShard[i]!
      );
      for (let i = 0; i < shard.length; i++) {
        shard[i] = Math.floor(shard[i]! / chunksPerShard[i]!);
      }
    }
    return { shard, key: this.keyOf(shard), path };
  }

  /** The key of a shard. Neighbouring chunks are often in the same shard, whose key is kept. */
  keyOf(shard: readonly number[]): StoreKey {
    const latest = this.#latest;
    let isLatest = latest !== undefined;
    for (let i = 0; isLatest && i < shard.length; i++) {
      isLatest = latest!.shard[i] === shard[i];
    }
    if (isLatest) return latest!.key;
    const key = this.#shards.keyOf(shard);
    this.#latest = { shard, key };
    return key;
  }

  async *list(options: StoreOptions | undefined): AsyncGenerator<StoreKey> {
    const root: StoreKey = `${this.root as StoreKey}/`;
    for await (const found of this.#shards.find(options)) {
      if (typeof found === "string") {
        if (!isPlainKey(found.slice(root.length))) yield found;
        continue;
      }
      const key = this.#shards.keyOf(found);
      for await (const path of this.inner.reader.list(key, options)) {
        const coordinates = this.#coordinates(found, path);
        // Shards may extend past the edge of the array.
        const isShown = coordinates.every((c, i) =>
          c < this.levels.gridShape[i]!
        );
        if (isShown) yield `${root}${["c", ...coordinates].join("/")}`;
      }
    }
  }

  /** The grid coordinates of an inner chunk in the array. */
  #coordinates(shard: readonly number[], path: InnerPath): number[] {
    return path.reduce<readonly number[]>(
      (outer, within, level) => {
        const { chunksPerShard } = this.levels.layouts[level]!;
        return outer.map((c, i) => c * chunksPerShard[i]! + within[i]!);
      },
      shard,
    ) as number[];
  }
}

/** What reads and writes the inner chunks of an array. */
interface InnerChunks {
  readonly reader: ShardReader;
  readonly writer: ShardWriter;
}

/** The inner chunks of an array, with the document that they were created for. */
interface Latest {
  readonly document: string;
  readonly inner: InnerChunks;
}

/** Caches one entry per array; re-creating an array replaces its entry. */
const latest = new WeakMap<Store, Map<string, Latest>>();

/**
 * Returns the inner chunks of an array. All wrappers of a store that have read the same
 * document of the array share the inner chunks, and with them the cache of indexes.
 */
function innerChunks(
  store: Store,
  root: string,
  { metadata: { attributes: _, ...metadata } }: ParsedArray,
  create: () => InnerChunks,
): InnerChunks {
  const arrays = latest.get(store) ?? new Map<string, Latest>();
  latest.set(store, arrays);
  const document = JSON.stringify(
    metadata,
    (_, value) => typeof value === "bigint" ? String(value) : value,
  );
  const found = arrays.get(root);
  if (found?.document === document) return found.inner;
  const inner = create();
  arrays.set(root, { document, inner });
  return inner;
}

/** A backend that has one inner chunk under the key of its shard. */
function innerChunkBackend(
  array: ShardedArray,
  plainKey: string,
  path: InnerPath,
): Backend {
  const { inner } = array;
  const read = (options: StoreOptions | undefined, range?: ByteRange) =>
    range === undefined ? array.read(plainKey, options) : Promise.reject(
      // zarrita reads a range only if it takes the inner chunk for a shard.
      new TypeError(
        `Expected an array that zarr.open gave, found one that takes inner chunks of ${
          describe(array.locate(plainKey)!.key)
        } for shards: open what zarr.create has created`,
      ),
    );
  const change = async (key: StoreKey, bytes: Uint8Array | undefined) => {
    await inner.writer.change(key, path, bytes);
  };
  return {
    read: (_, task, options) =>
      task({
        size: (key) => inner.reader.size(key, path, options),
        read: (_, range) => read(options, range),
        async stream(_, range) {
          const bytes = await read(options, range);
          return bytes && toStream(bytes);
        },
        version: () => undefined,
      }),
    prepare([key]) {
      const pieces: Uint8Array[] = [];
      return Promise.resolve({
        set(_, bytes) {
          pieces.push(copyBytes(bytes));
          return Promise.resolve();
        },
        writer: () =>
          Promise.resolve({
            write(bytes) {
              pieces.push(copyBytes(bytes));
              return Promise.resolve(bytes.length);
            },
            close() {},
          }),
        commit: () => change(key!, joinBytes(pieces)),
        abort: () => Promise.resolve(),
      });
    },
    remove: ([key]) => change(key!, undefined),
  };
}

const SHARDING = "sharding_indexed";
/** The greatest number of inner chunks in a shard, whose index takes 16 MiB. */
const MOST_CHUNKS = 2 ** 20;

/** The shards of an array, whose inner chunks may be shards themselves. */
export interface ShardLevels {
  /** The layouts of the shards, of the shards nested in them, and so on. */
  readonly layouts: readonly ShardLayout[];
  /** The codecs of the innermost chunks. */
  readonly codecs: readonly NamedConfiguration[];
  /** The shape of the innermost chunks, in elements. */
  readonly chunkShape: readonly number[];
  /** The array's shape, in elements. */
  readonly shape: readonly number[];
  /** The number of innermost chunks along each dimension of the array. */
  readonly gridShape: readonly number[];
}

/**
 * Returns the shards of an array whose inner chunks can be read by ranges; `undefined` for
 * an array without shards.
 *
 * @throws {MetadataError} If other codecs stand beside those of shards, or an index would
 * need too much memory.
 */
export function shardLevelsOf(
  { shape, chunk }: ParsedArray,
): ShardLevels | undefined {
  if (!isSharded(chunk)) return undefined;
  const layouts: ShardLayout[] = [];
  let level = chunk;
  let path = "/codecs";
  while (isSharded(level)) {
    assertAlone(level, path);
    const { layout, inner } = level.shard!;
    assertCount(layout, `${path}/0/configuration/chunk_shape`);
    layouts.push(layout);
    level = inner;
    path += "/0/configuration/codecs";
  }
  const { shape: chunkShape, codecs } = level;
  const gridShape = shape.map((length, i) =>
    ceilDivide(length, chunkShape[i]!)
  );
  return { layouts, codecs, chunkShape, shape, gridShape };
}

/** The innermost chunks of an array. */
export function innermostLevel(level: ChunkLevel): ChunkLevel {
  return level.shard === undefined ? level : innermostLevel(level.shard.inner);
}

/** The codecs of the innermost chunks, from valid metadata. */
export function innermostCodecs(codecs: unknown): readonly unknown[] {
  const sharding = (codecs as unknown[]).find((codec) =>
    (codec as { name?: unknown } | null)?.name === SHARDING
  );
  if (sharding === undefined) return codecs as unknown[];
  const { configuration } = sharding as {
    configuration: { codecs: unknown[] };
  };
  return innermostCodecs(configuration.codecs);
}

function isSharded({ codecs }: ChunkLevel): boolean {
  return codecs.some(({ name }) => name === SHARDING);
}

/** Refuses shards whose index would need too much memory. */
function assertCount({ chunksPerShard }: ShardLayout, path: string): void {
  const count = chunksPerShard.reduce((product, n) => product * n, 1);
  if (count <= MOST_CHUNKS) return;
  throw new MetadataError(
    `Expected at most ${MOST_CHUNKS} inner chunks in a shard, found ${
      describe(chunksPerShard)
    }`,
    path,
  );
}

/** Refuses codecs before or after `sharding_indexed`, since inner chunks could not be read by ranges. */
function assertAlone({ codecs }: ChunkLevel, path: string): void {
  if (codecs.length === 1) return;
  throw new MetadataError(
    `Expected "${SHARDING}" to be the only codec of the shards, as inner chunks cannot be read otherwise, found ${
      describe(codecs.map(({ name }) => name))
    }`,
    path,
  );
}
