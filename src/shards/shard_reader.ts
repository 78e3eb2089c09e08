import { DamageError, describe } from "../errors/mod.ts";
import { copyBytes, rejectOnAbort } from "../runtime/mod.ts";
import {
  type Backend,
  type ByteRange,
  type ReadOptions,
  resolveByteRange,
  type Snapshot,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import {
  assertFileSize,
  decodeFileRecord,
  FILE_RECORD_SIZE,
} from "./file_record.ts";
import { IndexCache, type IndexedShard } from "./index_cache.ts";
import {
  assertComplete,
  assertExtents,
  decodeShardIndex,
  type Extent,
  indexRange,
  ofShard,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
import {
  coordinatesInShard,
  type InnerPath,
  placeInShard,
  type ShardForm,
  type ShardLayout,
} from "./shard_layout.ts";
import { type ChunkBytes, readIndex } from "./walk_shard.ts";

/** Ranges with at most this many bytes between them are read by one request. */
const LARGEST_GAP = 4 * 1024;
/** The length of the largest range that is requested for several inner chunks. */
const LARGEST_RANGE = 2 * 1024 * 1024;

const NOTHING: Extent = { offset: 0, length: 0 };

/** An inner chunk by its place among those that were asked for. */
export interface FoundChunk {
  readonly place: number;
  readonly bytes: Uint8Array;
}

/** A call of `read` that waits for its bytes. */
interface Read {
  readonly key: StoreKey;
  readonly path: InnerPath;
  readonly range: ByteRange | undefined;
  readonly options: StoreOptions | undefined;
  resolve(bytes: Uint8Array | undefined): void;
  reject(error: unknown): void;
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
  /** The calls of `read` in the current microtask after its first one. */
  #reads: Read[] | undefined;

  constructor(backend: Backend, form: ShardForm) {
    this.#backend = backend;
    this.#form = form;
  }

  /**
   * Reads an inner chunk, or a range of it. Calls that come at the same time read inner
   * chunks that lie close to each other by one request.
   */
  async read(
    key: StoreKey,
    path: InnerPath,
    range: ByteRange | undefined,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    let reads = this.#reads;
    const isFirst = reads === undefined;
    if (reads === undefined) {
      reads = this.#reads = [];
      await undefined;
      this.#reads = undefined;
      if (reads.length === 0) {
        return await this.#use(
          key,
          options,
          (shard) => shard.readOne(path, range),
        );
      }
    }
    const all = reads;
    return await new Promise((resolve, reject) => {
      const read = { key, path, range, options, resolve, reject };
      if (isFirst) this.#readAll([read, ...all]);
      else all.push(read);
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
  ): Promise<FoundChunk[][]> {
    return this.#use(key, options, async (shard) => {
      const found = await Promise.all(paths.map((path) => shard.find(path)));
      const ranges = await shard.readExtents(found, options);
      return ranges.map((chunks) =>
        chunks.map(({ place, bytes }) => ({
          place,
          bytes: assertInner(bytes, found[place]!, paths[place]!, key),
        }))
      );
    });
  }

  /** Resolves to the length of an inner chunk, or to `undefined` for an absent one. */
  size(
    key: StoreKey,
    path: InnerPath,
    options: StoreOptions | undefined,
  ): Promise<number | undefined> {
    return this.#use(key, options, async (shard) => {
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
    const index = await this.#use(key, options, async (shard) => {
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

  /** Reads what calls of one microtask ask for. */
  #readAll(reads: readonly Read[]): void {
    const batches = new Map<StoreKey, Read[][]>();
    for (const read of reads) {
      const ofShard = batches.get(read.key) ?? [];
      batches.set(read.key, ofShard);
      const signal = read.options?.signal;
      const batch = ofShard.find(([first]) =>
        first!.options?.signal === signal
      );
      if (batch) batch.push(read);
      else ofShard.push([read]);
    }
    for (const batch of Array.from(batches.values()).flat()) {
      this.#readBatch(batch);
    }
  }

  /** Reads from one shard. Damage of one inner chunk does not keep others from being read. */
  async #readBatch(reads: readonly Read[]): Promise<void> {
    const { key, options } = reads[0]!;
    try {
      const results = await this.#use(
        key,
        options,
        (shard) => shard.readEach(reads),
      );
      results.forEach((result, i) => {
        if (result instanceof Error) reads[i]!.reject(result);
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
    options: StoreOptions = {},
    task: (shard: OpenShard) => Promise<T>,
  ): Promise<T> {
    const { signal } = options;
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
            size: () => values.size(key),
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
    const range = indexRange(layout!);
    const recordSize = this.#form.mayHaveRecords ? FILE_RECORD_SIZE : 0;
    const bytes = await values.read(
      key,
      "suffixLength" in range
        ? { suffixLength: range.suffixLength + recordSize }
        : range,
    );
    const index = bytes &&
      decodeShardIndex(bytes.subarray(recordSize), layout!, key);
    if (index) assertExtents(index, layout!, undefined, key);
    const record = bytes && recordSize > 0
      ? decodeFileRecord(bytes.subarray(0, recordSize))
      : undefined;
    const version = this.#backend.readOf && values.version(key);
    return {
      key,
      index,
      nested: new Map(),
      record,
      version,
      readers: 1,
      entries: 0,
    };
  }
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
  /** Tells the length of the shard. Missing if the version tells it. */
  size?(): Promise<number | undefined>;
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
    const entry = entryOf(this.#shard.index, path[0]!, this.#form.layouts[0]!);
    return path.length === 1 || entry === undefined
      ? entry
      : this.#findNested(path, entry);
  }

  async #findNested(
    path: InnerPath,
    first: Extent,
  ): Promise<Extent | undefined> {
    let extent = first;
    for (let level = 1; level < path.length; level++) {
      const index = await this.#nestedIndex(path.slice(0, level), extent);
      const layout = this.#form.layouts[level]!;
      const entry = entryOf(index, path[level]!, layout);
      if (entry === undefined) return undefined;
      const { offset, length } = entry;
      extent = { offset: extent.offset + offset, length };
    }
    return extent;
  }

  /** Returns the index of the shard, or of a shard nested in it; `undefined` for an absent one. */
  async indexAt(path: InnerPath): Promise<ShardIndex | undefined> {
    if (path.length === 0) return this.#shard.index;
    const extent = await this.find(path);
    return extent && await this.#nestedIndex(path, extent);
  }

  #nestedIndex(
    path: InnerPath,
    extent: Extent,
  ): Promise<ShardIndex | undefined> {
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
    extent: Extent,
  ): Promise<ShardIndex | undefined> {
    const { key } = this.#shard;
    const layout = this.#form.layouts[path.length]!;
    const { offset, length } = extent;
    const shard: ChunkBytes = {
      size: length,
      read: async (range) => {
        const inner = { offset: offset + range.offset, length: range.length };
        return await this.#inside(inner, await this.#source.read(inner)) ??
          new Uint8Array();
      },
    };
    const of = ` of ${describeInner(path, key)}`;
    const index = await readIndex(shard, layout, key, of);
    this.#source.grow?.(index!.length);
    return index;
  }

  /** Reads an inner chunk, or a range of it. Most reads are of one: this takes fewer promises than `readEach`. */
  async readOne(
    path: InnerPath,
    range: ByteRange | undefined,
  ): Promise<Uint8Array | undefined> {
    const found = this.find(path);
    const inner = found instanceof Promise ? await found : found;
    const extent = inner && range ? partOf(inner, range) : inner;
    if (extent === undefined || extent.length === 0) {
      await this.confirm();
      return extent && new Uint8Array();
    }
    const read = await this.#source.read(extent);
    const inside = this.#inside(extent, read);
    const bytes = inside instanceof Promise ? await inside : inside;
    const { key } = this.#shard;
    return ownMemory(assertInner(bytes, extent, path, key));
  }

  /** Reads inner chunks, or ranges of them. Each is the result of its own, or its damage. */
  async readEach(
    reads: readonly Pick<Read, "path" | "range">[],
  ): Promise<(Uint8Array | undefined | DamageError)[]> {
    const results = new Array<Uint8Array | undefined | DamageError>(
      reads.length,
    ).fill(undefined);
    const extents = new Array<Extent | undefined>(reads.length);
    for (const [i, { path, range }] of reads.entries()) {
      try {
        const found = this.find(path);
        const extent = found instanceof Promise ? await found : found;
        extents[i] = extent && range ? partOf(extent, range) : extent;
      } catch (error) {
        if (!(error instanceof DamageError)) throw error;
        results[i] = error;
      }
    }
    for (const chunks of await this.readExtents(extents)) {
      for (const { place, bytes } of chunks) {
        try {
          const { path } = reads[place]!;
          const { key } = this.#shard;
          const inner = assertInner(bytes, extents[place]!, path, key);
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
    const found: { place: number; bytes: Uint8Array | undefined }[][] = [];
    extents.forEach((extent, place) => {
      if (extent?.length === 0) {
        found.push([{ place, bytes: new Uint8Array() }]);
      } else if (extent !== undefined) wanted.push({ place, extent });
    });
    if (wanted.length === 0) await this.confirm();
    await Promise.all(
      joinedReads(wanted).map(async (group) => {
        const range = unionOf(group);
        const read = await this.#source.read(range, options);
        const inside = this.#inside(range, read);
        const bytes = inside instanceof Promise ? await inside : inside;
        found.push(group.map(({ place, extent }) => {
          const start = extent.offset - range.offset;
          return {
            place,
            bytes: bytes?.subarray(start, start + extent.length),
          };
        }));
      }),
    );
    return found;
  }

  /** Makes sure that a cached index still is that of the shard. */
  async confirm(): Promise<void> {
    if (this.#source.needsConfirmation) await this.#source.read(NOTHING);
  }

  /**
   * Returns the bytes of a range without those of the index at the end of the shard, which
   * belong to no inner chunk. Refuses a file of another length than its record says.
   */
  #inside(
    extent: Extent,
    bytes: Uint8Array | undefined,
  ): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    const { record, version } = this.#shard;
    const size = version?.size;
    const { size: sizeOf } = this.#source;
    // The answer to the read has told the length: this takes no further request.
    return size === undefined && record && sizeOf
      ? sizeOf().then((size) => this.#cut(extent, bytes, size))
      : this.#cut(extent, bytes, size);
  }

  #cut(
    { offset }: Extent,
    bytes: Uint8Array | undefined,
    size: number | undefined,
  ): Uint8Array | undefined {
    const { key, record } = this.#shard;
    const [layout] = this.#form.layouts;
    if (size === undefined || layout!.indexLocation === "start") return bytes;
    const end = size - shardIndexSize(layout!);
    if (record) assertFileSize(record, key, end - FILE_RECORD_SIZE);
    return bytes?.subarray(0, Math.max(0, end - offset));
  }
}

/** Returns the entry of an inner chunk in an index. */
function entryOf(
  index: ShardIndex | undefined,
  coordinates: readonly number[],
  layout: ShardLayout,
): Extent | undefined {
  const place = placeInShard(coordinates, layout);
  return index?.[place];
}

/** A range of a shard, by its place among those that were asked for. */
interface PlacedExtent {
  readonly place: number;
  readonly extent: Extent;
}

/** Groups ranges that are read by one request, since they lie close to each other. */
function joinedReads(reads: readonly PlacedExtent[]): PlacedExtent[][] {
  const groups: PlacedExtent[][] = [];
  let [start, end] = [0, -Infinity];
  for (
    const read of reads.toSorted((a, b) => a.extent.offset - b.extent.offset)
  ) {
    const { extent } = read;
    const fits = endOf(extent) <= end ||
      extent.offset - end <= LARGEST_GAP &&
        endOf(extent) - start <= LARGEST_RANGE;
    if (!fits) {
      groups.push([]);
      start = extent.offset;
    }
    groups.at(-1)!.push(read);
    end = fits ? Math.max(end, endOf(extent)) : endOf(extent);
  }
  return groups;
}

/** The extent of all reads, which are in the order of their offsets. */
function unionOf(reads: readonly PlacedExtent[]): Extent {
  const { offset } = reads[0]!.extent;
  const end = Math.max(...reads.map(({ extent }) => endOf(extent)));
  return { offset, length: end - offset };
}

function endOf({ offset, length }: Extent): number {
  return offset + length;
}

/** Returns the extent of a range within an extent. */
function partOf(extent: Extent, range: ByteRange): Extent {
  const { start, end } = resolveByteRange(range, extent.length);
  return { offset: extent.offset + start, length: end - start };
}

/** Refuses bytes of an inner chunk if their number is not that of its extent. */
function assertInner(
  bytes: Uint8Array | undefined,
  extent: Extent,
  path: InnerPath,
  key: StoreKey,
): Uint8Array {
  return assertComplete(bytes, extent, () => describeInner(path, key), key);
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
