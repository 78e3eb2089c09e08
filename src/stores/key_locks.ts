import type { Store } from "./store.ts";

/** The tasks of one key that run or wait. */
interface Queue {
  /** Resolves when the last writer so far has finished. */
  lastWrite: Promise<void> | undefined;
  /** The readers that came after that writer. */
  readers: Readers;
  /** The number of tasks in the queue. */
  tasks: number;
}

/**
 * Read-write locks by key, in the order of the calls: readers of a key run at the
 * same time, writers one after another, so that no reader sees the parts of two
 * writes.
 */
export class KeyLocks {
  readonly #queues = new Map<string, Queue>();
  /** The locks of stores that are composed of a composed store, and have other keys. */
  #above: KeyLocks | undefined;
  static readonly #ofStores = new WeakMap<Store, KeyLocks>();

  /** The locks of a store, the same for all that compose its parts. */
  static of(store: Store): KeyLocks {
    const locks = KeyLocks.#ofStores.get(store) ?? new KeyLocks();
    KeyLocks.#ofStores.set(store, locks);
    return locks;
  }

  /** Gives a composed store the same locks as other stores composed of the same one. */
  passOnTo(composed: Store): void {
    this.#above ??= new KeyLocks();
    KeyLocks.#ofStores.set(composed, this.#above);
  }

  /** Runs a task that reads, after all earlier writers. */
  async read<T>(key: string, task: () => Promise<T>): Promise<T> {
    const queue = this.#enter(key);
    const { readers, lastWrite } = queue;
    readers.enter();
    try {
      if (lastWrite !== undefined) await lastWrite;
      return await task();
    } finally {
      readers.leave();
      this.#leave(key, queue);
    }
  }

  /** Runs a task that writes, after all earlier readers and writers. */
  async write<T>(key: string, task: () => Promise<T>): Promise<T> {
    const queue = this.#enter(key);
    const earlier = [queue.lastWrite, queue.readers.finished()];
    let finish!: () => void;
    queue.lastWrite = new Promise((resolve) => {
      finish = resolve;
    });
    queue.readers = new Readers();
    try {
      await Promise.all(earlier);
      return await task();
    } finally {
      finish();
      this.#leave(key, queue);
    }
  }

  #enter(key: string): Queue {
    let queue = this.#queues.get(key);
    if (queue === undefined) {
      queue = { lastWrite: undefined, readers: new Readers(), tasks: 0 };
      this.#queues.set(key, queue);
    }
    queue.tasks++;
    return queue;
  }

  /** The queue is removed when its last task has left. */
  #leave(key: string, queue: Queue): void {
    if (--queue.tasks === 0) this.#queues.delete(key);
  }
}

/** A group of readers that run at the same time. */
class Readers {
  #count = 0;
  #finish: (() => void) | undefined;

  enter(): void {
    this.#count++;
  }

  leave(): void {
    if (--this.#count === 0) this.#finish?.();
  }

  /** Resolves when all readers that came before have finished. */
  finished(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#finish = resolve;
    });
  }
}
