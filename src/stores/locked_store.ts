// deno-lint-ignore-file require-await -- Errors of the methods are rejections.
import { copyBytes, joinBytes } from "../runtime/mod.ts";
import type {
  ChangeOptions,
  PendingValues,
  Snapshot,
  Update,
  ValuesOptions,
} from "./backend.ts";
import { BaseWritableStore } from "./base_store.ts";
import { assertComplete } from "./byte_streams.ts";
import { KeyLocks } from "./locks.ts";
import type { ByteWriter, StoreKey } from "./store.ts";

/**
 * The base class of stores whose writers exclude each other in this process, and collect new
 * values in memory.
 *
 * @internal
 */
export abstract class LockedStore extends BaseWritableStore {
  protected readonly locks: KeyLocks = new KeyLocks();

  /** Returns the present values. */
  protected abstract snapshot(
    keys: readonly StoreKey[],
    signal: AbortSignal | undefined,
  ): Snapshot;

  /** Stores a value for each key, or deletes all values. */
  protected abstract replace(
    keys: readonly StoreKey[],
    values: readonly Uint8Array[] | undefined,
    signal: AbortSignal | undefined,
  ): Promise<void>;

  /** See {@linkcode Backend.prepare}. */
  override async prepare(
    keys: readonly StoreKey[],
    options: ChangeOptions = {},
  ): Promise<PendingValues> {
    const { signal } = options;
    signal?.throwIfAborted();
    return new MemoryPendingValues(
      keys,
      signal,
      (values, check) =>
        this.change(keys, options, async () => {
          await check?.(this.snapshot(keys, signal));
          return keys.map((key) => values.get(key)!);
        }),
    );
  }

  /** See {@linkcode Backend.remove}. */
  override async remove(
    keys: readonly StoreKey[],
    options?: ChangeOptions,
  ): Promise<void> {
    await this.change(keys, options, async () => "delete");
  }

  /** See {@linkcode Backend.update}. */
  override async update(
    keys: readonly StoreKey[],
    change: (values: Snapshot) => Promise<Update>,
    options?: ValuesOptions,
  ): Promise<void> {
    await this.change(keys, options, async () => {
      const update = await change(this.snapshot(keys, options?.signal));
      return typeof update === "string"
        ? update
        : update.map((bytes) => copyBytes(bytes));
    });
  }

  /** Changes values under the lock of their keys. */
  protected async change(
    keys: readonly StoreKey[],
    options: ChangeOptions | undefined,
    compute: () => Promise<Update>,
  ): Promise<void> {
    const { name = keys[0]!, signal, exclusive = false } = options ?? {};
    const run = async () => {
      const update = await compute();
      if (update === "keep") return;
      signal?.throwIfAborted();
      await this.replace(
        keys,
        update === "delete" ? undefined : update,
        signal,
      );
    };
    await (exclusive
      ? run()
      : this.locks.write(name, run, signal && { signal }));
  }
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
