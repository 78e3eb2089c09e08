import { describe } from "../metadata/describe.ts";
import { parseExtension } from "../metadata/extension.ts";
import type { Members } from "../metadata/node_documents.ts";
import { DefaultChunkKeyEncoding } from "../chunk_key_encoding/default_chunk_key_encoding.ts";
import { gridCoordinates, PlainArray } from "../views/plain_array.ts";
import { InnerChunks, InnerChunkStore } from "../shards/inner_chunks.ts";
import type { InnerPath } from "../shards/inner_extents.ts";
import { ShardChanges } from "../shards/shard_changes.ts";
import { rejectOnAbort } from "../stores/abort.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import {
  isPlainKey,
  type Place,
  type TranslatedArray,
} from "../views/translation.ts";
import { type ChunkRows, chunkRows } from "./read_keys.ts";
import type { Run } from "./selection.ts";
import { innermostCodecs, type ShardLevels } from "./shard_levels.ts";

const PLAIN_ENCODING = new DefaultChunkKeyEncoding();
/** The codecs of zarrita, whose messages do not name the key of a chunk. */
const OTHER_CODECS = ["bytes", "transpose"];

/** A sharded array, shown as an array of its innermost chunks. */
export class ShardedArray implements TranslatedArray {
  readonly root: string;
  readonly levels: ShardLevels;
  readonly inner: InnerChunks;
  readonly #shards: PlainArray;
  readonly #changes: ShardChanges;
  readonly #codecs: readonly string[];
  readonly #codecsNeedKeys: boolean;

  constructor(
    store: Store,
    root: string,
    document: Members,
    levels: ShardLevels,
  ) {
    this.root = root;
    this.levels = levels;
    this.#shards = new PlainArray(store, root, document);
    this.#changes = ShardChanges.of(store, root);
    this.inner = innerChunks(store, root, document, () => {
      const { headSize, body, store: shards } = this.#shards;
      const changes = this.#changes;
      const options = { headSize, body, changes };
      return new InnerChunks(shards, levels.layouts, options);
    });
    this.inner.refresh(); // Other programs may have changed the shards.
    this.#codecs = innermostCodecs(document.codecs)
      .map((codec) => parseExtension(codec, "codec").name);
    this.#codecsNeedKeys = this.#codecs
      .some((name) => !OTHER_CODECS.includes(name));
  }

  /** The number of innermost chunks along each dimension. */
  get gridShape(): readonly number[] {
    return this.levels.gridShape;
  }

  /** The shape of a shard in elements. */
  get shardShape(): readonly number[] {
    const { layouts, chunkShape } = this.levels;
    return layouts.reduce(
      (shape, { chunksPerShard }) =>
        shape.map((length, i) => length * chunksPerShard[i]!),
      chunkShape,
    );
  }

  /** The number of bytes of the head parts of a shard. */
  get headSize(): number {
    return this.#shards.headSize;
  }

  placeOf(plainKey: string): Place | undefined {
    const place = this.locate(plainKey);
    if (place === undefined) return undefined;
    const { key, path } = place;
    const needsKey = this.#codecsNeedKeys;
    const rows = needsKey ? this.#rowsOf(plainKey) : undefined;
    const store = new WholeInnerChunk(this.inner, path, needsKey, rows);
    return { store, key };
  }

  /** The rows of a chunk that extends past the end of the array; `undefined` for another chunk. */
  #rowsOf(plainKey: string): ChunkRows | undefined {
    const { chunkShape, gridShape, shape } = this.levels;
    const first = gridCoordinates(plainKey, gridShape)!
      .map((coordinate, i) => coordinate * chunkShape[i]!);
    return chunkRows(chunkShape, shape, first, this.#codecs);
  }

  refresh(): void {
    this.inner.refresh();
  }

  /** Runs a task that writes after all earlier ones have finished. */
  runInTurn(
    task: () => Promise<void>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const turn = this.#changes.runAll(() => {
      signal?.throwIfAborted();
      return task();
    });
    return rejectOnAbort(turn, signal);
  }

  /** Whether runs of elements along each dimension cover all elements of a shard in the array. */
  isCovered(
    shard: readonly number[],
    runs: readonly Run[],
  ): boolean {
    const { shape } = this.levels;
    const { shardShape } = this;
    return runs.every(({ start, stop }, i) => {
      const length = shardShape[i]!;
      const first = shard[i]! * length;
      return start <= first && stop >= Math.min(first + length, shape[i]!);
    });
  }

  /** Returns the store of whole shards, and the key of a shard in it. */
  shardAt(coordinates: readonly number[]): Place {
    return this.#shards.at(coordinates);
  }

  /**
   * Finds the shard of an inner chunk, as grid coordinates and key, and the chunk's
   * place in it; returns `undefined` for a key outside the chunk grid.
   */
  locate(
    plainKey: string,
  ): { shard: number[]; key: StoreKey; path: InnerPath } | undefined {
    const { gridShape, layouts } = this.levels;
    const shard = gridCoordinates(plainKey, gridShape);
    if (shard === undefined) return undefined;
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
    return { shard, key: this.#shards.at(shard).key, path };
  }

  async *list(options: StoreOptions | undefined): AsyncGenerator<StoreKey> {
    const root: StoreKey = `${this.root as StoreKey}/`;
    for await (const found of this.#shards.find(options)) {
      if (typeof found === "string") {
        if (!isPlainKey(found.slice(root.length))) yield found;
        continue;
      }
      const { key } = this.#shards.at(found);
      for await (const path of this.inner.list(key, options)) {
        const coordinates = this.#coordinates(found, path);
        // Shards may extend past the edge of the array.
        const isShown = coordinates.every((c, i) =>
          c < this.levels.gridShape[i]!
        );
        if (isShown) yield `${root}${PLAIN_ENCODING.encode(coordinates)}`;
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

/** The inner chunks of an array, with the document that they were created for. */
interface Latest {
  readonly document: string;
  readonly inner: InnerChunks;
}

/** Caches one entry per array; re-creating an array replaces its entry. */
const latest = new WeakMap<Store, Map<string, Latest>>();

/** Gives the wrappers of a store the same inner chunks of an array, with one cache, as long as they know the same document. */
function innerChunks(
  store: Store,
  root: string,
  { attributes: _, ...metadata }: Members,
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

/** A store of one inner chunk that refuses ranges, since zarrita reads one only if it takes the inner chunk for a shard. */
export class WholeInnerChunk extends InnerChunkStore {
  /** Whether a codec names the key of a chunk in its messages. */
  readonly needsKey: boolean;
  /** The rows of a chunk that extends past the end of the array. */
  readonly rows: ChunkRows | undefined;

  constructor(
    chunks: InnerChunks,
    path: InnerPath,
    needsKey: boolean,
    rows: ChunkRows | undefined,
  ) {
    super(chunks, path);
    this.needsKey = needsKey;
    this.rows = rows;
  }

  override getRange(key: StoreKey): Promise<never> {
    return Promise.reject(
      new TypeError(
        `Expected an array that zarr.open gave, found one that takes inner chunks of ${
          describe(key)
        } for shards: open what zarr.create has created`,
      ),
    );
  }
}
