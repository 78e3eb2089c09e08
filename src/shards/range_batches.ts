import { copyBytes } from "../stores/copy_bytes.ts";
import { readRange } from "../stores/capabilities.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import type { Extent } from "./inner_extents.ts";

/** Ranges with at most this many bytes between them are read by one request. */
const LARGEST_GAP = 4 * 1024;
/** Larger ranges are not combined, since the cost of their requests is small beside that of their bytes. */
const LARGEST_RANGE = 2 * 1024 * 1024;

/** A call that waits for a range. */
interface Read {
  readonly extent: Extent;
  resolve(bytes: Uint8Array | undefined): void;
  reject(error: unknown): void;
}

/** Ranges of one value that are read at the same time, with the same signal. */
interface Batch {
  readonly reads: Read[];
  readonly options: StoreOptions | undefined;
}

/** Reads ranges of values. Ranges close to each other that are read at the same time are combined into one request. */
export class RangeBatches {
  readonly #store: Store;
  readonly #batches = new Map<StoreKey, Batch>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Reads a range: fewer bytes where the value ends before it, `undefined` for an absent value. */
  read(
    key: StoreKey,
    extent: Extent,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    let batch = this.#batches.get(key);
    if (batch === undefined || batch.options?.signal !== options?.signal) {
      batch = this.#open(key, options);
    }
    const { reads } = batch;
    return new Promise((resolve, reject) => {
      reads.push({ extent, resolve, reject });
    });
  }

  /** Opens a batch for the calls of the current microtask. */
  #open(key: StoreKey, options: StoreOptions | undefined): Batch {
    const batch: Batch = { reads: [], options };
    this.#batches.set(key, batch);
    queueMicrotask(() => {
      if (this.#batches.get(key) === batch) this.#batches.delete(key);
      const { reads } = batch;
      const groups = reads.length === 1 ? [reads] : together(reads);
      for (const reads of groups) {
        this.#readTogether(key, reads, options);
      }
    });
    return batch;
  }

  async #readTogether(
    key: StoreKey,
    reads: readonly Read[],
    options: StoreOptions | undefined,
  ): Promise<void> {
    try {
      const range = reads.length === 1 ? reads[0]!.extent : unionOf(reads);
      const bytes = await readRange(this.#store, key, range, options);
      if (reads.length === 1 && isOwn(bytes)) return reads[0]!.resolve(bytes);
      for (const { extent, resolve } of reads) {
        const start = extent.offset - range.offset;
        resolve(bytes && copyBytes(bytes, start, start + extent.length));
      }
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
  }
}

/** Groups reads that are combined into one request. */
function together(reads: readonly Read[]): Read[][] {
  const groups: Read[][] = [];
  let start = 0;
  let end = -Infinity;
  for (
    const read of reads.toSorted((a, b) => a.extent.offset - b.extent.offset)
  ) {
    const { extent } = read;
    const fits = extent.offset - end <= LARGEST_GAP &&
      Math.max(end, endOf(extent)) - start <= LARGEST_RANGE;
    if (!fits) {
      groups.push([]);
      start = extent.offset;
    }
    groups.at(-1)!.push(read);
    end = fits ? Math.max(end, endOf(extent)) : endOf(extent);
  }
  return groups;
}

/** Whether bytes fill their memory. A view would keep a whole value in memory, and zarrita changes bytes in place. */
function isOwn(bytes: Uint8Array | undefined): boolean {
  return bytes?.length === bytes?.buffer.byteLength;
}

/** The extent of all reads, which are in the order of their offsets. */
function unionOf(reads: readonly Read[]): Extent {
  const { offset } = reads[0]!.extent;
  let end = offset;
  for (const { extent } of reads) end = Math.max(end, endOf(extent));
  return { offset, length: end - offset };
}

function endOf({ offset, length }: Extent): number {
  return offset + length;
}
