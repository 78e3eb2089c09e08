import { KeyLocks, type Store } from "../stores/mod.ts";

/** The key of the lock for a whole array. Keys of shards start with `/`. */
const ARRAY = "";

/**
 * The changes of the shards of one array in this process. All that read and change
 * the array through one store object share them, whatever metadata they know.
 */
export class ShardChanges {
  /** Keeps readers from using the index of a shard that changes. */
  readonly locks: KeyLocks = new KeyLocks();
  /** How many changes are running. */
  running = 0;
  /** Counts the begins and the ends of all changes. */
  count = 0;
  static readonly #ofStores = new WeakMap<Store, Map<string, ShardChanges>>();

  /**
   * The changes of an array.
   *
   * @param root The prefix of the array's keys, without a last `/`.
   */
  static of(store: Store, root: string): ShardChanges {
    const arrays = ShardChanges.#ofStores.get(store) ?? new Map();
    ShardChanges.#ofStores.set(store, arrays);
    const changes = arrays.get(root) ?? new ShardChanges();
    arrays.set(root, changes);
    return changes;
  }

  /**
   * Runs a task that changes a shard, after all earlier readers and writers of the
   * shard.
   *
   * @param note Called when the change begins and when it ends.
   */
  run<T>(key: string, task: () => Promise<T>, note?: () => void): Promise<T> {
    const count = () => {
      this.count++;
      note?.();
    };
    return this.locks.write(key, async () => {
      this.running++;
      count();
      try {
        return await task();
      } finally {
        count();
        this.running--;
      }
    });
  }

  /** Counts a change that did not run here. */
  note(): void {
    this.count++;
  }

  /** Runs a task of many changes, after all earlier tasks of this kind. */
  runAll<T>(task: () => Promise<T>): Promise<T> {
    return this.locks.write(ARRAY, task);
  }
}
