import { storageOf } from "../../arrays/storage_of.ts";
import { flattenLayers } from "../../concat_parts/flat_parts.ts";
import {
  type ArrayOfJob,
  chunksToDo,
  countToDo,
} from "../hierarchy/array_chunks_to_do.ts";
import { checksOf, type ChunkChecks } from "../chunks/chunk_checks.ts";
import type {
  ConvertPlan,
  ListedSource,
  PlannedArray,
} from "../plan/convert_plan.ts";
import { chunkIn, fileIn, type StoredValue } from "./copy_value.ts";
import { isInShare, type Share } from "../../arrays/share.ts";
import type { StoreKey } from "../../stores/store.ts";

/** A chunk or a file that is converted. */
export interface WorkItem {
  readonly from: StoredValue;
  readonly to: StoredValue;
  /** The keys of the objects of the source that hold the value. */
  readonly keys: readonly StoreKey[];
  /** The checksums of a chunk; `undefined` for a file. */
  readonly checks: ChunkChecks | undefined;
  /** Lays out the bytes of a shard anew; `undefined` for values that are copied as they are. */
  readonly contain: ((bytes: Uint8Array) => Uint8Array) | undefined;
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
    for (const array of arrays) {
      const { metadata, chunkShape } = array.source;
      const checks = checksOf(metadata, chunkShape);
      const { parts } = flattenLayers(storageOf(metadata).layers);
      for (const coordinates of chunksToDo(arrayOfJob(array), this.#share)) {
        const from = chunkIn(source.store, array.source, coordinates);
        const { contain } = array;
        yield {
          from,
          keys: parts.map(({ keySuffix }) =>
            `${from.key}${keySuffix}` as const
          ),
          contain: contain &&
            ((bytes) => contain(bytes, coordinates, from.key)),
          to: chunkIn(target.store, array.target, coordinates),
          checks,
          isListed: array.stored !== undefined,
        };
      }
    }
    for (const file of this.#files()) {
      const key: StoreKey = `${source.root as StoreKey}${file}`;
      yield {
        from: fileIn(source.store, key),
        keys: [key],
        to: fileIn(target.store, target.root + file as StoreKey),
        checks: undefined,
        contain: undefined,
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
