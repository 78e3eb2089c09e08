import { digestOf } from "../runtime/mod.ts";
import {
  type ByteRange,
  resolveByteRange,
  type StoreKey,
  type StoreVersion,
} from "../stores/mod.ts";
import type { Place } from "../views/mod.ts";
import type { Deadline } from "./deadline.ts";
import { type Validators, validatorsOf } from "./request.ts";

/** The most bytes that an answer keeps in memory, apart from those of the next window. */
const WINDOW: number = 4 * 1024 * 1024;

/** The bytes of a value that its request asks for: a range, all, or none if `undefined`. */
export type NeededBytes = ByteRange | "all" | undefined;

/** A present value that a request asks for. */
export interface Value {
  /** The length in bytes. */
  readonly size: number;
  readonly validators: Validators;
  /**
   * The bytes that were read when the value was looked up, and the first of them.
   * `undefined` for a version that was kept, and may have changed since.
   */
  readonly latest?: { readonly start: number; readonly bytes?: Uint8Array };
  /** Reads a range; `undefined` if the value has changed since it was looked up. */
  read(range: ByteRange, deadline: Deadline): Promise<Uint8Array | undefined>;
  /** Ends the use of the value. */
  release(): void;
}

/** Returns a value in memory, whose entity tag is the digest of its bytes. */
export async function valueInMemory(bytes: Uint8Array): Promise<Value> {
  return {
    size: bytes.length,
    validators: validatorsOf(await digestOf(bytes)),
    latest: { start: 0 },
    read(range) {
      const { start, end } = resolveByteRange(range, bytes.length);
      return Promise.resolve(bytes.slice(start, end));
    },
    release() {},
  };
}

/**
 * Opens the bytes of a value from `start` to `end`, of which there is at least one. More
 * than a window of them is a stream, which reads at most one window ahead of the client, and
 * releases the value at its end. A failure is an error of the stream, which ends the
 * connection.
 *
 * @returns `undefined` if the value has changed since it was looked up.
 */
export async function openValue(
  { latest, read, release }: Value,
  start: number,
  end: number,
  deadline: Deadline,
): Promise<Uint8Array | ReadableStream<Uint8Array> | undefined> {
  const readWindow = async (offset: number) => {
    const length = Math.min(WINDOW, end - offset);
    const isRead = latest?.start === offset && latest.bytes?.length === length;
    if (isRead) return latest.bytes;
    const bytes = await read({ offset, length }, deadline);
    return bytes?.length === length ? bytes : undefined;
  };
  const first = await readWindow(start);
  if (first === undefined || first.length === end - start) return first;
  let next = start + first.length;
  let coming: Promise<Uint8Array | undefined> = Promise.resolve(first);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const bytes = await coming;
        if (bytes === undefined) {
          throw new Error("The value has changed while it was sent");
        }
        const isLast = next === end;
        if (!isLast) {
          coming = readWindow(next);
          coming.catch(() => {}); // Handled when the client asks for the window.
          next = Math.min(next + WINDOW, end);
        }
        controller.enqueue(bytes);
        if (!isLast) return;
        controller.close();
        release();
      } catch (error) {
        deadline.fail(error);
        release();
        throw error;
      }
    },
    async cancel(reason) {
      deadline.abort(reason);
      await coming.catch(() => {});
      release();
    },
  }, { highWaterMark: 0 });
}

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
      return valueOfVersion(kept);
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
      return { ...valueOfVersion(present), latest };
    }
    const read = (range: ByteRange | undefined, deadline: Deadline) =>
      deadline.run((options) =>
        backend.read([key], (values) => values.read(key, range), options)
      );
    if (!isWhole && size > WINDOW) {
      const validators = validatorsOf(undefined);
      return { size, validators, latest, read, release() {} };
    }
    const all = bytes?.length === size
      ? bytes
      : await read(undefined, deadline);
    return all && await valueInMemory(all);
  }

  /** Drops the version of a value that has changed. */
  forget(shown: StoreKey): void {
    this.#kept.delete(shown);
  }
}

/** Returns the value of a version, which is read as long as its store has this version. */
function valueOfVersion(
  { backend, key, size, version, validators }: KeptVersion,
): Value {
  return {
    size,
    validators,
    read: (range, deadline) =>
      deadline.run((options) => backend.readOf!(version, key, range, options)),
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
