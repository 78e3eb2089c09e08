// deno-lint-ignore-file require-await -- Errors of the methods are rejections.
import { assertSizeLimit } from "../errors/mod.ts";
import { copyBytes, joinBytes } from "../runtime/mod.ts";
import type {
  ChangeOptions,
  PendingValues,
  ReadOptions,
  Snapshot,
  Update,
  ValuesOptions,
} from "./backend.ts";
import { BaseWritableStore } from "./base_store.ts";
import { assertComplete, toBytes, toStream } from "./byte_streams.ts";
import { inspectAsString } from "./describe_store.ts";
import { KeyLocks } from "./locks.ts";
import type { Recovery } from "./recover.ts";
import {
  type ByteRange,
  type ByteWriter,
  resolveByteRange,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "./store.ts";
import { assertStoreKey, assertStorePrefix } from "./store_key.ts";

/**
 * A store in memory, whose values are copied in and out.
 *
 * @example
 * ```ts
 * import { MemoryStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore([["/c/0", new Uint8Array([1, 2, 3, 4])]]);
 * await store.set("/c/1", new Blob(["as a stream"]).stream());
 * assertEquals(await store.getRange("/c/0", { suffixLength: 2 }), new Uint8Array([3, 4]));
 * assertEquals(await Array.fromAsync(store.list("/c/1")), ["/c/1"]);
 * ```
 */
export class MemoryStore extends BaseWritableStore {
  readonly #values = new Map<StoreKey, Uint8Array>();
  readonly #locks = new KeyLocks();

  /**
   * Creates a store.
   *
   * @param entries The keys and values to begin with, which are copied.
   */
  constructor(entries: Iterable<readonly [StoreKey, Uint8Array]> = []) {
    super();
    inspectAsString(this);
    for (const [key, value] of entries) {
      assertStoreKey(key);
      this.#values.set(key, copyBytes(value));
    }
  }

  /** See {@linkcode Backend.read}. */
  override async read<T>(
    keys: readonly StoreKey[],
    task: (values: Snapshot) => Promise<T>,
    options?: ValuesOptions,
  ): Promise<T> {
    options?.signal?.throwIfAborted();
    return await task(this.#snapshot(keys, options?.signal));
  }

  /** See {@linkcode Backend.readOf}. */
  async readOf(
    version: StoreVersion,
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    options?.signal?.throwIfAborted();
    const value = this.#values.get(key);
    return version instanceof MemoryVersion && value === version.bytes
      ? sliceOf(value, range)
      : undefined;
  }

  /** See {@linkcode Backend.prepare}. */
  override async prepare(
    keys: readonly StoreKey[],
    options: ChangeOptions = {},
  ): Promise<PendingValues> {
    options.signal?.throwIfAborted();
    return new MemoryPendingValues(
      keys,
      options.signal,
      (values, check) =>
        this.#change(keys, options, async () => {
          await check?.(this.#snapshot(keys, options.signal));
          options.signal?.throwIfAborted();
          return keys.map((key) => values.get(key)!);
        }),
    );
  }

  /** Reads the stream as the body of a response, which takes half as long as reading its pieces. */
  protected override async setStream(
    key: StoreKey,
    stream: ReadableStream<Uint8Array>,
    options: StoreOptions = {},
  ): Promise<void> {
    const bytes = await toBytes(stream, options);
    await this.#change([key], options, () => Promise.resolve([bytes]));
  }

  /** See {@linkcode Backend.remove}. */
  override async remove(
    keys: readonly StoreKey[],
    options: ChangeOptions = {},
  ): Promise<void> {
    await this.#change(keys, options, () => Promise.resolve("delete"));
  }

  /** See {@linkcode Backend.update}. */
  override async update(
    keys: readonly StoreKey[],
    change: (values: Snapshot) => Promise<Update>,
    options: ValuesOptions = {},
  ): Promise<void> {
    await this.#change(keys, options, async () => {
      const update = await change(this.#snapshot(keys, options.signal));
      return typeof update === "string"
        ? update
        : update.map((v) => copyBytes(v));
    });
  }

  /**
   * Lists the keys that have a value.
   *
   * @param prefix The start of the keys, which may end within a name.
   * @param options `signal` aborts the listing.
   * @returns The keys, in the order in which they were first set.
   */
  async *list(
    prefix: StoreKey = "/",
    options?: StoreOptions,
  ): AsyncIterable<StoreKey> {
    assertStorePrefix(prefix);
    options?.signal?.throwIfAborted();
    for (const key of this.#values.keys()) {
      if (!key.startsWith(prefix)) continue;
      yield key;
      options?.signal?.throwIfAborted();
    }
  }

  /** Does nothing, since memory keeps no unfinished writes: see `recover`. */
  recover(): Promise<Recovery> {
    const temporary = { files: 0, bytes: 0 };
    return Promise.resolve({ written: [], deleted: [], temporary });
  }

  /** Describes the store, as in `MemoryStore(3)`, a store of three values. */
  override toString(): string {
    return `MemoryStore(${this.#values.size})`;
  }

  #snapshot(
    keys: readonly StoreKey[],
    signal: AbortSignal | undefined,
  ): MemorySnapshot {
    const values = keys.map((key) => [key, this.#values.get(key)] as const);
    return new MemorySnapshot(new Map(values), signal);
  }

  async #change(
    keys: readonly StoreKey[],
    { name = keys[0]!, signal, exclusive = false }: ChangeOptions,
    change: () => Promise<Update>,
  ): Promise<void> {
    const run = async () => {
      signal?.throwIfAborted();
      const update = await change();
      if (update === "keep") return;
      for (const [i, key] of keys.entries()) {
        if (update === "delete") this.#values.delete(key);
        else this.#values.set(key, update[i]!);
      }
    };
    await (exclusive
      ? run()
      : this.#locks.write(name, run, signal && { signal }));
  }
}

class MemorySnapshot implements Snapshot {
  readonly #values: ReadonlyMap<StoreKey, Uint8Array | undefined>;
  readonly #signal: AbortSignal | undefined;

  constructor(
    values: ReadonlyMap<StoreKey, Uint8Array | undefined>,
    signal: AbortSignal | undefined,
  ) {
    this.#values = values;
    this.#signal = signal;
  }

  async size(key: StoreKey): Promise<number | undefined> {
    return this.#find(key)?.length;
  }

  async read(
    key: StoreKey,
    range?: ByteRange,
    { limit }: ReadOptions = {},
  ): Promise<Uint8Array | undefined> {
    const value = this.#find(key);
    if (value === undefined || range) return value && sliceOf(value, range!);
    assertSizeLimit(key, limit, value.length);
    return value.slice();
  }

  async stream(
    key: StoreKey,
    range?: ByteRange,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const value = this.#find(key);
    if (value === undefined) return undefined;
    if (range === undefined) return toStream(value);
    const { start, end } = resolveByteRange(range, value.length);
    return toStream(value.subarray(start, end));
  }

  version(key: StoreKey): StoreVersion | undefined {
    const value = this.#find(key);
    return value && new MemoryVersion(value);
  }

  #find(key: StoreKey): Uint8Array | undefined {
    this.#signal?.throwIfAborted();
    return this.#values.get(key);
  }
}

