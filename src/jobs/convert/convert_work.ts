import {
  type ArrayChunks,
  isInShare,
  type Share,
  storageOf,
} from "../../arrays/mod.ts";
import {
  type FlatParts,
  flattenLayers,
  ONE_OBJECT,
  StoredChunk,
} from "../../concat_parts/mod.ts";
import {
  canCopyFiles,
  readSize,
  readStream,
  readValue,
  remove,
  type Store,
  type StoreKey,
  type StoreOptions,
  write,
} from "../../stores/mod.ts";
import { checksOf, type ChunkChecks } from "../chunk_checks.ts";
import {
  type ArrayOfJob,
  chunksToDo,
  countToDo,
} from "../hierarchy/chunks_to_do.ts";
import type { ConvertPlan, PlannedArray } from "./convert_plan.ts";
import { type ListedSource, withoutNodes } from "./source_files.ts";
import { copyFiles } from "./system_copies.ts";

/** A chunk or a file that is copied. */
export interface WorkItem {
  readonly from: StoredValue;
  readonly to: StoredValue;
  /** The keys of the objects of the source that hold the value. */
  readonly keys: readonly StoreKey[];
  /** The checksums of a chunk; `undefined` for a file. */
  readonly checks: ChunkChecks | undefined;
  /** Changes the bytes of a shard, or of metadata of Zarr v2; `undefined` for values that are copied as they are. */
  readonly change: ((bytes: Uint8Array) => Uint8Array) | undefined;
  /**
   * Has the operating system copy the files of the value, if it can. Returns whether it has.
   *
   * @param size The length of the value in bytes.
   * @param isNew Whether the target is known not to have the value.
   */
  readonly copyFiles:
    | ((
      size: number,
      isNew: boolean,
      options: StoreOptions,
    ) => Promise<boolean>)
    | undefined;
  /** Whether the source was found to hold the value. */
  readonly isListed: boolean;
}

/** A chunk or a file in a store. */
export interface StoredValue {
  readonly key: StoreKey;
  /** Whether the store tells the value's length without reading it. */
  readonly hasSize: boolean;
  size(options: StoreOptions): Promise<number | undefined>;
  get(options: StoreOptions): Promise<Uint8Array | undefined>;
  stream(options?: StoreOptions): Promise<
    ReadableStream<Uint8Array> | undefined
  >;
  set(
    value: Uint8Array | ReadableStream<Uint8Array>,
    options: StoreOptions,
  ): Promise<void>;
  delete(options: StoreOptions): Promise<void>;
}

/** The chunks and the files of a conversion, or those of one share. */
export class ConvertWork implements Iterable<WorkItem> {
  readonly #plan: ConvertPlan;
  readonly #listed: ListedSource;
  readonly #share: Share | undefined;
  /** The number of items. */
  readonly total: number;

  constructor(
    plan: ConvertPlan,
    listed: ListedSource,
    share: Share | undefined,
  ) {
    this.#plan = plan;
    this.#listed = listed;
    this.#share = share;
    this.total = this.#files().length +
      plan.arrays.reduce(
        (sum, array) => sum + countToDo(arrayOfJob(array), share),
        0,
      );
  }

  *[Symbol.iterator](): Generator<WorkItem> {
    const { source, target, arrays } = this.#plan;
    const canCopy = canCopyFiles(source.store, target.store);
    const copying = (
      from: readonly [FlatParts, StoreKey],
      to: readonly [FlatParts, StoreKey],
      checks: ChunkChecks | undefined,
    ): WorkItem["copyFiles"] =>
      canCopy
        ? (size, isNew, options) =>
          copyFiles(
            new StoredChunk(from[0], source.store, from[1], options),
            new StoredChunk(to[0], target.store, to[1], options),
            { size, isNew, checks },
          )
        : undefined;
    for (const array of arrays) {
      const { metadata, chunkShape } = array.source;
      const checks = checksOf(metadata, chunkShape);
      const before = flattenLayers(storageOf(metadata).layers);
      const after = flattenLayers(storageOf(array.target.metadata).layers);
      for (const coordinates of chunksToDo(arrayOfJob(array), this.#share)) {
        const from = chunkIn(source.store, array.source, coordinates);
        const to = chunkIn(target.store, array.target, coordinates);
        const { contain } = array;
        yield {
          from,
          to,
          keys: before.parts.map(({ keySuffix }) =>
            `${from.key}${keySuffix}` as const
          ),
          change: contain &&
            ((bytes) => contain(bytes, coordinates, from.key)),
          copyFiles: copying([before, from.key], [after, to.key], checks),
          checks,
          isListed: array.stored !== undefined,
        };
      }
    }
    for (const file of this.#files()) {
      const key: StoreKey = `${source.root as StoreKey}${file}`;
      const other = target.root + file as StoreKey;
      const change = file.endsWith("/.zmetadata")
        ? (bytes: Uint8Array) => withoutNodes(bytes, key, this.#plan)
        : undefined;
      yield {
        from: fileIn(source.store, key),
        keys: [key],
        to: fileIn(target.store, other),
        checks: undefined,
        change,
        copyFiles: copying([ONE_OBJECT, key], [ONE_OBJECT, other], undefined),
        isListed: true,
      };
    }
  }

  #files(): readonly StoreKey[] {
    const { files } = this.#listed;
    const share = this.#share;
    return share ? files.filter((file) => isInShare(share, file)) : files;
  }
}

function arrayOfJob({ path, source, stored }: PlannedArray): ArrayOfJob {
  return { path, gridShape: source.gridShape, stored };
}

/** A chunk of an array in a store. */
export function chunkIn(
  store: Store,
  chunks: ArrayChunks,
  coordinates: readonly number[],
): StoredValue {
  return {
    key: chunks.key(coordinates),
    hasSize: typeof store.size === "function",
    size: (options) => chunks.size(coordinates, options),
    get: (options) => chunks.get(coordinates, options),
    stream: (options) => chunks.stream(coordinates, options),
    set: (value, options) => chunks.set(coordinates, value, options),
    delete: (options) => chunks.delete(coordinates, options),
  };
}

/** A file in a store. */
export function fileIn(store: Store, key: StoreKey): StoredValue {
  return {
    key,
    hasSize: typeof store.size === "function",
    size: (options) => readSize(store, key, options),
    get: (options) => readValue(store, key, options),
    stream: (options) => readStream(store, key, options),
    set: (value, options) => write(store, key, value, options),
    delete: (options) => remove(store, key, options),
  };
}
