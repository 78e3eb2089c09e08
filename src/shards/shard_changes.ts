import type { Store } from "../stores/mod.ts";

/**
 * Counts the changes of the shards of one array in this process. All readers and writers
 * of the array through one store object share the counts, also with different metadata.
 */
export class ShardChanges {
  /** How many changes are running. */
  running = 0;
  /** Counts the beginnings and the ends of all changes. */
  count = 0;
  #latestTurn: Promise<unknown> = Promise.resolve();
  static readonly #ofStores = new WeakMap<Store, Map<string, ShardChanges>>();

  /**
   * Returns the changes of an array.
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
   * Counts a task that changes a shard. The caller holds the lock of the shard, as
   * `exclusively` takes it.
   *
   * @param note Called when the change begins and when it ends.
   */
  async run<T>(task: () => Promise<T>, note?: () => void): Promise<T> {
    this.running++;
    this.note();
    note?.();
    try {
      return await task();
    } finally {
      this.note();
      note?.();
      this.running--;
    }
  }

  /** Counts a change that did not run here. */
  note(): void {
    this.count++;
  }

  /** Runs a task that changes many shards, after all earlier tasks of this kind. */
  runInTurn<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#latestTurn.then(task);
    this.#latestTurn = turn.catch(() => {});
    return turn;
  }
}
