import {
  type ArrayChunks,
  isInShare,
  parsedArrayOf,
  type Share,
} from "../../arrays/mod.ts";
import type { Part } from "../../splitter/mod.ts";
import {
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
import { type ArrayOfJob, chunksToDo, countToDo } from "../chunks_to_do.ts";
import type { ConvertPlan, PlannedArray } from "./convert_plan.ts";
import { type ListedSource, withoutNodes } from "./source_files.ts";

/** A chunk or a file that is copied. */
export interface WorkItem {
  readonly from: StoredValue;
  readonly to: StoredValue;
  /** The checksums of a chunk; `undefined` for a file. */
  readonly checks: ChunkChecks | undefined;
  /** Changes the bytes of a shard, or of metadata of Zarr v2; `undefined` for values that are copied as they are. */
  readonly change: ((bytes: Uint8Array) => Uint8Array) | undefined;
  /** Whether the source was found to hold the value. */
  readonly isListed: boolean;
}

/** A chunk or a file in a store. */
export interface StoredValue {
  readonly store: Store;
  readonly key: StoreKey;
  /** The parts that the value is stored in. */
  readonly parts: readonly Part[];
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

/** The chunks that are copied, and the files of a conversion, or those of one share. */
export class ConvertWork implements Iterable<WorkItem> {
  readonly #plan: ConvertPlan;
  readonly #arrays: readonly PlannedArray[];
  readonly #listed: ListedSource;
  readonly #share: Share | undefined;
  readonly #isUnfinished: boolean;
  /** The number of items. */
  readonly total: number;

  /** @param isUnfinished Whether the target has a marker, and no documents yet. */
  constructor(
    plan: ConvertPlan,
    listed: ListedSource,
    share: Share | undefined,
    isUnfinished: boolean,
  ) {
    this.#plan = plan;
    this.#isUnfinished = isUnfinished;
    this.#arrays = plan.arrays.filter(({ isRecoded }) => !isRecoded);
    this.#listed = listed;
    this.#share = share;
    this.total = this.#files().length +
      this.#arrays.reduce(
        (sum, array) => sum + countToDo(arrayOfJob(array), share),
        0,
      );
  }

  *[Symbol.iterator](): Generator<WorkItem> {
    const { source, target } = this.#plan;
    for (const array of this.#arrays) {
      const { contain } = array;
      const checks = checksOf(parsedArrayOf(array.source));
      const sourceParts = parsedArrayOf(array.source).parts;
      const targetParts = parsedArrayOf(array.target).parts;
      for (const coordinates of chunksToDo(arrayOfJob(array), this.#share)) {
        const from = chunkIn(
          source.store,
          array.source,
          sourceParts,
          coordinates,
        );
        yield {
          from,
          to: chunkIn(
            target.store,
            array.target,
            targetParts,
            coordinates,
            this.#isUnfinished,
          ),
          checks,
          change: contain &&
            ((bytes) => contain(bytes, coordinates, from.key)),
          isListed: array.stored !== undefined,
        };
      }
    }
    for (const file of this.#files()) {
      const key: StoreKey = `${source.root as StoreKey}${file}`;
      yield {
        from: fileIn(source.store, key),
        to: fileIn(target.store, `${target.root as StoreKey}${file}`),
        checks: undefined,
        change: file.endsWith("/.zmetadata")
          ? (bytes) => withoutNodes(bytes, key, this.#plan)
          : undefined,
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

/**
 * A chunk of an array in a store.
 *
 * @param isExclusive Whether nobody can have opened the array to change its chunks.
 */
function chunkIn(
  store: Store,
  chunks: ArrayChunks,
  parts: readonly Part[],
  coordinates: readonly number[],
  isExclusive = false,
): StoredValue {
  return {
    store,
    key: chunks.key(coordinates),
    parts,
    size: (options) => chunks.size(coordinates, options),
    get: (options) => chunks.get(coordinates, options),
    stream: (options) => chunks.stream(coordinates, options),
    set: (value, options) =>
      chunks.set(coordinates, value, { ...options, exclusive: isExclusive }),
    delete: (options) => chunks.delete(coordinates, options),
  };
}

/** A file in a store. */
function fileIn(store: Store, key: StoreKey): StoredValue {
  return {
    store,
    key,
    parts: [{ keySuffix: "" }],
    size: (options) => readSize(store, key, options),
    get: (options) => readValue(store, key, options),
    stream: (options) => readStream(store, key, options),
    set: (value, options) => write(store, key, value, options),
    delete: (options) => remove(store, key, options),
  };
}
