import { DamageError, describe } from "../errors/mod.ts";
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
import { type ChunkBytes, readIndex } from "./walk_shard.ts";

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

/** A call of `read` that waits for its bytes. */
interface Read {
  readonly path: InnerPath;
  resolve(bytes: Uint8Array | undefined): void;
  reject(error: unknown): void;
}

/** The calls of `read` in one microtask for one shard. */
interface Batch {
  readonly signal: AbortSignal | undefined;
  readonly reads: Read[];
}

/**
 * Reads the inner chunks of shards, each shard in one state. The index of a shard is read
 * together with the first inner chunks, and kept with the version of the shard: inner
 * chunks are read from this version alone, and the index again once there is another one.
 */
export class ShardReader {
  readonly #backend: Backend;
  readonly #form: ShardForm;
  readonly #cache = new IndexCache();
  /** The shards whose index is being read. The promises never reject. */
  readonly #loading = new Map<StoreKey, Promise<void>>();
  readonly #batches = new Map<StoreKey, Batch>();

  constructor(backend: Backend, form: ShardForm) {
    this.#backend = backend;
    this.#form = form;
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

  /**
   * Reads inner chunks of one state of a shard. Those that lie close to each other are read
   * by one request, and share its memory, which belongs to the caller.
   *
   * @returns The inner chunks by request. Absent ones are left out.
   */
  readTogether(
    key: StoreKey,
    paths: readonly InnerPath[],
    options?: StoreOptions & ReadOptions,
  ): Promise<PlacedBytes[][]> {
    return this.#use(key, options?.signal, async (shard) => {
      const extents = await Promise.all(paths.map((path) => shard.find(path)));
      const requests = await shard.readExtents(extents, options);
      return requests.map((chunks) =>
        chunks.map(({ place, bytes }) => {
          const extent = extents[place]!;
          return {
            place,
            bytes: shard.assertInner(bytes, extent, paths[place]!),
          };
        })
      );
    });
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

  /** Reads what calls of one microtask ask for. Damage of one inner chunk does not keep others from being read. */
  async #readBatch(key: StoreKey, { signal, reads }: Batch): Promise<void> {
    const [only] = reads;
    try {
      if (reads.length === 1) {
        const { path } = only!;
        only!.resolve(
          await this.#use(key, signal, (shard) => shard.readOne(path)),
        );
        return;
      }
      const paths = reads.map(({ path }) => path);
      const results = await this.#use(
        key,
        signal,
        (shard) => shard.readEach(paths),
      );
      results.forEach((result, i) => {
        if (result instanceof DamageError) reads[i]!.reject(result);
        else reads[i]!.resolve(result);
      });
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
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
      return await rejectOnAbort(this.#load(key, signal, task), signal);
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
        const bytes = await backend.readOf!(
          version!,
          key,
          range,
          signal ? { ...options, signal } : options,
        );
        if (bytes === undefined) throw new ShardChangedError();
        return bytes;
      },
      // A store that can only read usually is a server, which would be asked for each absent inner chunk.
      needsConfirmation: backend.prepare !== undefined,
      grow: (entries) => this.#cache.grow(shard, entries),
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
      return {
        key,
        index,
        end,
        nested: new Map(),
        version,
        readers: 1,
        entries: 0,
      };
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
  if (bytes === undefined) return undefined;
  return {
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
  /** Called with the number of entries of a further index. */
  grow?(entries: number): void;
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

  /** Finds an inner chunk, or `undefined` for an absent one. Returns no promise if its shard is not nested. */
  find(path: InnerPath): Extent | undefined | Promise<Extent | undefined> {
    const place = placeInShard(path[0]!, this.#form.layouts[0]!);
    const entry = this.#shard.index?.[place];
    return path.length === 1 || entry === undefined
      ? this.#checked(entry, path)
      : this.#findNested(path, entry);
  }

  /** Refuses an innermost chunk with more bytes than its elements can take. */
  #checked(extent: Extent | undefined, path: InnerPath): Extent | undefined {
    const { layouts, mostBytes = Infinity } = this.#form;
    const isLong = extent !== undefined && extent.length > mostBytes;
    if (!isLong || path.length < layouts.length) return extent;
    const { key } = this.#shard;
    const name = describeInner(path, key);
    throw new DamageError(
      `${name[0]!.toUpperCase()}${
        name.slice(1)
      } has ${extent.length} bytes, where its elements can take at most ${mostBytes} once they are encoded`,
      { key },
    );
  }

  async #findNested(
    path: InnerPath,
    first: Extent,
  ): Promise<Extent | undefined> {
    let extent = first;
    for (let level = 1; level < path.length; level++) {
      const index = await this.#nestedIndex(path.slice(0, level), extent);
      const entry =
        index[placeInShard(path[level]!, this.#form.layouts[level]!)];
      if (entry === undefined) return undefined;
      const { offset, length } = entry;
      extent = { offset: extent.offset + offset, length };
    }
    return this.#checked(extent, path);
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
    const cached = nested.get(name);
    if (cached !== undefined) return cached;
    const loading = this.#readNested(path, extent).catch((error) => {
      nested.delete(name);
      throw error;
    });
    nested.set(name, loading);
    return loading;
  }

