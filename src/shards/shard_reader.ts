import { DamageError, sentence } from "../errors/mod.ts";
import { copyBytes, rejectOnAbort } from "../runtime/mod.ts";
import type {
  Backend,
  ByteRange,
  ReadOptions,
  Snapshot,
  StoreKey,
  StoreOptions,
  StoreVersion,
} from "../stores/mod.ts";
import {
  assertFileSize,
  decodeFileRecord,
  FILE_RECORD_SIZE,
  type FileRecord,
} from "./file_record.ts";
import {
  assertComplete,
  assertExtents,
  chunkCount,
  coordinatesInShard,
  decodeShardIndex,
  type Extent,
  indexRange,
  ofShard,
  placeInShard,
  type ReadShardRange,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
import type { InnerPath, ShardForm } from "./shard_layout.ts";
import { type ChunkBytes, readIndex } from "./read_shard.ts";

/** Ranges with at most this many bytes between them are read by one request. */
const LARGEST_GAP = 4 * 1024;
/** The length of the largest range that is requested for several inner chunks. */
const LARGEST_RANGE = 2 * 1024 * 1024;

const NOTHING: Extent = { offset: 0, length: 0 };

/** The bytes of an inner chunk, by its place among those that were asked for. */
interface PlacedBytes {
  readonly place: number;
  readonly bytes: Uint8Array;
}

/** The calls of `read` in one microtask for one shard. */
interface Batch {
  readonly signal: AbortSignal | undefined;
  readonly reads: {
    readonly path: InnerPath;
    resolve(bytes: Uint8Array | undefined): void;
    reject(error: unknown): void;
  }[];
}

/**
 * Reads the inner chunks of shards, each shard in one state. The index of a shard is read
 * together with the first inner chunks, and kept with the version of the shard: inner
 * chunks are read from this version alone, and the index again once there is another one.
 */
export class ShardReader {
  readonly #backend: Backend;
  readonly #form: ShardForm;
  readonly #cache: IndexCache;
  /** The shards whose index is being read. The promises never reject. */
  readonly #loading = new Map<StoreKey, Promise<void>>();
  readonly #batches = new Map<StoreKey, Batch>();

  constructor(backend: Backend, form: ShardForm) {
    this.#backend = backend;
    this.#form = form;
    this.#cache = new IndexCache(form);
  }

  /**
   * Reads an inner chunk into memory that it fills. Calls that come at the same time read
   * inner chunks that lie close to each other by one request.
   */
  read(
    key: StoreKey,
    path: InnerPath,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    const signal = options?.signal;
    let batch = this.#batches.get(key);
    if (batch === undefined || batch.signal !== signal) {
      const opened: Batch = batch = { signal, reads: [] };
      this.#batches.set(key, opened);
      queueMicrotask(() => {
        if (this.#batches.get(key) === opened) this.#batches.delete(key);
        this.#readBatch(key, opened);
      });
    }
    const { reads } = batch;
    return new Promise((resolve, reject) => {
      reads.push({ path, resolve, reject });
    });
  }

  /** Reads what calls of one microtask ask for. Damage of one inner chunk does not keep others from being read. */
  async #readBatch(key: StoreKey, { signal, reads }: Batch): Promise<void> {
    try {
      const paths = reads.map(({ path }) => path);
      const requests = await this.#use(
        key,
        signal,
        (shard) => shard.read(paths),
      );
      for (const chunks of requests) {
        for (const { place, bytes } of chunks) {
          const { resolve, reject } = reads[place]!;
          if (bytes instanceof DamageError) reject(bytes);
          else {
            // zarrita changes all of the memory that bytes lie in.
            const isAlone = chunks.length === 1 &&
              bytes.length === bytes.buffer.byteLength;
            resolve(isAlone ? bytes : copyBytes(bytes));
          }
        }
      }
      for (const { resolve } of reads) resolve(undefined); // Those that are absent.
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
  }

  /**
   * Reads inner chunks of one state of a shard. Those that lie close to each other are read
   * by one request, and share its memory, which belongs to the caller.
   *
   * @returns The inner chunks by request. Absent ones are left out.
   */
  async readTogether(
    key: StoreKey,
    paths: readonly InnerPath[],
    options?: StoreOptions & ReadOptions,
  ): Promise<PlacedBytes[][]> {
    const requests = await this.#use(
      key,
      options?.signal,
      (shard) => shard.read(paths, options),
    );
    for (const { bytes } of requests.flat()) {
      if (bytes instanceof DamageError) throw bytes;
    }
    return requests as PlacedBytes[][];
  }

  /** Resolves to the length of an inner chunk, or to `undefined` for an absent one. */
  size(
    key: StoreKey,
    path: InnerPath,
    options: StoreOptions | undefined,
  ): Promise<number | undefined> {
    return this.#use(key, options?.signal, async (shard) => {
      const extent = await shard.find(path);
      await shard.confirm();
      return extent?.length;
    });
  }

  /** Lists the innermost chunks of a shard. */
  async *list(
    key: StoreKey,
    options?: StoreOptions,
    outer: InnerPath = [],
  ): AsyncGenerator<InnerPath> {
    const { layouts } = this.#form;
    const index = await this.#use(key, options?.signal, async (shard) => {
      const index = await shard.indexAt(outer);
      await shard.confirm();
      return index;
    });
    for (const [place, entry] of index?.entries() ?? []) {
      if (entry === undefined) continue;
      const path = [
        ...outer,
        coordinatesInShard(place, layouts[outer.length]!),
      ];
      if (path.length === layouts.length) yield path;
      else yield* this.list(key, options, path);
    }
  }

  /** Forgets all cached indexes. */
  clear(): void {
    this.#cache.clear();
  }

  /**
   * Runs a task that reads a shard: the version whose index is cached if that is still the
   * present one, or else a snapshot. Only one snapshot at a time is taken to fill the cache.
   */
  async #use<T>(
    key: StoreKey,
    signal: AbortSignal | undefined,
    task: (shard: OpenShard) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    const loading = this.#loading.get(key);
    if (loading !== undefined) await rejectOnAbort(loading, signal);
    const cached = this.#cache.enter(key);
    if (cached !== undefined) {
      try {
        return await task(this.#openVersion(cached, signal));
      } catch (error) {
        if (!(error instanceof ShardChangedError)) throw error;
        this.#cache.drop(cached);
      } finally {
        this.#cache.leave(cached);
      }
    }
    let finish!: () => void;
    const finished = new Promise<void>((resolve) => finish = resolve);
    const isFirst = !this.#loading.has(key);
    if (isFirst) this.#loading.set(key, finished);
    try {
      const loaded = this.#load(key, signal, task);
      return await (signal ? rejectOnAbort(loaded, signal) : loaded);
    } finally {
      if (isFirst) this.#loading.delete(key);
      finish();
    }
  }

  /** Runs a task on a snapshot of a shard, and caches its indexes. */
  async #load<T>(
    key: StoreKey,
    signal: AbortSignal | undefined,
    task: (shard: OpenShard) => Promise<T>,
  ): Promise<T> {
    let shard: IndexedShard | undefined;
    let isCached = false;
    try {
      const result = await this.#backend.read([key], async (values) => {
        shard?.version?.release(); // The store may run the task several times.
        shard = undefined;
        shard = await this.#readIndex(key, values);
        return await task(
          new OpenShard(this.#form, shard, {
            read: (range, options) => values.read(key, range, options),
          }),
        );
      }, signal ? { signal } : {});
      isCached = shard?.version !== undefined;
      return result;
    } finally {
      if (isCached) {
        this.#cache.add(shard!);
        this.#cache.leave(shard!);
      } else shard?.version?.release();
    }
  }

  /** Opens the version of a shard whose index is cached. */
  #openVersion(
    shard: IndexedShard,
    signal: AbortSignal | undefined,
  ): OpenShard {
    const { key, version } = shard;
    const backend = this.#backend;
    return new OpenShard(this.#form, shard, {
      async read(range, options) {
        const all = signal ? { ...options, signal } : options;
        const bytes = await backend.readOf!(version!, key, range, all);
        if (bytes === undefined) throw new ShardChangedError();
        return bytes;
      },
      // A store that can only read usually is a server, which would be asked for each absent inner chunk.
      needsConfirmation: backend.prepare !== undefined,
    });
  }

  /** Reads the index of a shard, and the record of its file if it has one. */
  async #readIndex(key: StoreKey, values: Snapshot): Promise<IndexedShard> {
    const [layout] = this.#form.layouts;
    const read = (range: ByteRange) => values.read(key, range);
    const stored = await readRecordedIndex(read, key, this.#form);
    const { index, record } = stored ?? {};
    if (index) assertExtents(index, layout!, undefined, key);
    const version = this.#backend.readOf && values.version(key);
    try {
      // The answer to the read has told the length: this takes no further request.
      const size = version?.size ?? (record && await values.size(key));
      const end = size === undefined || layout!.indexLocation === "start"
        ? undefined
        : size - shardIndexSize(layout!);
      if (record && end !== undefined) {
        assertFileSize(record, key, end - FILE_RECORD_SIZE);
      }
      return { key, index, end, nested: new Map(), version, readers: 1 };
    } catch (error) {
      version?.release();
      throw error;
    }
  }
}

