import { DamageError, describe } from "../errors/mod.ts";
import { copyBytes } from "../runtime/mod.ts";
import {
  givesOwnedMemory,
  type OwnedReadOptions,
  readRange,
  readSize,
  requestRange,
  type Store,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "../stores/mod.ts";
import { assertFileSize, type FileRecord } from "./file_record.ts";
import { type Extent, ofShard } from "./shard_index.ts";
import type { InnerPath } from "./shard_layout.ts";

/** Ranges with at most this many bytes between them are read by one request. */
const LARGEST_GAP = 4 * 1024;
/** The length of the largest range that is requested for several calls. */
const LARGEST_RANGE = 2 * 1024 * 1024;
/**
 * Ranges of this length or more are not combined in stores that can write and do not tell
 * versions, such as zarrita's for files: a request to such a store costs no more than the
 * copy of the bytes. A request costs more in a store that checks the version of a file each
 * time, and in a store that can only read, which usually is a server.
 */
const LARGE_EXTENT = 128 * 1024;

/** A call that waits for a range. */
interface Read {
  readonly key: StoreKey;
  readonly extent: Extent;
  readonly options: StoreOptions | undefined;
  readonly version: StoreVersion | undefined;
  readonly path: InnerPath | undefined;
  resolve(bytes: Uint8Array | undefined): void;
  reject(error: unknown): void;
}

/** The values that hold the inner chunks of shards: the shards themselves, or one part of each. */
export interface ShardBody {
  readonly store: Store;
  /** The text after the key of the shard in the key of the value. */
  readonly keySuffix: string;
  /** The offset in the shard of the first byte of the value. */
  readonly offset: number;
  /** The number of bytes of the parts after the value; `undefined` if one of them has no size. */
  readonly tailSize?: number | undefined;
}

/** A range of a shard that one request has read, with several inner chunks in it. */
export interface RangeOfChunks {
  readonly range: Extent;
  /** The bytes, fewer if the shard ends before the range; `undefined` for an absent shard. */
  readonly bytes: Uint8Array | undefined;
  /** Whether the memory of the bytes belongs to the caller. */
  readonly isOwned: boolean;
  /** The places of the inner chunks among those that were asked for. */
  readonly places: readonly number[];
}

/** Thrown if the version of a shard that is read has been replaced. */
export class ShardChangedError extends Error {}

/** Thrown if the body of a shard does not hold all bytes of a range. */
export class NotInBodyError extends Error {}

/**
 * Reads ranges of shards. Ranges close to each other that are read at the same time
 * are combined into one request.
 */
export class RangeBatches {
  readonly #store: Store;
  readonly #body: ShardBody | null;
  readonly #indexSize: number;
  /** Ranges of this length or more are not combined with others. */
  readonly #largeExtent: number;
  /** The calls of the current microtask after its first one. */
  #others: Read[] | undefined;
  /** The records of files by the versions of these files. */
  readonly #records = new WeakMap<StoreVersion, FileRecord>();

  /**
   * @param store The store of whole shards.
   * @param body The values that hold the inner chunks. Ranges that they do not have are
   * read from the store of whole shards.
   * @param indexSize The number of bytes of the index at the end of a shard, which belong
   * to no inner chunk.
   */
  constructor(store: Store, body: ShardBody | null = null, indexSize = 0) {
    this.#store = store;
    this.#body = body;
    this.#indexSize = indexSize;
    const { set, getRangeOf } = body?.store ?? store;
    this.#largeExtent = set && !getRangeOf ? LARGE_EXTENT : Infinity;
  }

  /**
   * Reads a range. Without a version and a path, returns fewer bytes if the shard ends
   * within the range, and `undefined` for an absent shard.
   *
   * @param version The version of the body that the range belongs to, if known.
   * @param path The inner chunk to which the bytes belong, if all of them are needed.
   * @throws {DamageError} If the inner chunk is not complete.
   * @throws {ShardChangedError} If the body no longer has the version.
   * @throws {NotInBodyError} If the body of this version does not have all bytes.
   */
  read(
    key: StoreKey,
    extent: Extent,
    options: StoreOptions | undefined,
    version?: StoreVersion,
    path?: InnerPath,
  ): Promise<Uint8Array | undefined> {
    return this.#others === undefined
      ? this.#readFirst(key, extent, options, version, path)
      : add(this.#others, key, extent, options, version, path);
  }

  /** Notes the record of a file, to compare its length with that of the version once this is known. */
  noteRecord(version: StoreVersion, record: FileRecord): void {
    this.#records.set(version, record);
  }

  /**
   * Reads ranges of one state of a shard: those close to each other by one request, whose
   * memory they share.
   */
  async readTogether(
    key: StoreKey,
    extents: readonly Extent[],
    options: OwnedReadOptions | undefined,
    version: StoreVersion | undefined,
  ): Promise<RangeOfChunks[]> {
    const places = extents.map((extent, place) => ({ extent, place }));
    const isOwned = version !== undefined &&
      givesOwnedMemory(this.#body!.store);
    return await Promise.all(
      groupsOf(places, this.#largeExtent).map(async (group) => {
        const range = unionOf(group);
        const bytes = await this.request(key, range, options, version);
        return {
          bytes,
          range,
          isOwned,
          places: group.map(({ place }) => place),
        };
      }),
    );
  }

  /** Reads a range as `read` does, by a request of its own. */
  request(
    key: StoreKey,
    range: Extent,
    options: StoreOptions | undefined,
    version?: StoreVersion,
  ): Promise<Uint8Array | undefined> {
    return version === undefined
      ? this.#requestPresent(key, range, options)
      : this.#requestVersion(key, range, options, version);
  }

  /** Reads a range together with the ranges of all other calls of the current microtask. */
  async #readFirst(
    key: StoreKey,
    extent: Extent,
    options: StoreOptions | undefined,
    version: StoreVersion | undefined,
    path: InnerPath | undefined,
  ): Promise<Uint8Array | undefined> {
    const reads: Read[] = [];
    this.#others = reads;
    await undefined;
    this.#others = undefined;
    if (reads.length === 0) {
      const bytes = await this.request(key, extent, options, version);
      if (path !== undefined) assertInner(bytes, extent, path, key);
      return inOwnMemory(bytes);
    }
    const first = add(reads, key, extent, options, version, path);
    for (const batch of batchesOf(reads)) {
      for (const group of groupsOf(batch, this.#largeExtent)) {
        this.#readTogether(group);
      }
    }
    return await first;
  }

  async #requestPresent(
    key: StoreKey,
    range: Extent,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    const body = this.#body;
    if (body && body.store !== this.#store && range.offset >= body.offset) {
      const { offset, length } = range;
      const bytes = await requestRange(
        body.store,
        `${key}${body.keySuffix}`,
        { offset: offset - body.offset, length },
        options,
      );
      if (bytes?.length === length) return bytes;
      // The store of whole shards reads the rest of the range, or says which part is missing.
      const size = await readSize(this.#store, key, options);
      if (size === undefined) return undefined;
      const end = Math.min(offset + length, size - this.#indexSize);
      range = { offset, length: Math.max(0, end - offset) };
    }
    return await readRange(this.#store, key, range, options);
  }

  async #requestVersion(
    key: StoreKey,
    { offset, length }: Extent,
    options: StoreOptions | undefined,
    version: StoreVersion,
  ): Promise<Uint8Array> {
    const { store, keySuffix, offset: start, tailSize } = this.#body!;
    if (offset < start) throw new NotInBodyError();
    const range = { offset: offset - start, length };
    const valueKey: StoreKey = `${key}${keySuffix}`;
    const bytes = await store.getRangeOf!(version, valueKey, range, options);
    if (bytes === undefined) throw new ShardChangedError();
    const { size = Infinity } = version;
    const record = this.#records.get(version);
    if (record && size < Infinity) assertFileSize(record, key, size);
    if (bytes.length !== length) throw new NotInBodyError();
    // The index at the end of a shard belongs to no inner chunk.
    const indexStart = start + size + (tailSize ?? Infinity) - this.#indexSize;
    if (offset + length > indexStart) throw new NotInBodyError();
    return bytes;
  }

  async #readTogether(reads: readonly Read[]): Promise<void> {
    try {
      const { key, options, version } = reads[0]!;
      const range = unionOf(reads);
      const bytes = await this.request(key, range, options, version);
      if (reads.length === 1) return settle(reads[0]!, inOwnMemory(bytes));
      for (const read of reads) {
        const { offset, length } = read.extent;
        const start = offset - range.offset;
        settle(read, bytes && copyBytes(bytes, start, start + length));
      }
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
  }
}

/** Settles the promise of a call with the bytes of its range. */
function settle(
  { key, extent, path, resolve, reject }: Read,
  bytes: Uint8Array | undefined,
): void {
  try {
    if (path !== undefined) assertInner(bytes, extent, path, key);
    resolve(bytes);
  } catch (error) {
    reject(error);
  }
}

/** Adds a call to a list. */
function add(
  reads: Read[],
  key: StoreKey,
  extent: Extent,
  options: StoreOptions | undefined,
  version: StoreVersion | undefined,
  path: InnerPath | undefined,
): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    reads.push({ key, extent, options, version, path, resolve, reject });
  });
}

