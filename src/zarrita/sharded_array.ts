import { DefaultChunkKeyEncoding } from "../chunk_key_encoding/mod.ts";
import { type ChunkRows, chunkRows } from "../codecs/mod.ts";
import { below, describe, MetadataError, pointer } from "../errors/mod.ts";
import {
  ceilDivide,
  isArrayDocument,
  type Members,
  parseArrayMetadata,
  parseExtension,
} from "../metadata/mod.ts";
import { rejectOnAbort } from "../runtime/mod.ts";
import {
  InnerChunks,
  InnerChunkStore,
  type InnerPath,
  parseShardLayout,
  ShardChanges,
  type ShardLayout,
} from "../shards/mod.ts";
import type { Place, Store, StoreKey, StoreOptions } from "../stores/mod.ts";
import {
  gridCoordinates,
  isPlainKey,
  PlainArray,
  type TranslatedArray,
} from "../views/mod.ts";
import type { Run } from "./selection.ts";

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

const SHARDING = "sharding_indexed";
/** The greatest number of inner chunks in a shard, whose index takes 16 MiB. */
const MOST_CHUNKS = 2 ** 20;

/** The shards of an array, whose inner chunks may be shards themselves. */
export interface ShardLevels {
  /** The layouts of the shards, of the shards nested in them, and so on. */
  readonly layouts: readonly ShardLayout[];
  /** The shape of the innermost chunks, in elements. */
  readonly chunkShape: readonly number[];
  /** The array's shape, in elements. */
  readonly shape: readonly number[];
  /** The number of innermost chunks along each dimension of the array. */
  readonly gridShape: readonly number[];
}

/** Parses the shards of an array; `undefined` for an array without shards or another node. */
export function parseShardLevels(document: unknown): ShardLevels | undefined {
  if (!isArrayDocument(document) || !isSharded(document.codecs)) {
    return undefined;
  }
  const { metadata } = parseArrayMetadata(document);
  const { chunk_shape } = metadata.chunk_grid.configuration!;
  const layouts: ShardLayout[] = [];
  let chunkShape = chunk_shape as number[];
  let codecs: unknown[] = document.codecs;
  let path = "/codecs";
  while (isSharded(codecs)) {
    assertAlone(codecs, path);
    path = pointer(path, 0);
    const [codec] = codecs;
    layouts.push(below(path, () => {
      const layout = parseShardLayout(codec, chunkShape);
      assertCount(layout);
      return layout;
    }));
    const { configuration } = parseExtension(codec, "codec");
    chunkShape = configuration.chunk_shape as number[];
    codecs = configuration.codecs as unknown[];
    path += "/configuration/codecs";
  }
  const { shape } = metadata;
  const gridShape = shape.map((length, i) =>
    ceilDivide(length, chunkShape[i]!)
  );
  return { layouts, chunkShape, shape, gridShape };
}

/** The codecs of the innermost chunks, from valid metadata. */
export function innermostCodecs(codecs: unknown): readonly unknown[] {
  return isSharded(codecs)
    ? innermostCodecs(codecs[0].configuration.codecs)
    : codecs as unknown[];
}

// deno-lint-ignore no-explicit-any -- checked by the parsers
function isSharded(codecs: unknown): codecs is any[] {
  return Array.isArray(codecs) &&
    codecs.some((codec) => codec === SHARDING || codec?.name === SHARDING);
}

/** Refuses shards whose index would need too much memory. */
function assertCount({ chunksPerShard }: ShardLayout): void {
  const count = chunksPerShard.reduce((product, n) => product * n, 1);
  if (count <= MOST_CHUNKS) return;
  throw new MetadataError(
    `Expected at most ${MOST_CHUNKS} inner chunks in a shard, found ${
      describe(chunksPerShard)
    }`,
    "/configuration/chunk_shape",
  );
}

/** Refuses codecs before or after `sharding_indexed`, since inner chunks could not be read by ranges. */
function assertAlone(codecs: unknown[], path: string): void {
  if (codecs.length === 1) return;
  const names = codecs.map((codec, i) =>
    below(pointer(path, i), () => parseExtension(codec, "codec")).name
  );
  throw new MetadataError(
    `Expected "${SHARDING}" to be the only codec of the shards, as inner chunks cannot be read otherwise, found ${
      describe(names)
    }`,
    path,
  );
}
