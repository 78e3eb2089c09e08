import { describe, UnfinishedWriteError } from "../errors/mod.ts";
import { pause, rejectOnAbort } from "../runtime/mod.ts";
import {
  type ByteRange,
  hasGroups,
  KeyLocks,
  type OwnedReadOptions,
  readRange,
  resolveByteRange,
  type Store,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "../stores/mod.ts";
import {
  mayHaveRecords,
  readRecordedIndex,
  type RecordedIndex,
} from "./file_record.ts";
import {
  type CachedShard,
  IndexCache,
  type LoadedIndex,
} from "./index_cache.ts";
import {
  assertInner,
  describeInner,
  inOwnMemory,
  NotInBodyError,
  RangeBatches,
  type RangeOfChunks,
  type ShardBody,
  ShardChangedError,
} from "./range_batches.ts";
import {
  assertExtents,
  decodeShardIndex,
  type Extent,
  indexRange,
  readShardIndex,
  type ReadShardRange,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
import type { ShardChanges } from "./shard_changes.ts";
import type { InnerPath, ShardLayout } from "./shard_layout.ts";

/** How often a shard is read at most if other programs replace it while it is read. */
const MOST_TRIES = 10;

/**
 * Reads the inner chunks of the shards in a store, each shard in one state. Indexes are
 * cached: if the store tells versions, with the version of the value that holds the inner
 * chunks; if not, until the shard is changed through this store object.
 */
export class ShardReader {
  readonly #store: Store;
  readonly #layouts: readonly ShardLayout[];
  readonly #changes: ShardChanges;
  readonly #cache = new IndexCache();
  readonly #ranges: RangeBatches;
  readonly #hasGroups: boolean;
  /** Whether the inner chunks of a shard are in several values, which must be read in a group. */
  readonly #isDivided: boolean;
  /** The values whose versions the indexes are cached with, in a store that tells versions. */
  readonly #versioned: ShardBody | undefined;
  readonly #mayHaveRecords: boolean;
  /** How many changes of the array `noteChange` was told. */
  #ownChanges = 0;
  /** How many other changes there were when the cache was last cleared. */
  #knownChanges: number;

  /**
   * @param store The store of whole shards.
   * @param layouts The layouts of the shards, of the shards nested in them, and so on.
   * @param body The values that hold the inner chunks; `null` if these are in several values.
   */
  constructor(
    store: Store,
    layouts: readonly ShardLayout[],
    body: ShardBody | null,
    changes: ShardChanges,
  ) {
    this.#store = store;
    this.#layouts = layouts;
    this.#changes = changes;
    this.#knownChanges = changes.count;
    this.#ranges = new RangeBatches(store, body, sizeOfLastIndex(layouts));
    this.#hasGroups = hasGroups(store);
    this.#isDivided = body === null && this.#hasGroups;
    const hasVersions = this.#hasGroups && body !== null &&
      hasGroups(body.store) && body.store.getRangeOf !== undefined;
    this.#versioned = hasVersions ? body : undefined;
    this.#mayHaveRecords = mayHaveRecords(body, layouts[0]);
  }

  /** Reads an inner chunk, or a range of it. */
  read(
    key: StoreKey,
    path: InnerPath,
    range: ByteRange | undefined,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    return this.#use(key, options, (shard) => readInner(shard, path, range));
  }

  /**
   * Reads inner chunks of one state of a shard. Those that lie close to each other are read
   * by one request, and share its memory.
   *
   * @param options `allocate` gives memory to read into, if the store heeds it.
   * @returns The bytes of inner chunks, by request. Absent inner chunks are left out.
   */
  readTogether(
    key: StoreKey,
    paths: readonly InnerPath[],
    options: OwnedReadOptions | undefined,
  ): Promise<InnerChunksRead[]> {
    return this.#use(key, options, async (shard) => {
      const found: { place: number; extent: Extent }[] = [];
      for (const [place, path] of paths.entries()) {
        const extent = await findInner(shard, path);
        if (extent !== undefined) found.push({ place, extent });
      }
      if (found.length === 0) await shard.confirm?.();
      const ranges = await shard.readTogether(
        found.map(({ extent }) => extent),
      );
      return ranges.map(({ range, bytes, isOwned, places }) => ({
        isOwned,
        chunks: places.map((i) => {
          const { place, extent } = found[i]!;
          const start = extent.offset - range.offset;
          const inner = bytes?.subarray(start, start + extent.length);
          assertInner(inner, extent, paths[place]!, key);
          return { place, bytes: inner! };
        }),
      }));
    });
  }

  /**
   * Reads an inner chunk by the stored index, to change the chunk and write it back. In
   * stores without versions, this takes more requests than reading by the cached index.
   */
  async readPresent(
    key: StoreKey,
    path: InnerPath,
  ): Promise<Uint8Array | undefined> {
    if (this.#hasGroups || this.#store.set === undefined) {
      return await this.read(key, path, undefined, {});
    }
    return await KeyLocks.of(this.#store).read(key, async () => {
      const shard = uncachedShard(
        (range) => readRange(this.#store, key, range),
        this.#layouts,
        key,
      );
      for (let tries = 1;; tries++) {
        const before = await findInner(shard, path);
        const bytes = await readInner(shard, path)
          .catch((error) => ({ error }));
        const after = await findInner(shard, path);
        const isSame = before?.offset === after?.offset &&
          before?.length === after?.length;
        if (isSame && bytes && "error" in bytes) throw bytes.error;
        if (isSame) return bytes as Uint8Array | undefined;
        await waitForOthers(key, tries);
      }
    });
  }

  /** Resolves to the length of an inner chunk, or to `undefined` for an absent one. */
  size(
    key: StoreKey,
    path: InnerPath,
    options: StoreOptions | undefined,
  ): Promise<number | undefined> {
    return this.#use(key, options, async (shard) => {
      const extent = await findInner(shard, path);
      await shard.confirm?.();
      return extent?.length;
    });
  }

  /** Lists the innermost chunks of a shard. */
  async *list(
    key: StoreKey,
    options?: StoreOptions,
    outer: InnerPath = [],
  ): AsyncGenerator<InnerPath> {
    const index = await this.#use(key, options, async (shard) => {
      const extent = outer.length > 0
        ? await findInner(shard, outer)
        : undefined;
      const isAbsent = outer.length > 0 && extent === undefined;
      const index = isAbsent ? undefined : await shard.index(outer, extent);
      await shard.confirm?.();
      return index;
    });
    const layout = this.#layouts[outer.length]!;
    for (const [place, entry] of index?.entries() ?? []) {
      if (entry === undefined) continue;
      const path = [...outer, coordinatesInShard(place, layout)];
      if (path.length === this.#layouts.length) yield path;
      else yield* this.list(key, options, path);
    }
  }

  /** Forgets all cached indexes. */
  clear(): void {
    this.#cache.clear();
  }

  /** Notes the beginning or the end of a change of a shard: its index is forgotten, and other indexes stay cached. */
  noteChange(key: StoreKey): void {
    this.#ownChanges++;
    this.#cache.forget(key);
  }

  /**
   * Runs a task that reads a shard, and runs it again if the shard is replaced before the
   * task ends.
   *
   * @param tries How often the shard was replaced.
   * @param isLocked Whether the lock of the shard is held.
   */
  async #use<T>(
    key: StoreKey,
    options: StoreOptions | undefined,
    task: (shard: OpenShard) => Promise<T>,
    tries = 0,
    isLocked = false,
  ): Promise<T> {
    const changes = this.#changes;
    const { count } = changes;
    if (this.#isDivided) return await this.#useInGroup(key, options, task);
    const isSteady = isLocked || changes.running === 0;
    if (isSteady || this.#versioned !== undefined) {
      this.#forgetChanged();
      const shard = this.#cache.enter(key);
      try {
        const opened = new CachedOpenShard(this, shard, options);
        const result = await task(opened);
        if (isLocked || this.#isUnchanged(shard, count)) return result;
      } catch (error) {
        if (error instanceof ShardChangedError) this.#cache.drop(shard);
        else if (error instanceof NotInBodyError) {
          return await this.#useInGroup(key, options, task);
        } else if (isLocked || this.#isUnchanged(shard, count)) throw error;
      } finally {
        this.#cache.leave(shard);
      }
    }
    const signal = options?.signal;
    if (!this.#hasGroups) {
      const reading = KeyLocks.of(this.#store).read(
        key,
        () => this.#use(key, options, task, tries, true),
      );
      return await rejectOnAbort(reading, signal);
    }
    // Writers of this process might replace the shard again and again.
    const isChangedHere = tries > 0 && changes.count !== count;
    if (this.#versioned === undefined || isChangedHere) {
      return await this.#useInGroup(key, options, task);
    }
    if (tries > 0) await waitForOthers(key, tries, signal);
    return await this.#use(key, options, task, tries + 1);
  }

  /** Whether a shard is still as its cached indexes say. With a version, the store checks this when bytes are read. */
  #isUnchanged({ version }: CachedShard, count: number): boolean {
    return version !== undefined || this.#changes.count === count;
  }

  /** Runs a task that reads a shard in one state, without the cache. */
  #useInGroup<T>(
    key: StoreKey,
    options: StoreOptions | undefined,
    task: (shard: OpenShard) => Promise<T>,
  ): Promise<T> {
    const group = this.#store.group!(key, [key]);
    return group.read(async (values) => {
      const size = await values.size(key, options);
      return await task(uncachedShard(
        (range) => readRange(values, key, range, options),
        this.#layouts,
        key,
        (size ?? 0) - sizeOfLastIndex(this.#layouts),
      ));
    }, options);
  }

  /** Forgets all indexes if others have changed shards of the array. */
  #forgetChanged(): void {
    const others = this.#changes.count - this.#ownChanges;
    if (this.#knownChanges === others) return;
    this.#knownChanges = others;
    this.#cache.clear();
  }

  /** The layouts of the shards, of the shards nested in them, and so on. */
  get layouts(): readonly ShardLayout[] {
    return this.#layouts;
  }

  /** Returns an index of a shard in the cache, without a promise if the index is cached. */
  indexOf(
    shard: CachedShard,
    outer: InnerPath,
    extent: Extent | undefined,
    options: StoreOptions | undefined,
  ): ShardIndex | undefined | Promise<ShardIndex | undefined> {
    const name = extent === undefined
      ? ""
      : outer.map((coordinates) => `/${coordinates}`).join("");
    const signal = options?.signal;
    return this.#cache.isLoaded(shard, name, signal)
      ? shard.get(name)!.index
      : this.#cache.load(
        shard,
        name,
        (options) =>
          extent === undefined
            ? this.#loadOwn(shard.key, options)
            : this.#loadNested(shard, outer, extent, options),
        signal,
      );
  }

  /** Reads ranges of a shard in the cache, those close to each other by one request. */
  readRangesTogether(
    { key, version }: CachedShard,
    extents: readonly Extent[],
    options: StoreOptions | undefined,
  ): Promise<RangeOfChunks[]> {
    return this.#ranges.readTogether(key, extents, options, version);
  }

  /** Reads a range of a shard in the cache. */
  readRange(
    { key, version }: CachedShard,
    extent: Extent,
    path: InnerPath,
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    return this.#ranges.read(key, extent, options, version, path);
  }

  /**
   * Checks that a shard still has its version when no bytes of the shard are needed. A
   * store that can only read, which usually is a server, is not asked, since this would
   * take a request for each absent inner chunk.
   */
  confirm(
    { key, version, isAbsent }: CachedShard,
    options: StoreOptions | undefined,
  ): Promise<unknown> | undefined {
    const body = this.#versioned;
    if (version === undefined || isAbsent) return undefined;
    if (body!.store.set === undefined) return undefined;
    const nothing = { offset: body!.offset, length: 0 };
    return this.#ranges.read(key, nothing, options, version);
  }

  async #loadOwn(key: StoreKey, options: StoreOptions): Promise<LoadedIndex> {
    if (this.#versioned !== undefined) {
      return await this.#loadVersioned(key, this.#versioned, options);
    }
    const { index } = await this.#readIndex(this.#store, key, options);
    return { index, isLasting: true };
  }

  async #readIndex(
    values: Pick<Store, "get" | "getRange" | "size">,
    key: StoreKey,
    options: StoreOptions,
  ): Promise<RecordedIndex> {
    const layout = this.#layouts[0]!;
    if (this.#mayHaveRecords) {
      const isReadOnly = this.#store.set === undefined;
      return await readRecordedIndex(values, key, layout, isReadOnly, options);
    }
    const index = await readShardIndex(
      (range) => readRange(values, key, range, options),
      layout,
      key,
    );
    return { index };
  }

  /** Reads an index together with the version of the value that the index describes. */
  async #loadVersioned(
    key: StoreKey,
    { keySuffix }: ShardBody,
    options: StoreOptions,
  ): Promise<LoadedIndex> {
    let version: StoreVersion | undefined;
    const release = () => {
      version?.release();
      version = undefined;
    };
    try {
      const group = this.#store.group!(key, [key]);
      const index = await group.read(async (values) => {
        release(); // The store may try several times.
        const { index, record } = await this.#readIndex(values, key, options);
        version = values.version(`${key}${keySuffix}`);
        if (version && record) this.#ranges.noteRecord(version, record);
        return index;
      }, options);
      // An absent shard may be created at any time, unless the store says otherwise.
      const isLasting = version === undefined
        ? index !== undefined
        : (version as StoreVersion).isLasting;
      return { index, version, isLasting };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #loadNested(
    { key, version }: CachedShard,
    outer: InnerPath,
    extent: Extent,
    options: StoreOptions,
  ): Promise<LoadedIndex> {
    const read = (range: Extent) =>
      this.#ranges.request(key, range, options, version);
    const layout = this.#layouts[outer.length]!;
    const index = await readNestedIndex(read, layout, outer, extent, key);
    return { index, isLasting: true };
  }
}