/** Groups reads of one version of a value with the same signal. */
function batchesOf(reads: readonly Read[]): Read[][] {
  const batches: Read[][] = [];
  const latest = new Map<StoreKey, Read[]>();
  for (const read of reads) {
    let batch = latest.get(read.key);
    const first = batch?.[0];
    if (
      batch === undefined || first!.version !== read.version ||
      first!.options?.signal !== read.options?.signal
    ) {
      batch = [];
      batches.push(batch);
      latest.set(read.key, batch);
    }
    batch.push(read);
  }
  return batches;
}

/**
 * Groups reads that are combined into one request.
 *
 * @param largeExtent The length from which on a range is combined only with ranges within it.
 */
function groupsOf<R extends { readonly extent: Extent }>(
  reads: readonly R[],
  largeExtent: number,
): R[][] {
  const groups: R[][] = [];
  let start = 0;
  let end = -Infinity;
  let isLarge = false;
  for (
    const read of reads.toSorted((a, b) => a.extent.offset - b.extent.offset)
  ) {
    const { extent } = read;
    const fits = endOf(extent) <= end ||
      !isLarge && extent.length < largeExtent &&
        extent.offset - end <= LARGEST_GAP &&
        endOf(extent) - start <= LARGEST_RANGE;
    if (!fits) {
      groups.push([]);
      start = extent.offset;
      isLarge = extent.length >= largeExtent;
    }
    groups.at(-1)!.push(read);
    end = fits ? Math.max(end, endOf(extent)) : endOf(extent);
  }
  return groups;
}

