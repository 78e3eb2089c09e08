import { digestOf } from "../runtime/mod.ts";
import {
  type ByteRange,
  resolveByteRange,
  type Snapshot,
  type StoreKey,
  type StoreVersion,
} from "../stores/mod.ts";
import type { Place } from "../views/mod.ts";
import { type Validators, validatorsOf } from "./conditions.ts";
import type { Deadline } from "./deadline.ts";
import { type Value, valueInMemory, WINDOW, windows } from "./served_value.ts";

/** The bytes of a value that its request asks for: a range, all, or none if `undefined`. */
export type NeededBytes = ByteRange | "all" | undefined;

/** A version that is kept, and the place that it belongs to. */
interface KeptVersion extends Place {
  readonly size: number;
  readonly version: StoreVersion;
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
    const { backend, key } = place;
    // Inner chunks have no versions, and are read whole.
    if (!backend.readOf) return await unversionedValue(place, deadline);
    const kept = this.#kept.get(shown);
    if (kept?.backend === backend && kept.key === key) return valueOf(kept);
    const range = firstWindow(needed);
    let version = undefined as StoreVersion | undefined;
    const found = await deadline.run((options) =>
      backend.read([key], async (values) => {
        version?.release(); // The store may run the task several times.
        version = undefined;
        const bytes = range && await values.read(key, range);
        const size = await values.size(key);
        if (size === undefined) return undefined;
        version = values.version(key);
        return { bytes, size };
      }, options)
    );
    if (found === undefined) return undefined;
    const { bytes, size } = found;
    const start = range ? resolveByteRange(range, size).start : 0;
    const latest = { start, bytes };
    if (version === undefined || version.isLocal) {
      return bytes?.length === size
        ? valueInMemory(bytes, await digestOf(bytes))
        : await unversionedValue(place, deadline, { ...latest, size });
    }
    const validators = validatorsOf(version.tag, version.modified);
    const present = { backend, key, size, version, validators };
    if (version.isLasting && version.tag !== undefined) {
      this.#kept.set(shown, present);
    }
    return valueOf(present, latest);
  }

  /** Drops the version of a value that has changed. */
  forget(shown: StoreKey): void {
    this.#kept.delete(shown);
  }
}

/**
 * Returns a version of a value.
 *
 * @param latest Bytes that were read with the version, and the first of them;
 * `undefined` for a version that was kept.
 */
function valueOf(
  { backend, key, size, version, validators }: KeptVersion,
  latest?: { start: number; bytes: Uint8Array | undefined },
): Value {
  const readOf = (start: number, end: number, deadline: Deadline) =>
    deadline.run((options) => {
      const range = { offset: start, length: end - start };
      return backend.readOf!(version, key, range, options);
    });
  return {
    size,
    validators,
    isCurrent: async (deadline) =>
      latest !== undefined || await readOf(0, 0, deadline) !== undefined,
    async open(start, end, deadline) {
      const read = async (start: number, end: number) => {
        const bytes = await readOf(start, end, deadline);
        return bytes?.length === end - start ? [bytes] : undefined;
      };
      const windowEnd = Math.min(start + WINDOW, end);
      const isRead = latest?.start === start &&
        latest.bytes?.length === windowEnd - start;
      const first = isRead ? [latest.bytes!] : await read(start, windowEnd);
      return first && end > windowEnd
        ? windows(first, start, end, read)
        : first;
    },
    release: () => version.release(),
  };
}

/** Returns the bytes that are read with the version: at most a window. */
function firstWindow(needed: NeededBytes): ByteRange | undefined {
  if (needed === "all") return { offset: 0, length: WINDOW };
  if (needed === undefined) return undefined;
  if ("suffixLength" in needed) {
    return needed.suffixLength <= WINDOW ? needed : undefined;
  }
  const { offset, length } = needed;
  return { offset, length: Math.min(length, WINDOW) };
}

/**
 * Looks up a value whose versions the store does not tell, or an inner chunk, which is
 * read whole. Values in memory have the digest of their bytes as their tag.
 */
async function unversionedValue(
  { backend, key }: Place,
  deadline: Deadline,
  latest?: { start: number; bytes: Uint8Array | undefined; size: number },
): Promise<Value | undefined> {
  const ask = <T>(task: (values: Snapshot) => Promise<T>) =>
    deadline.run((options) => backend.read([key], task, options));
  const isWhole = !backend.readOf;
  const size = isWhole
    ? undefined
    : latest?.size ?? await ask((values) => values.size(key));
  if (isWhole || size !== undefined && size <= WINDOW) {
    const bytes = await ask((values) => values.read(key));
    return bytes && valueInMemory(bytes, await digestOf(bytes));
  }
  if (size === undefined) return undefined;
  const read = async (start: number, end: number) => {
    const range = { offset: start, length: end - start };
    const bytes = await ask((values) => values.read(key, range));
    return bytes?.length === range.length ? [bytes] : undefined;
  };
  return {
    size,
    validators: validatorsOf(undefined),
    isCurrent: () => Promise.resolve(true),
    async open(start, end) {
      const windowEnd = Math.min(start + WINDOW, end);
      const isRead = latest?.start === start &&
        latest.bytes?.length === windowEnd - start;
      const first = isRead ? [latest.bytes!] : await read(start, windowEnd);
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