  async #readNested(
    path: InnerPath,
    { offset, length }: Extent,
  ): Promise<ShardIndex> {
    const shard: ChunkBytes = {
      size: length,
      read: async (range) => {
        const inner = { offset: offset + range.offset, length: range.length };
        const bytes = await this.#source.read(inner);
        return this.#inside(inner, bytes) ?? new Uint8Array();
      },
    };
    const layout = this.#form.layouts[path.length]!;
    const { key } = this.#shard;
    const of = () => ` of ${describeInner(path, key)}`;
    const index = await readIndex(shard, layout, key, of);
    this.#source.grow?.(index!.length);
    return index!;
  }

  /** Reads an inner chunk. Most reads are of one: this takes fewer promises than `readEach`. */
  async readOne(path: InnerPath): Promise<Uint8Array | undefined> {
    const finding = this.find(path);
    const extent = finding instanceof Promise ? await finding : finding;
    if (extent === undefined || extent.length === 0) {
      await this.confirm();
      return extent && new Uint8Array();
    }
    const bytes = this.#inside(extent, await this.#source.read(extent));
    return ownMemory(this.assertInner(bytes, extent, path));
  }

  /** Reads inner chunks. Each is the result of its own, or its damage. */
  async readEach(
    paths: readonly InnerPath[],
  ): Promise<(Uint8Array | undefined | DamageError)[]> {
    const results: (Uint8Array | undefined | DamageError)[] = [];
    const extents: (Extent | undefined)[] = [];
    for (const [i, path] of paths.entries()) {
      results[i] = undefined;
      try {
        const finding = this.find(path);
        extents[i] = finding instanceof Promise ? await finding : finding;
      } catch (error) {
        if (!(error instanceof DamageError)) throw error;
        results[i] = error;
      }
    }
    for (const chunks of await this.readExtents(extents)) {
      for (const { place, bytes } of chunks) {
        try {
          const inner = this.assertInner(bytes, extents[place]!, paths[place]!);
          results[place] = chunks.length === 1
            ? ownMemory(inner)
            : copyBytes(inner);
        } catch (error) {
          results[place] = error as DamageError;
        }
      }
    }
    return results;
  }

  /**
   * Reads ranges of the shard, those close to each other by one request. Without any bytes
   * to read, makes sure that a cached index still is that of the shard.
   *
   * @param extents The ranges; `undefined` for those that are not read.
   * @returns The bytes of the ranges by request, fewer where the shard has no more.
   */
  async readExtents(
    extents: readonly (Extent | undefined)[],
    options?: ReadOptions,
  ): Promise<{ place: number; bytes: Uint8Array | undefined }[][]> {
    const wanted: PlacedExtent[] = [];
    const empty: PlacedBytes[] = [];
    extents.forEach((extent, place) => {
      if (extent?.length === 0) empty.push({ place, bytes: new Uint8Array() });
      else if (extent !== undefined) wanted.push({ place, extent });
    });
    if (wanted.length === 0) await this.confirm();
    const read = await Promise.all(
      joinedReads(wanted).map(async ({ range, reads }) => {
        const read = await this.#source.read(range, options);
        const bytes = this.#inside(range, read);
        return reads.map(({ place, extent }) => {
          const start = extent.offset - range.offset;
          return {
            place,
            bytes: bytes?.subarray(start, start + extent.length),
          };
        });
      }),
    );
    return [...empty.map((chunk) => [chunk]), ...read];
  }

  /** Makes sure that a cached index still is that of the shard. */
  async confirm(): Promise<void> {
    if (this.#source.needsConfirmation) await this.#source.read(NOTHING);
  }

  /** Refuses bytes of an inner chunk if their number is not that of its extent. */
  assertInner(
    bytes: Uint8Array | undefined,
    extent: Extent,
    path: InnerPath,
  ): Uint8Array {
    const { key } = this.#shard;
    return assertComplete(bytes, extent, () => describeInner(path, key), key);
  }

  /** Returns the bytes of a range without those of an index at the end of the shard, which belong to no inner chunk. */
  #inside(
    { offset }: Extent,
    bytes: Uint8Array | undefined,
  ): Uint8Array | undefined {
    const { end } = this.#shard;
    return end === undefined || bytes === undefined
      ? bytes
      : bytes.subarray(0, Math.max(0, end - offset));
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

/** Returns bytes that fill their memory, all of which zarrita changes in place. */
function ownMemory(bytes: Uint8Array): Uint8Array {
  return bytes.length === bytes.buffer.byteLength ? bytes : copyBytes(bytes);
}

/** Names an inner chunk in messages. */
function describeInner(path: InnerPath, key: StoreKey): string {
  const names = path.map((coordinates) =>
    `inner chunk ${describe(coordinates)}`
  );
  return names.reverse().join(" of ") + ofShard(key);
}

/** The greatest number of entries that are cached, some tens of megabytes. */
const MOST_ENTRIES = 2 ** 20;
/** The number of entries from which on the cache keeps the order of use, since nothing is dropped before. */
const ORDERED_ENTRIES = MOST_ENTRIES / 2;
/** The memory that an index takes besides its entries, as a number of entries. */
const ENTRIES_PER_INDEX = 32;

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
  /** The number of entries of all indexes. */
  entries: number;
}