/** Returns the place of an inner chunk in the index of its shard. */
export function placeInShard(
  coordinates: readonly number[],
  { chunksPerShard }: ShardLayout,
): number {
  let place = 0;
  let isInside = coordinates.length === chunksPerShard.length;
  for (let i = 0; isInside && i < chunksPerShard.length; i++) {
    const [coordinate, count] = [coordinates[i]!, chunksPerShard[i]!];
    isInside = Number.isInteger(coordinate) && coordinate >= 0 &&
      coordinate < count;
    if (isInside) place = place * count + coordinate;
  }
  if (isInside) return place;
  throw new RangeError(
    `Expected the coordinates of one of ${
      describe(chunksPerShard)
    } inner chunks, found ${describe(coordinates)}`,
  );
}

/** Returns the grid coordinates of an index entry: the inverse of {@linkcode placeInShard}. */
export function coordinatesInShard(
  place: number,
  { chunksPerShard }: Pick<ShardLayout, "chunksPerShard">,
): number[] {
  return chunksPerShard.toReversed().map((count) => {
    const coordinate = place % count;
    place = (place - coordinate) / count;
    return coordinate;
  }).reverse();
}

/** The size of the index that shards have at their end. */
function sizeOfLastIndex([layout]: readonly ShardLayout[]): number {
  return layout?.indexLocation === "end" ? shardIndexSize(layout) : 0;
}

