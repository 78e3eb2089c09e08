import {
  type ChunkVersion,
  findChunkVersion,
  versionedChunk,
} from "../concat_parts/mod.ts";
import { digestOf } from "../runtime/mod.ts";
import {
  type ByteRange,
  type Place,
  readRange,
  readSize,
  readValue,
  resolveByteRange,
  type Store,
  type StoreKey,
} from "../stores/mod.ts";
import { type Validators, validatorsOf } from "./conditions.ts";
import type { Deadline } from "./deadline.ts";
import {
  joined,
  lengthOf,
  type Pieces,
  SHORT,
  type Value,
  valueInMemory,
  WINDOW,
  windows,
} from "./served_value.ts";

/** The bytes of a value that its request asks for: a range, all, or none if `undefined`. */
export type NeededBytes = ByteRange | "all" | undefined;

/** A version that is kept, and the place that it belongs to. */
interface KeptVersion {
  readonly store: Store;
  readonly key: StoreKey;
  readonly version: ChunkVersion;
  readonly validators: Validators;
}

/** Looks up values at their places in a store, and keeps the versions of chunks. */
export class ChunkValues {
  readonly #kept: BoundedCache<KeptVersion>;

  /** @param options The lifetime of versions in milliseconds, and the most of them. */
  constructor(options: { lifetime: number; limit: number }) {
    this.#kept = new BoundedCache(options);
  }

  /**
   * Looks up a value: in memory, or by as many requests as it has parts. Bytes that are
   * needed are read by the same requests, where that is possible.
   *
   * @param shown The key that the value is shown under.
   */
  async find(
    shown: StoreKey,
    place: Place,
    needed: NeededBytes,
    deadline: Deadline,
  ): Promise<Value | undefined> {
    const { store, key } = place;
    const kept = this.#kept.get(shown);
    if (kept?.store === store && kept.key === key) {
      return valueOf(kept.version, kept.validators);
    }
    const chunk = versionedChunk(store, key, { signal: deadline.signal });
    if (chunk === undefined) return await unversionedValue(place, deadline);
    const { range, needsAll } = firstWindow(needed);
    const found = await deadline.run(() =>
      findChunkVersion(chunk, range, needsAll)
    );
    if (found === undefined) return undefined;
    if (found === "unknown") return await unversionedValue(place, deadline);
    const { version, pieces } = found;
    const validators = validatorsOf(version.tag, version.modified);
    if (version.isLasting && version.tag !== undefined) {
      this.#kept.set(shown, { store, key, version, validators });
    }
    const start = range ? resolveByteRange(range, version.size).start : 0;
    return valueOf(version, validators, { start, pieces });
  }

  /** Drops the version of a value that has changed. */
  forget(shown: StoreKey): void {
    this.#kept.delete(shown);
  }
}

/**
 * Returns a version of a chunk as a value.
 *
 * @param latest Bytes that were read with the version, and the first of them;
 * `undefined` for a version that was kept.
 */
function valueOf(
  version: ChunkVersion,
  validators: Validators,
  latest?: { start: number; pieces: Pieces | undefined },
): Value {
  return {
    size: version.size,
    validators,
    isCurrent: async (deadline) =>
      latest !== undefined ||
      await deadline.run((options) => version.isCurrent(options)),
    readNow: (start, memory) => version.readNow(start, memory),
    async open(start, end, deadline) {
      const windowEnd = Math.min(start + WINDOW, end);
      const isRead = latest?.start === start &&
        latest.pieces !== undefined &&
        lengthOf(latest.pieces) === windowEnd - start;
      if (version.hasStreams && end - start > SHORT && !isRead) {
        const pieces = await deadline.run((options) =>
          version.open(start, end, options)
        );
        return pieces && joined(pieces, deadline);
      }
      const read = (start: number, end: number) =>
        deadline.run((options) => version.getRange(start, end, options));
      const first = isRead ? latest.pieces : await read(start, windowEnd);
      return first && end > windowEnd
        ? windows(first, start, end, read)
        : first;
    },
    release: () => version.release(),
  };
}

/** Returns the bytes that are read with the version: at most a window. */
function firstWindow(
  needed: NeededBytes,
): { range: ByteRange | undefined; needsAll: boolean } {
  const range = needed === "all" ? { offset: 0, length: WINDOW } : needed;
  if (range === undefined || "suffixLength" in range) {
    const isShort = range !== undefined && range.suffixLength <= WINDOW;
    return { range: isShort ? range : undefined, needsAll: false };
  }
  const { offset, length } = range;
  return {
    range: { offset, length: Math.min(length, WINDOW) },
    needsAll: needed === "all",
  };
}

/**
 * Looks up a value whose versions the store does not tell, or an inner chunk, which is
 * read whole. Values in memory have the digest of their bytes as their tag.
 */
async function unversionedValue(
  { store, key }: Place,
  deadline: Deadline,
): Promise<Value | undefined> {
  const isWhole = typeof store.stream !== "function" ||
    typeof store.size !== "function";
  const size = isWhole
    ? undefined
    : await deadline.run((options) => readSize(store, key, options));
  if (isWhole || size !== undefined && size <= WINDOW) {
    const bytes = await deadline.run((options) =>
      readValue(store, key, options)
    );
    return bytes && valueInMemory(bytes, await digestOf(bytes));
  }
  if (size === undefined) return undefined;
  const read = (start: number, end: number) =>
    deadline.run(async (options) => {
      const range = { offset: start, length: end - start };
      const bytes = await readRange(store, key, range, options);
      return bytes?.length === range.length ? [bytes] : undefined;
    });
  return {
    size,
    validators: validatorsOf(undefined),
    isCurrent: () => Promise.resolve(true),
    async open(start, end) {
      const windowEnd = Math.min(start + WINDOW, end);
      const first = await read(start, windowEnd);
      return first && end > windowEnd
        ? windows(first, start, end, read)
        : first;
    },
    release() {},
  };
}

/** Options of {@linkcode BoundedCache}. */
interface BoundedCacheOptions<T> {
  /** How long an entry is kept, in milliseconds. */
  lifetime: number;
  /** The most weight of all entries. */
  limit: number;
  weightOf?: (value: T) => number;
  /** Called for each entry that is removed or replaced. */
  onRemoval?: (key: string, value: T) => void;
}

/**
 * Least-recently-used cache. Removes entries that are too old, and those that were used
 * the longest time ago once all entries together weigh too much.
 */
export class BoundedCache<T> {
  readonly #entries = new Map<string, { value: T; expiry: number }>();
  readonly #options: BoundedCacheOptions<T>;
  #weight = 0;

  constructor(options: BoundedCacheOptions<T>) {
    this.#options = options;
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.expiry <= Date.now()) {
      this.delete(key);
      return undefined;
    }
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  set(key: string, value: T): void {
    this.delete(key);
    const expiry = Date.now() + this.#options.lifetime;
    this.#entries.set(key, { value, expiry });
    this.#weight += this.#weightOf(value);
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#options.limit) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#weight -= this.#weightOf(entry.value);
    this.#options.onRemoval?.(key, entry.value);
  }

  #weightOf(value: T): number {
    return this.#options.weightOf?.(value) ?? 1;
  }
}