/**
 * Reads the index of a stored shard together with the record before it. Neither is checked
 * against the length of the shard.
 *
 * @returns The index, and the record if there is one; `undefined` for an absent shard.
 * @throws {DamageError} If the index is not valid.
 */
export async function readRecordedIndex(
  read: ReadShardRange,
  key: StoreKey,
  { layouts: [layout], mayHaveRecords }: ShardForm,
): Promise<
  { index: ShardIndex; record: FileRecord | undefined } | undefined
> {
  const recordSize = mayHaveRecords ? FILE_RECORD_SIZE : 0;
  const bytes = await read(indexRange(layout!, recordSize));
  return bytes && {
    index: decodeShardIndex(bytes.subarray(recordSize), layout!, key),
    record: mayHaveRecords
      ? decodeFileRecord(bytes.subarray(0, recordSize))
      : undefined,
  };
}

/** Thrown if the version of a shard that is read has been replaced. */
class ShardChangedError extends Error {}

/** How the bytes of an open shard are read. */
interface ShardSource {
  /** Reads a range, of which fewer bytes are returned if the shard ends before. */
  read(
    range: ByteRange,
    options?: ReadOptions,
  ): Promise<Uint8Array | undefined>;
  /** Whether the cached index must be compared with the store if no bytes are read. */
  readonly needsConfirmation?: boolean;
}

