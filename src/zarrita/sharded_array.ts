import type { ParsedArray } from "../arrays/mod.ts";
import {
  type ChunkDivision,
  EncodedChunks,
  innermostChunks,
} from "../blocks/mod.ts";
import { describe } from "../errors/mod.ts";
import type { InnerPath } from "../shards/mod.ts";
import {
  type Backend,
  backendOf,
  type ByteRange,
  MemoryPendingValues,
  type Store,
  type StoreOptions,
  toStream,
} from "../stores/mod.ts";
import { gridCoordinates, type Place, PlainArray } from "../views/mod.ts";

/** A sharded array, shown as an array of its innermost chunks. */
export class ShardedArray extends PlainArray {
  readonly chunks: EncodedChunks;

  constructor(
    store: Store,
    root: string,
    array: ParsedArray,
    division: ChunkDivision,
  ) {
    super(store, root, array);
    this.chunks = sharedChunks(store, root, array, division);
    this.refresh(); // Other programs may have changed the shards.
  }

  /** The number of innermost chunks along each dimension. */
  override get gridShape(): readonly number[] {
    return this.chunks.division.gridShape;
  }

  override placeOf(plainKey: string): Place | undefined {
    const coordinates = gridCoordinates(plainKey, this.gridShape);
    if (coordinates === undefined) return undefined;
    const { key } = this.chunks.placeOf(coordinates);
    return { backend: innerChunkBackend(this.chunks, coordinates), key };
  }

  override refresh(): void {
    this.chunks.shards!.reader.clear();
  }

  protected override async *shownChunks(
    shard: readonly number[],
    options: StoreOptions | undefined,
  ): AsyncGenerator<readonly number[]> {
    const { reader } = this.chunks.shards!;
    for await (const path of reader.list(this.keyOf(shard), options)) {
      const coordinates = this.#coordinates(shard, path);
      // Shards may extend past the edge of the array.
      if (coordinates.every((c, i) => c < this.gridShape[i]!)) {
        yield coordinates;
      }
    }
  }

  /** The grid coordinates of an inner chunk in the array. */
  #coordinates(shard: readonly number[], path: InnerPath): readonly number[] {
    return path.reduce((outer, within, level) => {
      const { chunksPerShard } = this.chunks.division.layouts[level]!;
      return outer.map((c, i) => c * chunksPerShard[i]! + within[i]!);
    }, shard);
  }
}

/** Chunks, with the document that they were created for. */
interface Latest {
  readonly document: string;
  readonly chunks: EncodedChunks;
}

/** Caches one entry per array; re-creating an array replaces its entry. */
const latest = new WeakMap<Store, Map<string, Latest>>();

/**
 * Returns the chunks of an array. All wrappers of a store that have read the same document
 * of the array share them, and with them the cache of indexes.
 */
function sharedChunks(
  store: Store,
  root: string,
  array: ParsedArray,
  division: ChunkDivision,
): EncodedChunks {
  const arrays = latest.get(store) ?? new Map<string, Latest>();
  latest.set(store, arrays);
  const { attributes: _, ...metadata } = array.metadata;
  const document = JSON.stringify(
    metadata,
    (_, value) => typeof value === "bigint" ? String(value) : value,
  );
  const found = arrays.get(root);
  if (found?.document === document) return found.chunks;
  const chunks = new EncodedChunks(backendOf(store), root, array, division);
  arrays.set(root, { document, chunks });
  return chunks;
}

/** A backend that has one inner chunk under the key of its shard. */
function innerChunkBackend(
  chunks: EncodedChunks,
  coordinates: readonly number[],
): Backend {
  const { key, path } = chunks.placeOf(coordinates);
  const { reader, writer } = chunks.shards!;
  const read = (options: StoreOptions | undefined, range?: ByteRange) =>
    range === undefined ? chunks.readInner(coordinates, options) : Promise
      .reject(
        // zarrita reads a range only if it takes the inner chunk for a shard.
        new TypeError(
          `Expected an array that zarr.open gave, found one that takes inner chunks of ${
            describe(key)
          } for shards: open what zarr.create has created`,
        ),
      );
  const change = (bytes: Uint8Array | undefined) =>
    writer.change(key, path, bytes);
  return {
    read: (_, task, options) =>
      task({
        size: () => reader.size(key, path, options),
        read: (_, range) => read(options, range),
        async stream(_, range) {
          const bytes = await read(options, range);
          return bytes && toStream(bytes);
        },
        version: () => undefined,
      }),
    prepare: (_, options) =>
      Promise.resolve(
        new MemoryPendingValues(
          [key],
          options?.signal,
          (values) => change(values.get(key)),
        ),
      ),
    remove: () => change(undefined),
  };
}

/** The innermost chunks of a sharded array; `undefined` for an array without shards. */
export function shardedChunks(array: ParsedArray): ChunkDivision | undefined {
  return array.chunk.shard && innermostChunks(array);
}

/** The codecs of the innermost chunks, from valid metadata. */
export function innermostCodecs(codecs: unknown): readonly unknown[] {
  const sharding = (codecs as unknown[]).find((codec) =>
    (codec as { name?: unknown } | null)?.name === "sharding_indexed"
  );
  if (sharding === undefined) return codecs as unknown[];
  const { configuration } = sharding as {
    configuration: { codecs: unknown[] };
  };
  return innermostCodecs(configuration.codecs);
}