const tags = /* @__PURE__ */ new WeakMap<Uint8Array, string>();
let tagPrefix: string | undefined;
let lastTag = 0;

/** A value of a {@linkcode MemoryStore}, which never changes: each write stores another array. */
class MemoryVersion implements StoreVersion {
  readonly isLasting = true;
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get size(): number {
    return this.bytes.length;
  }

  /** Unique among all stores of all processes. */
  get tag(): string {
    let tag = tags.get(this.bytes);
    if (tag === undefined) {
      tagPrefix ??= crypto.randomUUID().slice(0, 13);
      tags.set(this.bytes, tag = `${tagPrefix}-${++lastTag}`);
    }
    return tag;
  }

  release(): void {}
}

type StoreValues = (
  values: ReadonlyMap<StoreKey, Uint8Array>,
  check: ((values: Snapshot) => Promise<void>) | undefined,
) => Promise<void>;

/** Values that are collected in memory, and stored by a function. */
export class MemoryPendingValues implements PendingValues {
  readonly #keys: readonly StoreKey[];
  readonly #signal: AbortSignal | undefined;
  readonly #store: StoreValues;
  readonly #values = new Map<StoreKey, Uint8Array>();

  constructor(
    keys: readonly StoreKey[],
    signal: AbortSignal | undefined,
    store: StoreValues,
  ) {
    this.#keys = keys;
    this.#signal = signal;
    this.#store = store;
  }

  async set(key: StoreKey, bytes: Uint8Array): Promise<void> {
    this.#signal?.throwIfAborted();
    this.#values.set(key, copyBytes(bytes));
  }

  async writer(key: StoreKey): Promise<ByteWriter> {
    this.#signal?.throwIfAborted();
    const pieces: Uint8Array[] = [];
    return {
      write: async (bytes) => {
        this.#signal?.throwIfAborted();
        pieces.push(copyBytes(bytes));
        return bytes.length;
      },
      close: () => {
        const [first] = pieces;
        const isOne = first !== undefined && pieces.length === 1;
        this.#values.set(key, isOne ? first : joinBytes(pieces));
      },
      abort: () => {},
    };
  }

  async commit(check?: (values: Snapshot) => Promise<void>): Promise<void> {
    assertComplete(this.#keys, (key) => this.#values.has(key));
    await this.#store(this.#values, check);
  }

  abort(): Promise<void> {
    this.#values.clear();
    return Promise.resolve();
  }
}

function sliceOf(bytes: Uint8Array, range: ByteRange): Uint8Array {
  const { start, end } = resolveByteRange(range, bytes.length);
  return bytes.slice(start, end);
}