/** A shard that is being read: a version, or a snapshot. */
class OpenShard {
  readonly #form: ShardForm;
  readonly #shard: IndexedShard;
  readonly #source: ShardSource;

  constructor(form: ShardForm, shard: IndexedShard, source: ShardSource) {
    this.#form = form;
    this.#shard = shard;
    this.#source = source;
  }

  /** Finds an inner chunk; `undefined` for an absent one. */
  async find(path: InnerPath): Promise<Extent | undefined> {
    let index = this.#shard.index;
    let outer = 0;
    for (const [level, coordinates] of path.entries()) {
      const place = placeInShard(coordinates, this.#form.layouts[level]!);
      const entry = index?.[place];
      if (entry === undefined) return undefined;
      const extent = { offset: outer + entry.offset, length: entry.length };
      if (level === path.length - 1) return this.#checked(extent, path);
      index = await this.#nestedIndex(path.slice(0, level + 1), extent);
      outer = extent.offset;
    }
  }

  /** Refuses an innermost chunk with more bytes than its elements can take. */
  #checked(extent: Extent, path: InnerPath): Extent {
    const { layouts, mostBytes = Infinity } = this.#form;
    const isLong = path.length === layouts.length && extent.length > mostBytes;
    if (!isLong) return extent;
    const { key } = this.#shard;
    const [first, ...rest] = describeInner(path, key);
    throw new DamageError(
      `${first!.toUpperCase()}${
        rest.join("")
      } has ${extent.length} bytes, where its elements can take at most ${mostBytes} once they are encoded`,
      { key },
    );
  }

