import { assertAllGiven, assertInGroup } from "./assert_in_group.ts";
import type { ByteWriter } from "./byte_io.ts";
import { assertByteRange, resolveByteRange } from "./byte_range.ts";
import { copyBytes } from "./copy_bytes.ts";
import { joinBytes } from "./join_bytes.ts";
import type { KeyLocks } from "./key_locks.ts";
import { assertSizeLimit } from "./size_limit_error.ts";
import type { ByteRange, GetOptions, StoreKey, StoreOptions } from "./store.ts";
import type {
  GroupValues,
  GroupWriter,
  StoreGroup,
  StoreVersion,
} from "./store_group.ts";
import { abortable, toStream } from "./stream.ts";

/** The tags of values in memory, by the arrays of their bytes. */
const tags = /* @__PURE__ */ new WeakMap<Uint8Array, string>();
/** The part of all tags that those of other processes do not have. */
let process: string | undefined;
let lastTag = 0;

/** The version of a value in memory: the array of its bytes, which is never changed. */
export class MemoryVersion implements StoreVersion {
  readonly isLasting = true;
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get size(): number {
    return this.bytes.length;
  }

  get tag(): string {
    let tag = tags.get(this.bytes);
    if (tag === undefined) {
      process ??= crypto.randomUUID().slice(0, 13);
      tags.set(this.bytes, tag = `${process}-${++lastTag}`);
    }
    return tag;
  }

  release(): void {}
}

/** Values in memory that are replaced together. */
export class MemoryGroup implements StoreGroup {
  readonly #values: Map<StoreKey, Uint8Array>;
  readonly #locks: KeyLocks;
  readonly #key: StoreKey;
  readonly #keys: readonly StoreKey[];
  readonly #isLocked: boolean;

  /** @param isLocked Whether the lock of the group is held. */
  constructor(
    values: Map<StoreKey, Uint8Array>,
    locks: KeyLocks,
    key: StoreKey,
    keys: readonly StoreKey[],
    isLocked = false,
  ) {
    this.#values = values;
    this.#locks = locks;
    this.#key = key;
    this.#keys = keys;
    this.#isLocked = isLocked;
  }

  async read<T>(
    task: (values: GroupValues) => Promise<T>,
    { signal }: StoreOptions = {},
  ): Promise<T> {
    signal?.throwIfAborted();
    const entries = this.#keys.map((key) =>
      [key, this.#values.get(key)] as const
    );
    return await task(new MemoryGroupValues(new Map(entries)));
  }

  // deno-lint-ignore require-await -- so that an aborted signal is a rejection
  async write({ signal }: StoreOptions = {}): Promise<GroupWriter> {
    signal?.throwIfAborted();
    return new MemoryGroupWriter(
      this.#keys,
      signal,
      (given) =>
        this.#change(() => {
          for (const [key, bytes] of given) this.#values.set(key, bytes);
        }),
    );
  }

  async delete({ signal }: StoreOptions = {}): Promise<void> {
    await this.#change(() => {
      signal?.throwIfAborted();
      for (const key of this.#keys) this.#values.delete(key);
    });
  }

  async lock<T>(
    task: (group: StoreGroup) => Promise<T>,
    { signal }: StoreOptions = {},
  ): Promise<T> {
    return await this.#alone(() => {
      signal?.throwIfAborted();
      return task(
        new MemoryGroup(
          this.#values,
          this.#locks,
          this.#key,
          this.#keys,
          true,
        ),
      );
    });
  }

  #change(change: () => void): Promise<void> {
    return this.#alone(() => Promise.resolve(change()));
  }

  #alone<T>(task: () => Promise<T>): Promise<T> {
    return this.#isLocked ? task() : this.#locks.write(this.#key, task);
  }
}

/** The values of a group at one moment. */
class MemoryGroupValues implements GroupValues {
  readonly #values: ReadonlyMap<StoreKey, Uint8Array | undefined>;

  constructor(values: ReadonlyMap<StoreKey, Uint8Array | undefined>) {
    this.#values = values;
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async get(
    key: StoreKey,
    options?: GetOptions,
  ): Promise<Uint8Array | undefined> {
    const value = this.#find(key, options);
    if (value) assertSizeLimit(key, options?.limit, value.length);
    return value?.slice();
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async getRange(
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    assertByteRange(range);
    const value = this.#find(key, options);
    return value && sliceOf(value, range);
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async stream(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const value = this.#find(key, options);
    return value && abortable(toStream(value), options?.signal);
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async size(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<number | undefined> {
    return this.#find(key, options)?.length;
  }

  version(key: StoreKey): StoreVersion | undefined {
    const value = this.#find(key);
    return value && new MemoryVersion(value);
  }

  #find(key: StoreKey, options?: StoreOptions): Uint8Array | undefined {
    options?.signal?.throwIfAborted();
    if (!this.#values.has(key)) assertInGroup([...this.#values.keys()], key);
    return this.#values.get(key);
  }
}

/** Collects the values of a group. */
export class MemoryGroupWriter implements GroupWriter {
  readonly #keys: readonly StoreKey[];
  readonly #signal: AbortSignal | undefined;
  readonly #store: (given: Map<StoreKey, Uint8Array>) => Promise<void>;
  readonly #given = new Map<StoreKey, Uint8Array>();

  constructor(
    keys: readonly StoreKey[],
    signal: AbortSignal | undefined,
    store: (given: Map<StoreKey, Uint8Array>) => Promise<void>,
  ) {
    this.#keys = keys;
    this.#signal = signal;
    this.#store = store;
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async set(key: StoreKey, bytes: Uint8Array): Promise<void> {
    this.#signal?.throwIfAborted();
    assertInGroup(this.#keys, key);
    this.#given.set(key, copyBytes(bytes));
  }

  // deno-lint-ignore require-await -- so that a bad key is a rejection
  async writer(key: StoreKey): Promise<ByteWriter> {
    this.#signal?.throwIfAborted();
    assertInGroup(this.#keys, key);
    const pieces: Uint8Array[] = [];
    return {
      // deno-lint-ignore require-await -- so that an aborted signal is a rejection
      write: async (bytes) => {
        this.#signal?.throwIfAborted();
        pieces.push(copyBytes(bytes));
        return bytes.length;
      },
      close: () => {
        this.#given.set(key, joinBytes(pieces));
      },
      abort: () => {},
    };
  }

  async close(): Promise<void> {
    assertAllGiven(this.#keys, this.#given);
    await this.#store(this.#given);
  }

  abort(): Promise<void> {
    this.#given.clear();
    return Promise.resolve();
  }
}

/** Copies a range of bytes. */
export function sliceOf(bytes: Uint8Array, range: ByteRange): Uint8Array {
  const { start, end } = resolveByteRange(range, bytes.length);
  return bytes.slice(start, end);
}
