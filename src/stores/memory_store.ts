// deno-lint-ignore-file require-await -- Errors of the methods are rejections.
import { assertSizeLimit } from "../errors/mod.ts";
import { copyBytes } from "../runtime/mod.ts";
import type { Snapshot, ValuesOptions } from "./backend.ts";
import { toBytes, toStream } from "./byte_streams.ts";
import { inspectAsString } from "./describe_store.ts";
import { LockedStore } from "./locked_store.ts";
import type { Recovery } from "./operations.ts";
import {
  type ByteRange,
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
export class MemoryStore extends LockedStore {
  readonly #values = new Map<StoreKey, MemoryValue>();

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
      this.#values.set(key, new MemoryValue(copyBytes(value)));
    }
  }

  /** See {@linkcode Backend.read}. */
  override async read<T>(
    keys: readonly StoreKey[],
    task: (values: Snapshot) => Promise<T>,
    { signal }: ValuesOptions = {},
  ): Promise<T> {
    signal?.throwIfAborted();
    return await task(this.snapshot(keys, signal));
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
    return value && value === version ? value.view(range).slice() : undefined;
  }

  /** Reads the stream as the body of a response, which takes half as long as reading its pieces. */
  protected override async setStream(
    key: StoreKey,
    stream: ReadableStream<Uint8Array>,
    options?: StoreOptions,
  ): Promise<void> {
    const bytes = await toBytes(stream, options);
    await this.change([key], options, async () => [bytes]);
  }

  /** Returns the values of this moment. */
  protected override snapshot(
    keys: readonly StoreKey[],
    signal: AbortSignal | undefined,
  ): Snapshot {
    const values = new Map(keys.map((key) => [key, this.#values.get(key)]));
    const find = (key: StoreKey) => {
      signal?.throwIfAborted();
      return values.get(key);
    };
    return {
      size: async (key) => find(key)?.size,
      async read(key, range, { limit } = {}) {
        const value = find(key);
        if (value && !range) assertSizeLimit(key, limit, value.size);
        return value?.view(range).slice();
      },
      async stream(key, range) {
        const value = find(key);
        return value && toStream(value.view(range));
      },
      version: find,
    };
  }

  /** Stores or deletes values at once. */
  protected override async replace(
    keys: readonly StoreKey[],
    values: readonly Uint8Array[] | undefined,
  ): Promise<void> {
    for (const [i, key] of keys.entries()) {
      if (values === undefined) this.#values.delete(key);
      else this.#values.set(key, new MemoryValue(values[i]!));
    }
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
}

let tagPrefix: string | undefined;
let lastTag = 0;

/** A value of a {@linkcode MemoryStore}, which never changes, and so is its own version. */
class MemoryValue implements StoreVersion {
  readonly isLasting = true;
  readonly bytes: Uint8Array;
  #tag: string | undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get size(): number {
    return this.bytes.length;
  }

  /** Unique among all stores of all processes. */
  get tag(): string {
    tagPrefix ??= crypto.randomUUID().slice(0, 13);
    return this.#tag ??= `${tagPrefix}-${++lastTag}`;
  }

  view(range: ByteRange | undefined): Uint8Array {
    if (range === undefined) return this.bytes;
    const { start, end } = resolveByteRange(range, this.size);
    return this.bytes.subarray(start, end);
  }

  release(): void {}
}
