import { hasGroups, remove, write } from "./capabilities.ts";
import type {
  ByteRange,
  Store,
  StoreGroup,
  StoreKey,
  StoreOptions,
} from "./store.ts";

/**
 * The locks of a store in this process: read-write locks by key, in the order of the
 * calls. Readers of a key run at the same time, writers one after another, so that no
 * reader sees the parts of two writes.
 *
 * A writer that holds a lock says so in the options that it passes on, so that the store
 * below does not take the lock again: a composed store and the groups of its base have
 * the same locks.
 */
export class KeyLocks {
  /** The latest turn of each key that has tasks. */
  readonly #turns = new Map<string, Turn>();
  /** The locks of all stores that are composed of the owner of these locks, and have keys of their own. */
  #above: KeyLocks | undefined;
  static readonly #ofOwners = new WeakMap<WeakKey, KeyLocks>();

  /** The locks of a store, or of another owner. */
  static of(owner: WeakKey): KeyLocks {
    const locks = KeyLocks.#ofOwners.get(owner) ?? new KeyLocks();
    KeyLocks.#ofOwners.set(owner, locks);
    return locks;
  }

  /** Gives a store that is composed of the owner of these locks the locks that all such stores share. */
  passOnTo(composed: Store): void {
    this.#above ??= new KeyLocks();
    KeyLocks.#ofOwners.set(composed, this.#above);
  }

  /** Runs a task that reads, after all earlier writers. */
  async read<T>(key: string, task: () => Promise<T>): Promise<T> {
    const turn = this.#latest(key);
    turn.readers++;
    try {
      if (turn.write !== undefined) await turn.write;
      return await task();
    } finally {
      if (--turn.readers === 0) {
        turn.finish?.();
        this.#removeIfDone(key, turn);
      }
    }
  }

  /**
   * Runs a task that writes, after all earlier readers and writers.
   *
   * @param task Writes with the options that it is given, which tell that the lock is held.
   * @param options `signal` keeps the task from starting. If the options tell that the
   * lock is held, the task runs at once.
   */
  write<T>(
    key: string,
    task: (options: StoreOptions) => Promise<T>,
    options: StoreOptions = {},
  ): Promise<T> {
    return this.isHeld(key, options)
      ? task(options)
      : this.#write(key, task, this.#lockable(key, options));
  }

  async #write<T>(
    key: string,
    task: (options: StoreOptions) => Promise<T>,
    options: LockedOptions,
  ): Promise<T> {
    const lock = options[HELD]!;
    const earlier = this.#latest(key);
    let finish!: () => void;
    const write = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const turn: Turn = { readers: 0, write, finish: undefined };
    this.#turns.set(key, turn);
    try {
      await earlier.write;
      if (earlier.readers > 0) {
        await new Promise<void>((resolve) => {
          earlier.finish = resolve;
        });
      }
      options.signal?.throwIfAborted();
      lock.isHeld = true;
      return await task(options);
    } finally {
      lock.isHeld = false;
      turn.write = undefined;
      finish();
      this.#removeIfDone(key, turn);
    }
  }

  /** Returns the options for an operation that runs by `write` later, with these same options. */
  prepare(key: string, options: StoreOptions = {}): StoreOptions {
    return this.#lockable(key, options);
  }

  /** Whether options tell that the lock of a key is held. */
  isHeld(key: string, options: LockedOptions = {}): boolean {
    const lock = options[HELD];
    return lock?.locks === this && lock.key === key && lock.isHeld;
  }

  #lockable(key: string, options: LockedOptions): LockedOptions {
    const lock = options[HELD];
    return lock?.locks === this && lock.key === key ? options : {
      ...options.signal && { signal: options.signal },
      [HELD]: { locks: this, key, isHeld: false },
    };
  }

  #latest(key: string): Turn {
    let turn = this.#turns.get(key);
    if (turn === undefined) {
      turn = { readers: 0, write: undefined, finish: undefined };
      this.#turns.set(key, turn);
    }
    return turn;
  }

  /** Removes a turn when its last task has finished. */
  #removeIfDone(key: string, turn: Turn): void {
    const isDone = turn.readers === 0 && turn.write === undefined;
    if (isDone && this.#turns.get(key) === turn) this.#turns.delete(key);
  }
}