/** Waits before a shard that other programs have replaced is read again. */
async function waitForOthers(
  key: StoreKey,
  tries: number,
  signal?: AbortSignal,
): Promise<void> {
  if (tries === MOST_TRIES) throw new UnfinishedWriteError(key);
  if (tries > 1) await pause(2 ** (tries - 1), signal);
}

/** Inner chunks that one request has read. */
export interface InnerChunksRead {
  /** Whether the memory of the bytes belongs to the caller. */
  readonly isOwned: boolean;
  /** The inner chunks, by their places among those that were asked for. */
  readonly chunks: readonly {
    readonly place: number;
    readonly bytes: Uint8Array;
  }[];
}

/** A stored shard that is being read. */
interface OpenShard {
  /** The layouts of the shard, of the shards nested in it, and so on. */
  readonly layouts: readonly ShardLayout[];
  /**
   * Returns an index, or `undefined` for an absent shard. Returns no promise if the index
   * is cached.
   *
   * @param outer The path of the nested shard; empty for the stored shard.
   * @param extent The extent of the nested shard.
   */
  index(
    outer: InnerPath,
    extent: Extent | undefined,
  ): ShardIndex | undefined | Promise<ShardIndex | undefined>;
  /** Reads bytes of an inner chunk, which fill their memory: zarrita changes them in place. */
  read(extent: Extent, path: InnerPath): Promise<Uint8Array | undefined>;
  /** Reads several ranges, those close to each other by one request. */
  readTogether(extents: readonly Extent[]): Promise<RangeOfChunks[]>;
  /** Rejects if the shard is no longer as its cached indexes say. */
  confirm?(): Promise<unknown> | undefined;
}

