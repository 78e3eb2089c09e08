import { describe } from "../metadata/describe.ts";
import { DefaultChunkKeyEncoding } from "../chunk_key_encoding/default_chunk_key_encoding.ts";
import { gridCoordinates, PlainArray } from "../views/plain_array.ts";
import { InnerChunks } from "../shards/inner_chunks.ts";
import type { InnerPath } from "../shards/inner_extents.ts";
import { unlessAborted } from "../stores/abort.ts";
import { KeyLocks } from "../stores/key_locks.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import {
  isPlainKey,
  type Place,
  type TranslatedArray,
} from "../views/translation.ts";
import type { Run } from "./selection.ts";
import type { ShardLevels } from "./shard_levels.ts";

const PLAIN_ENCODING = new DefaultChunkKeyEncoding();

/** An array in shards, shown as an array of their innermost chunks. */
export class ShardedArray implements TranslatedArray {
  readonly root: string;
  readonly levels: ShardLevels;
  readonly inner: InnerChunks;
  readonly #shards: PlainArray;
  readonly #turns: KeyLocks;

  constructor(
    store: Store,
    root: string,
    document: unknown,
    levels: ShardLevels,
  ) {
    this.root = root;
    this.levels = levels;
    this.#shards = new PlainArray(store, root, document);
    const { headSize, store: shards } = this.#shards;
    const shared = sharedBy(store, root, document, () => ({
      inner: new InnerChunks(shards, levels.layouts, headSize),
      turns: new KeyLocks(),
    }));
    this.inner = shared.inner;
    this.inner.refresh(); // What is opened is read as it is by now.
    this.#turns = shared.turns;
  }

  placeOf(plainKey: string): Place {
    const { key, path } = this.locate(plainKey);
    const store = this.inner.at(path);
    store.getRange = refuseRange;
    return { store, key };
  }

  refresh(): void {
    this.inner.refresh();
  }

  /** Runs a task that writes when those before it are done. */
  inTurn(
    task: () => Promise<void>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const turn = this.#turns.write("", () => {
      signal?.throwIfAborted();
      return task();
    });
    return unlessAborted(turn, signal);
  }

  /** Whether a selection's elements along each dimension are all those that a shard has in the array. */
  isCovered(
    shard: readonly number[],
    runs: readonly Run[],
  ): boolean {
    const { layouts, chunkShape, shape } = this.levels;
    return runs.every(({ start, stop }, i) => {
      const length = layouts.reduce(
        (product, { chunksPerShard }) => product * chunksPerShard[i]!,
        chunkShape[i]!,
      );
      const first = shard[i]! * length;
      return start <= first && stop >= Math.min(first + length, shape[i]!);
    });
  }

  /** The shard that an inner chunk lies in, by its grid coordinates and its key, and where in it. */
  locate(
    plainKey: string,
  ): { shard: number[]; key: StoreKey; path: InnerPath } {
    const { gridShape, layouts } = this.levels;
    const shard = gridCoordinates(plainKey, gridShape, this.root);
    const path: number[][] = [];
    for (let level = layouts.length - 1; level >= 0; level--) {
      const { chunksPerShard } = layouts[level]!;
      const within: number[] = [];
      for (let i = 0; i < shard.length; i++) {
        const count = chunksPerShard[i]!;
        within.push(shard[i]! % count);
        shard[i] = Math.floor(shard[i]! / count);
      }
      path.unshift(within);
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
        // At the array's edge, shards go on.
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

/** What all wrappers of a store have in common for an array, so that each knows what the others write. */
interface Shared {
  readonly inner: InnerChunks;
  readonly turns: KeyLocks;
}

/** Of each array of a store, and of how it is stored: of one that is stored anew, the latest. */
const shared = new WeakMap<Store, Map<string, Shared & { document: string }>>();

function sharedBy(
  store: Store,
  root: string,
  metadata: unknown,
  create: () => Shared,
): Shared {
  const arrays = shared.get(store) ?? new Map();
  shared.set(store, arrays);
  const document = JSON.stringify(
    metadata,
    (_, value) => typeof value === "bigint" ? String(value) : value,
  );
  if (arrays.get(root)?.document !== document) {
    arrays.set(root, { ...create(), document });
  }
  return arrays.get(root)!;
}

/** zarrita asks for ranges only where it knows of shards, and so takes an inner chunk for one. */
function refuseRange(key: StoreKey): Promise<never> {
  return Promise.reject(
    new TypeError(
      `Expected an array that zarr.open gave, found one that takes inner chunks of ${
        describe(key)
      } for shards: open what zarr.create has created`,
    ),
  );
}