/** The readers of one key between two writers. */
interface Turn {
  /** The number of readers that run or wait. */
  readers: number;
  /** Resolves when the writer of this turn, for which the readers wait, has finished; `undefined` if there is none. */
  write: Promise<void> | undefined;
  /** Tells the next writer that the last reader has finished. */
  finish: (() => void) | undefined;
}

/** A lock that operations pass on to the store below in their options. */
interface HeldLock {
  readonly locks: KeyLocks;
  readonly key: string;
  isHeld: boolean;
}

const HELD = Symbol("zarr-parts held lock");

interface LockedOptions extends StoreOptions {
  readonly [HELD]?: HeldLock;
}

/**
 * Runs a task that reads and changes one value, after all earlier tasks of the same
 * value. No other task changes the value during this one: in any process if the store has
 * locks, else in this process.
 *
 * @param task Reads and changes the value through the store that it is given, as
 * bytes.
 */
export async function exclusively<T>(
  store: Store,
  key: StoreKey,
  task: (store: Store) => Promise<T>,
  options?: StoreOptions,
): Promise<T> {
  const group = hasGroups(store) ? store.group(key, [key]) : undefined;
  if (group?.lock !== undefined) {
    return await group.lock((locked) => task(new GroupStore(locked)), options);
  }
  return await KeyLocks.of(store).write(key, () => task(store), options);
}

/** Replaces a value, after all earlier tasks of {@linkcode exclusively} with the same value. */
export async function replaceValue(
  store: Store,
  key: StoreKey,
  bytes: Uint8Array,
  options?: StoreOptions,
): Promise<void> {
  const group = hasGroups(store) ? store.group(key, [key]) : undefined;
  if (group?.write !== undefined) {
    return await new GroupStore(group).set(key, bytes, options);
  }
  await KeyLocks.of(store).write(key, () => write(store, key, bytes, options));
}

/** Removes a value, after all earlier tasks of {@linkcode exclusively} with the same value. */
export async function removeValue(
  store: Store,
  key: StoreKey,
  options?: StoreOptions,
): Promise<void> {
  const group = hasGroups(store) ? store.group(key, [key]) : undefined;
  if (group?.delete !== undefined) return await group.delete(options);
  await KeyLocks.of(store).write(key, () => remove(store, key, options));
}

/**
 * Stores a value unless the key has one already. Of several calls at once, one
 * stores its value: in any process if the store has locks, else in this process.
 *
 * @returns Whether the value was stored.
 */
export function writeNew(
  store: Store,
  key: StoreKey,
  bytes: Uint8Array,
  options?: StoreOptions,
): Promise<boolean> {
  return exclusively(store, key, async (store) => {
    if (await store.get(key, options) !== undefined) return false;
    await write(store, key, bytes, options);
    return true;
  }, options);
}

/** A group of values as a store. It stores bytes, and no streams. */
export class GroupStore implements Store {
  readonly #group: StoreGroup;

  constructor(group: StoreGroup) {
    this.#group = group;
  }

  get(key: StoreKey, options?: StoreOptions): Promise<Uint8Array | undefined> {
    return this.#group.read((values) => values.get(key, options), options);
  }

  getRange(
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return this.#group.read(
      (values) => values.getRange(key, range, options),
      options,
    );
  }

  size(key: StoreKey, options?: StoreOptions): Promise<number | undefined> {
    return this.#group.read((values) => values.size(key, options), options);
  }

  /** Replaces the values of a group of one value. */
  async set(
    key: StoreKey,
    bytes: Uint8Array,
    options?: StoreOptions,
  ): Promise<void> {
    const writer = await this.#group.write!(options);
    try {
      await writer.set(key, bytes);
      await writer.close();
    } catch (error) {
      await writer.abort(error);
      throw error;
    }
  }

  /** Deletes all values of the group. */
  async delete(_key: StoreKey, options?: StoreOptions): Promise<void> {
    await this.#group.delete!(options);
  }
}