/** A shard that is read by cached indexes. A class is faster than closures, and each read of an inner chunk makes one. */
class CachedOpenShard implements OpenShard {
  readonly #reader: ShardReader;
  readonly #shard: CachedShard;
  readonly #options: StoreOptions | undefined;

  constructor(
    reader: ShardReader,
    shard: CachedShard,
    options: StoreOptions | undefined,
  ) {
    this.#reader = reader;
    this.#shard = shard;
    this.#options = options;
  }

  get layouts(): readonly ShardLayout[] {
    return this.#reader.layouts;
  }

  index(
    outer: InnerPath,
    extent: Extent | undefined,
  ): ShardIndex | undefined | Promise<ShardIndex | undefined> {
    return this.#reader.indexOf(this.#shard, outer, extent, this.#options);
  }

  read(extent: Extent, path: InnerPath): Promise<Uint8Array | undefined> {
    return this.#reader.readRange(this.#shard, extent, path, this.#options);
  }

  readTogether(extents: readonly Extent[]): Promise<RangeOfChunks[]> {
    return this.#reader.readRangesTogether(this.#shard, extents, this.#options);
  }

  confirm(): Promise<unknown> | undefined {
    return this.#reader.confirm(this.#shard, this.#options);
  }
}

/**
 * Returns a shard that is read without the cache.
 *
 * @param end Where the inner chunks end, if known.
 */
