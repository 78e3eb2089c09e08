import { digestOf } from "../runtime/mod.ts";
import {
  type ByteRange,
  resolveByteRange,
  type StoreKey,
  type StoreVersion,
} from "../stores/mod.ts";
import type { Place } from "../views/mod.ts";
import { type Validators, validatorsOf } from "./conditions.ts";
import type { Deadline } from "./deadline.ts";
import {
  rangedValue,
  type Value,
  valueInMemory,
  WINDOW,
} from "./served_value.ts";

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
    { backend, key }: Place,
    needed: NeededBytes,
    deadline: Deadline,
  ): Promise<Value | undefined> {
    const kept = this.#kept.get(shown);
    if (kept?.backend === backend && kept.key === key) {
      return versionedValue(kept);
    }
    // Inner chunks have no versions, and are read whole.
    const isWhole = !backend.readOf;
    const range = isWhole ? undefined : firstWindow(needed);
    let version = undefined as StoreVersion | undefined;
    const found = await deadline.run((options) =>
      backend.read([key], async (values) => {
        version?.release(); // The store may run the task several times.
        version = undefined;
        const bytes = range || isWhole
          ? await values.read(key, range)
          : undefined;
        const size = isWhole ? bytes?.length : await values.size(key);
        if (size === undefined) return undefined;
        if (!isWhole) version = values.version(key);
        return { size, ...bytes && { bytes } };
      }, options)
    );
    if (found === undefined) return undefined;
    const { size, bytes } = found;
    const start = range ? resolveByteRange(range, size).start : 0;
    const latest = { start, ...bytes && { bytes } };
    if (version && !version.ownChangesOnly) {
      const validators = validatorsOf(version.tag, version.modified);
      const present = { backend, key, size, version, validators };
      if (version.isLasting && version.tag !== undefined) {
        this.#kept.set(shown, present);
      }
      return versionedValue(present, latest);
    }
    const read = (range: ByteRange | undefined, deadline: Deadline) =>
      deadline.run((options) =>
        backend.read([key], (values) => values.read(key, range), options)
      );
    if (!isWhole && size > WINDOW) {
      return rangedValue({
        size,
        validators: validatorsOf(undefined),
        latest,
        read,
        isCurrent: () => Promise.resolve(true),
        release() {},
      });
    }
    const all = bytes?.length === size
      ? bytes
      : await read(undefined, deadline);
    return all && valueInMemory(all, await digestOf(all));
  }

  /** Drops the version of a value that has changed. */
  forget(shown: StoreKey): void {
    this.#kept.delete(shown);
  }
}

/**
 * Returns a version of a value.
 *
 * @param latest Bytes that were read with the version; `undefined` for a version that was kept.
 */
function versionedValue(
  { backend, key, size, version, validators }: KeptVersion,
  latest?: { start: number; bytes?: Uint8Array },
): Value {
  const read = (range: ByteRange, deadline: Deadline) =>
    deadline.run((options) => backend.readOf!(version, key, range, options));
  return rangedValue({
    size,
    validators,
    ...latest && { latest },
    read,
    isCurrent: async (deadline) =>
      latest !== undefined ||
      await read({ offset: 0, length: 0 }, deadline) !== undefined,
    release: () => version.release(),
  });
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