  /** Returns the index of the shard, or of a shard nested in it; `undefined` for an absent one. */
  async indexAt(path: InnerPath): Promise<ShardIndex | undefined> {
    if (path.length === 0) return this.#shard.index;
    const extent = await this.find(path);
    return extent && await this.#nestedIndex(path, extent);
  }

  #nestedIndex(path: InnerPath, extent: Extent): Promise<ShardIndex> {
    const { nested } = this.#shard;
    const name = path.join("/");
    let index = nested.get(name);
    if (index === undefined) {
      index = this.#readNested(path, extent).catch((error) => {
        nested.delete(name);
        throw error;
      });
      nested.set(name, index);
    }
    return index;
  }

  async #readNested(
    path: InnerPath,
    { offset, length }: Extent,
  ): Promise<ShardIndex> {
    const { key } = this.#shard;
    const shard: ChunkBytes = {
      size: length,
      read: async (range) =>
        await this.#readInside({ ...range, offset: offset + range.offset }) ??
          new Uint8Array(),
    };
    const layout = this.#form.layouts[path.length]!;
    const of = () => ` of ${describeInner(path, key)}`;
    return (await readIndex(shard, layout, key, of))!;
  }

  /**
   * Reads inner chunks, those close to each other by one request. Without any bytes to read,
   * makes sure that a cached index still is that of the shard.
   *
   * @returns The inner chunks by request, each as its bytes or its damage. Absent ones are left out.
   */
  async read(
    paths: readonly InnerPath[],
    options?: ReadOptions,
  ): Promise<
    { readonly place: number; readonly bytes: Uint8Array | DamageError }[][]
  > {
    const { key } = this.#shard;
    const withoutBytes: { place: number; bytes: Uint8Array | DamageError }[] =
      [];
    const wanted: PlacedExtent[] = [];
    for (const [place, path] of paths.entries()) {
      try {
        const extent = await this.find(path);
        if (extent?.length === 0) {
          withoutBytes.push({ place, bytes: new Uint8Array() });
        } else if (extent !== undefined) wanted.push({ place, extent });
      } catch (error) {
        if (!(error instanceof DamageError)) throw error;
        withoutBytes.push({ place, bytes: error });
      }
    }
    if (wanted.length === 0) await this.confirm();
    const read = await Promise.all(
      joinedReads(wanted).map(async ({ range, reads }) => {
        const bytes = await this.#readInside(range, options);
        return reads.map(({ place, extent }) => {
          const start = extent.offset - range.offset;
          const inner = bytes?.subarray(start, start + extent.length);
          const name = () => describeInner(paths[place]!, key);
          try {
            const complete = assertComplete(inner, extent, name, key);
            return { place, bytes: complete };
          } catch (error) {
            return { place, bytes: error as DamageError };
          }
        });
      }),
    );
    return [...withoutBytes.map((chunk) => [chunk]), ...read];
  }

  /** Makes sure that a cached index still is that of the shard. */
  async confirm(): Promise<void> {
    if (this.#source.needsConfirmation) await this.#source.read(NOTHING);
  }

  /** Reads a range without the bytes of an index at the end of the shard, which belong to no inner chunk. */
  async #readInside(
    range: Extent,
    options?: ReadOptions,
  ): Promise<Uint8Array | undefined> {
    const bytes = await this.#source.read(range, options);
    const { end = Infinity } = this.#shard;
    return bytes?.subarray(0, Math.max(0, end - range.offset));
  }
}

/** A range of a shard, by its place among those that were asked for. */
interface PlacedExtent {
  readonly place: number;
  readonly extent: Extent;
}