function uncachedShard(
  read: ReadShardRange,
  layouts: readonly ShardLayout[],
  key: StoreKey,
  end = Infinity,
): OpenShard {
  const within = ({ offset, length }: Extent) => ({
    offset,
    length: Math.max(0, Math.min(length, end - offset)),
  });
  return {
    layouts,
    index: (outer, extent) =>
      extent === undefined
        ? readShardIndex(read, layouts[0]!, key)
        : readNestedIndex(read, layouts[outer.length]!, outer, extent, key),
    async read(extent, path) {
      const bytes = await read(within(extent));
      assertInner(bytes, extent, path, key);
      return inOwnMemory(bytes);
    },
    readTogether: (extents) =>
      Promise.all(extents.map(async (range, place) => ({
        range,
        bytes: await read(within(range)),
        isOwned: false,
        places: [place],
      }))),
  };
}

/** Reads the index of a nested shard by a function that reads ranges of the stored one. */
async function readNestedIndex(
  read: (range: Extent) => Promise<Uint8Array | undefined>,
  layout: ShardLayout,
  outer: InnerPath,
  extent: Extent,
  key: StoreKey,
): Promise<ShardIndex | undefined> {
  const bytes = await read(partOf(extent, indexRange(layout)));
  if (bytes === undefined) return undefined;
  const index = decodeShardIndex(bytes, layout, key);
  const of = ` of ${describeInner(outer, key)}`;
  assertExtents(index, layout, extent.length, key, of);
  return index;
}

/** The path of a stored shard, as opposed to one nested in it. */
const WHOLE_SHARD: InnerPath = [];

/** Finds an inner chunk, or `undefined` for an absent one. Returns no promise if the indexes are cached. */
function findInner(
  shard: OpenShard,
  path: InnerPath,
  level = 0,
  nested?: Extent,
): Extent | undefined | Promise<Extent | undefined> {
  const outer = level === 0 ? WHOLE_SHARD : path.slice(0, level);
  const index = shard.index(outer, nested);
  const findIn = (index: ShardIndex | undefined) => {
    const entry = index?.[placeInShard(path[level]!, shard.layouts[level]!)];
    if (entry === undefined) return undefined;
    const offset = entry.offset + (nested?.offset ?? 0);
    const extent = { offset, length: entry.length };
    return level + 1 === path.length
      ? extent
      : findInner(shard, path, level + 1, extent);
  };
  return index instanceof Promise ? index.then(findIn) : findIn(index);
}

/** Reads an inner chunk, or a range of it. */
function readInner(
  shard: OpenShard,
  path: InnerPath,
  range?: ByteRange,
): Promise<Uint8Array | undefined> {
  const found = findInner(shard, path);
  return found instanceof Promise
    ? found.then((inner) => readExtent(shard, path, inner, range))
    : readExtent(shard, path, found, range);
}

/** Reads a range of an inner chunk that was found. Not an async function, since each promise counts for small chunks. */
function readExtent(
  shard: OpenShard,
  path: InnerPath,
  inner: Extent | undefined,
  range: ByteRange | undefined,
): Promise<Uint8Array | undefined> {
  const extent = inner && range ? partOf(inner, range) : inner;
  return extent === undefined || extent.length === 0
    ? readNothing(shard, extent && new Uint8Array())
    : shard.read(extent, path);
}

/** Resolves to `nothing`, an empty or an absent inner chunk, once the cached index is confirmed. */
async function readNothing<T>(shard: OpenShard, nothing: T): Promise<T> {
  await shard.confirm?.();
  return nothing;
}

/** Returns the extent of a range within an extent. */
function partOf(extent: Extent, range: ByteRange): Extent {
  const { start, end } = resolveByteRange(range, extent.length);
  return { offset: extent.offset + start, length: end - start };
}
