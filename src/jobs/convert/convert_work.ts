import { isInShare, type Share, storageOf } from "../../arrays/mod.ts";
import {
  type FlatParts,
  flattenLayers,
  ONE_OBJECT,
  StoredChunk,
} from "../../concat_parts/mod.ts";
import { canCopyFiles, type StoreKey } from "../../stores/mod.ts";
import { checksOf, type ChunkChecks } from "../chunk_checks.ts";
import {
  type ArrayOfJob,
  chunksToDo,
  countToDo,
} from "../hierarchy/array_keys.ts";
import {
  type ConvertPlan,
  type ListedSource,
  type PlannedArray,
  withoutNodes,
} from "./convert_plan.ts";
import { copyFiles } from "./copy_files.ts";
import {
  chunkIn,
  type CopyOptions,
  fileIn,
  type StoredValue,
} from "./copy_value.ts";

/** A chunk or a file that is converted. */
export interface WorkItem {
  readonly from: StoredValue;
  readonly to: StoredValue;
  /** The keys of the objects of the source that hold the value. */
  readonly keys: readonly StoreKey[];
  /** The checksums of a chunk; `undefined` for a file. */
  readonly checks: ChunkChecks | undefined;
  /** Changes the bytes of a shard, or of metadata of Zarr v2; `undefined` for values that are copied as they are. */
  readonly contain: ((bytes: Uint8Array) => Uint8Array) | undefined;
  /** Has the operating system copy the files of a value of a length, if it can. */
  readonly copyFiles: CopyOptions["copyFiles"];
  /** Whether the source was found to hold the value. */
  readonly isListed: boolean;
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
    ): CopyOptions["copyFiles"] =>
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
          contain: contain &&
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
      const contain = file.endsWith("/.zmetadata")
        ? (bytes: Uint8Array) => withoutNodes(bytes, key, this.#plan)
        : undefined;
      yield {
        from: fileIn(source.store, key),
        keys: [key],
        to: fileIn(target.store, other),
        checks: undefined,
        contain,
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