/** Ranges that are read by one request, since they lie close to each other. */
interface JoinedReads {
  /** The bytes that are read. */
  readonly range: { readonly offset: number; length: number };
  readonly reads: PlacedExtent[];
}

function joinedReads(wanted: readonly PlacedExtent[]): JoinedReads[] {
  const joined: JoinedReads[] = [];
  for (
    const read of wanted.toSorted((a, b) => a.extent.offset - b.extent.offset)
  ) {
    const { offset, length } = read.extent;
    const latest = joined.at(-1);
    if (latest !== undefined) {
      const { range } = latest;
      const needed = offset + length - range.offset;
      const gap = offset - range.offset - range.length;
      const isWithin = needed <= range.length;
      if (isWithin || gap <= LARGEST_GAP && needed <= LARGEST_RANGE) {
        range.length = Math.max(range.length, needed);
        latest.reads.push(read);
        continue;
      }
    }
    joined.push({ range: { offset, length }, reads: [read] });
  }
  return joined;
}

/** Names an inner chunk in messages. */
function describeInner(path: InnerPath, key: StoreKey): string {
  const names = path.map((coordinates) => sentence`inner chunk ${coordinates}`);
  return names.reverse().join(" of ") + ofShard(key);
}

/** The indexes of one version of a shard. */
interface IndexedShard {
  readonly key: StoreKey;
  /** The index; `undefined` for an absent shard. */
  readonly index: ShardIndex | undefined;
  /** Where the inner chunks end, if an index follows them and the store told the length. */
  readonly end: number | undefined;
  /** The indexes of the shards nested in it, by their paths. */
  readonly nested: Map<string, Promise<ShardIndex>>;
  /** The version; `undefined` if the store told none. */
  readonly version: StoreVersion | undefined;
  /** How many readers use the shard. */
  readers: number;
}

/** The greatest number of entries that are cached, some tens of megabytes. */
const MOST_ENTRIES = 2 ** 20;
/** The memory that an index takes besides its entries, as a number of entries. */
const ENTRIES_PER_INDEX = 32;

/**
 * Least-recently-used cache of the indexes of shards, limited by the number of entries that
 * all of them may have. A version that is not to be kept for long is dropped once nobody
 * reads the shard any more.
 */
class IndexCache {
  /** The shards in the order of their use. */
  readonly #shards = new Map<StoreKey, IndexedShard>();
  readonly #most: number;

  constructor({ layouts }: ShardForm) {
    let [indexes, entries] = [1, 0];
    for (const layout of layouts) {
      entries += indexes * (ENTRIES_PER_INDEX + chunkCount(layout));
      indexes *= chunkCount(layout);
    }
    this.#most = Math.max(1, MOST_ENTRIES / entries);
  }

  /** Returns a shard to read from. The reader must `leave` it. */
  enter(key: StoreKey): IndexedShard | undefined {
    const shard = this.#shards.get(key);
    if (shard === undefined) return undefined;
    this.#shards.delete(key);
    this.#shards.set(key, shard);
    shard.readers++;
    return shard;
  }

  /** Ends the use of a shard by a reader. */
  leave(shard: IndexedShard): void {
    if (--shard.readers === 0 && !shard.version?.isLasting) this.drop(shard);
  }

  /** Caches a shard that a reader uses. */
  add(shard: IndexedShard): void {
    const earlier = this.#shards.get(shard.key);
    if (earlier !== undefined) this.drop(earlier);
    this.#shards.set(shard.key, shard);
    const [oldest] = this.#shards.values();
    if (this.#shards.size > this.#most) this.drop(oldest!);
  }

  /** Drops a shard, since it has changed. Later readers read it again. */
  drop(shard: IndexedShard): void {
    if (this.#shards.get(shard.key) === shard) this.#shards.delete(shard.key);
    shard.version?.release();
  }

  /** Drops all shards. */
  clear(): void {
    for (const shard of this.#shards.values()) this.drop(shard);
  }
}