/** The extent of all reads, which are in the order of their offsets. */
function unionOf(reads: readonly { readonly extent: Extent }[]): Extent {
  const { offset } = reads[0]!.extent;
  let end = offset;
  for (const { extent } of reads) end = Math.max(end, endOf(extent));
  return { offset, length: end - offset };
}

function endOf({ offset, length }: Extent): number {
  return offset + length;
}

/**
 * Returns bytes in memory of their own, since a view would keep a whole value in memory,
 * and since zarrita changes all of the memory in place.
 */
export function inOwnMemory(
  bytes: Uint8Array | undefined,
): Uint8Array | undefined {
  const isOwn = bytes?.length === bytes?.buffer.byteLength;
  return isOwn ? bytes : bytes && copyBytes(bytes);
}

/** Refuses bytes of an inner chunk if their number is not that of its extent. */
export function assertInner(
  bytes: Uint8Array | undefined,
  extent: Extent,
  path: InnerPath,
  key: StoreKey,
): void {
  if (bytes?.length === extent.length) return;
  assertComplete(bytes, extent, () => describeInner(path, key), key);
}

/**
 * Refuses bytes of an inner chunk if their number is not that of the index entry.
 *
 * @param name Names the inner chunk in the message.
 * @param key The shard's key, for the error.
 * @throws {DamageError} If there are more bytes, fewer or none.
 */
export function assertComplete(
  bytes: Uint8Array | undefined,
  entry: Extent,
  name: () => string,
  key: string,
): Uint8Array {
  if (bytes?.length === entry.length) return bytes;
  throw new DamageError(
    `The index says that ${name()} takes ${entry.length} bytes from ${entry.offset} on, where ${
      bytes?.length ?? "none"
    } could be read`,
    { key },
  );
}

/** Names an inner chunk in messages. */
export function describeInner(path: InnerPath, key: StoreKey): string {
  const names = path.map((coordinates) =>
    `inner chunk ${describe(coordinates)}`
  );
  return names.reverse().join(" of ") + ofShard(key);
}
