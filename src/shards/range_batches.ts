import { copyBytes } from "../stores/copy_bytes.ts";
import { readRange, readSize, requestRange } from "../stores/capabilities.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import type { Extent } from "./inner_extents.ts";

/** Ranges with at most this many bytes between them are read by one request. */
const LARGEST_GAP = 4 * 1024;
/** Larger ranges are not combined, since the cost of their requests is small beside that of their bytes. */
const LARGEST_RANGE = 2 * 1024 * 1024;

/** A call that waits for a range. */
interface Read {
  readonly key: StoreKey;
  readonly extent: Extent;
  readonly options: StoreOptions | undefined;
  resolve(bytes: Uint8Array | undefined): void;
  reject(error: unknown): void;
}

/** The value that holds the bytes of a shard from an offset on, as a part does. */
export interface ShardBody {
  readonly store: Store;
  /** The text that the key of the value has after that of the shard. */
  readonly keySuffix: string;
  readonly offset: number;
}

/** Reads ranges of values. Ranges close to each other that are read at the same time are combined into one request. */
export class RangeBatches {
  readonly #store: Store;
  readonly #body: ShardBody | undefined;
  readonly #indexSize: number;
  /** The calls of the current microtask after its first one. */
  #others: Read[] | undefined;

  /**
   * @param body The values that are read in place of those of the store, as far as
   * they have the bytes.
   * @param indexSize The number of bytes at the end of a value of the store that are
   * not read, since they are no inner chunk's.
   */
  constructor(store: Store, body?: ShardBody, indexSize = 0) {
    this.#store = store;
    this.#body = body;
    this.#indexSize = indexSize;
  }

  /** Reads a range: fewer bytes where the value ends before it, `undefined` for an absent value. */
  read(
    key: StoreKey,
    extent: Extent,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    return this.#others === undefined
      ? this.#readFirst(key, extent, options)
      : add(this.#others, key, extent, options);
  }

  /** Reads a range, together with those of all other calls of the current microtask. */
  async #readFirst(
    key: StoreKey,
    extent: Extent,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    const reads: Read[] = [];
    this.#others = reads;
    await undefined;
    this.#others = undefined;
    if (reads.length === 0) {
      const bytes = await this.#request(key, extent, options);
      return isOwn(bytes) ? bytes : bytes && copyBytes(bytes);
    }
    const first = add(reads, key, extent, options);
    for (const batch of batchesOf(reads)) {
      for (const group of together(batch)) this.#readTogether(group);
    }
    return await first;
  }

  async #request(
    key: StoreKey,
    range: Extent,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    const body = this.#body;
    if (body !== undefined && range.offset >= body.offset) {
      const { offset, length } = range;
      const bytes = await requestRange(
        body.store,
        `${key}${body.keySuffix}`,
        { offset: offset - body.offset, length },
        options,
      );
      if (bytes?.length === length) return bytes;
      // The store of the shard knows what else the range consists of, or what is missing.
      const size = await readSize(this.#store, key, options);
      if (size === undefined) return undefined;
      const end = Math.min(offset + length, size - this.#indexSize);
      range = { offset, length: Math.max(0, end - offset) };
    }
    return await readRange(this.#store, key, range, options);
  }

  async #readTogether(reads: readonly Read[]): Promise<void> {
    try {
      const { key, options } = reads[0]!;
      const range = unionOf(reads);
      const bytes = await this.#request(key, range, options);
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

/** Adds a call to a list. */
function add(
  reads: Read[],
  key: StoreKey,
  extent: Extent,
  options: StoreOptions | undefined,
): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    reads.push({ key, extent, options, resolve, reject });
  });
}

/** Groups reads of one value with the same signal. */
function batchesOf(reads: readonly Read[]): Read[][] {
  const batches: Read[][] = [];
  const latest = new Map<StoreKey, Read[]>();
  for (const read of reads) {
    let batch = latest.get(read.key);
    const signal = batch?.[0]?.options?.signal;
    if (batch === undefined || signal !== read.options?.signal) {
      batch = [];
      batches.push(batch);
      latest.set(read.key, batch);
    }
    batch.push(read);
  }
  return batches;
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
