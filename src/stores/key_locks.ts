import type { Store } from "./store.ts";

/** Who uses a key, and who waits for it. */
interface Queue {
  /** Done when the last writer is, of those that came so far. */
  write: Promise<void>;
  /** The readers that came after that writer. */
  readonly reads: Set<Promise<void>>;
  users: number;
}

/**
 * Lets readers of one chunk work side by side and its writers one by one, in the
 * order they come, so that nobody meets parts of two writes.
 */
export class KeyLocks {
  readonly #queues = new Map<string, Queue>();
  /** The locks of what is composed once more; the keys there are others. */
  #above: KeyLocks | undefined;
  static readonly #ofStores = new WeakMap<Store, KeyLocks>();

  /** The locks of a store, the same for all that compose its parts. */
  static of(store: Store): KeyLocks {
    const locks = KeyLocks.#ofStores.get(store) ?? new KeyLocks();
    KeyLocks.#ofStores.set(store, locks);
    return locks;
  }

  /** Gives a composed store the locks of all stores that are composed as it is. */
  passOnTo(composed: Store): void {
    this.#above ??= new KeyLocks();
    KeyLocks.#ofStores.set(composed, this.#above);
  }

  /** Runs a task that reads, once no writer is before it. */
  read<T>(key: string, task: () => Promise<T>): Promise<T> {
    const queue = this.#queue(key);
    const run = queue.write.then(task);
    const done = this.#leave(key, queue, run);
    queue.reads.add(done);
    done.then(() => queue.reads.delete(done));
    return run;
  }

  /** Runs a task that writes, once nobody is before it. */
  write<T>(key: string, task: () => Promise<T>): Promise<T> {
    const queue = this.#queue(key);
    const run = Promise.all([queue.write, ...queue.reads]).then(task);
    queue.write = this.#leave(key, queue, run);
    queue.reads.clear();
    return run;
  }

  #queue(key: string): Queue {
    let queue = this.#queues.get(key);
    if (queue === undefined) {
      queue = { write: Promise.resolve(), reads: new Set(), users: 0 };
      this.#queues.set(key, queue);
    }
    queue.users++;
    return queue;
  }

  /** Done, and never failed, when the task is. The last to leave takes the queue away. */
  async #leave(
    key: string,
    queue: Queue,
    run: Promise<unknown>,
  ): Promise<void> {
    await run.catch(() => {});
    if (--queue.users === 0) this.#queues.delete(key);
  }
}