/**
 * Least-recently-used cache of the indexes of shards, limited by the number of entries in
 * all of them. A version that is not to be kept for long is dropped once nobody reads the
 * shard any more.
 */
class IndexCache {
  /** The shards in the order of their use. */
  readonly #shards = new Map<StoreKey, IndexedShard>();
  #entries = 0;

  /** Returns a shard to read from. The reader must `leave` it. */
  enter(key: StoreKey): IndexedShard | undefined {
    const shard = this.#shards.get(key);
    if (shard === undefined) return undefined;
    if (this.#entries >= ORDERED_ENTRIES) {
      this.#shards.delete(key);
      this.#shards.set(key, shard);
    }
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
    this.grow(shard, shard.index?.length ?? 0);
  }

  /** Counts a further index of a shard, and drops the least recently used shards until the rest fits. */
  grow(shard: IndexedShard, entries: number): void {
    shard.entries += ENTRIES_PER_INDEX + entries;
    if (this.#shards.get(shard.key) !== shard) return;
    this.#entries += ENTRIES_PER_INDEX + entries;
    for (const oldest of this.#shards.values()) {
      if (this.#entries <= MOST_ENTRIES) return;
      if (oldest !== shard) this.drop(oldest);
    }
  }

  /** Drops a shard, since it has changed. Later readers read it again. */
  drop(shard: IndexedShard): void {
    if (this.#shards.get(shard.key) === shard) {
      this.#shards.delete(shard.key);
      this.#entries -= shard.entries;
    }
    shard.version?.release();
  }

  /** Drops all shards. */
  clear(): void {
    for (const shard of this.#shards.values()) this.drop(shard);
  }
}
