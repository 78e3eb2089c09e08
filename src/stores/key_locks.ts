import type { Store } from "./store.ts";

/** Who uses a key, and who waits for it. */
interface Queue {
  /** Done when the last writer is, of those that came so far. */
  write: Promise<void> | undefined;
  /** The readers that came after that writer. */
  readers: Readers;
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
  async read<T>(key: string, task: () => Promise<T>): Promise<T> {
    const queue = this.#enter(key);
    const { readers, write } = queue;
    readers.enter();
    try {
      if (write !== undefined) await write;
      return await task();
    } finally {
      readers.leave();
      this.#leave(key, queue);
    }
  }

  /** Runs a task that writes, once nobody is before it. */
  async write<T>(key: string, task: () => Promise<T>): Promise<T> {
    const queue = this.#enter(key);
    const before = [queue.write, queue.readers.gone()];
    let done!: () => void;
    queue.write = new Promise((resolve) => {
      done = resolve;
    });
    queue.readers = new Readers();
    try {
      await Promise.all(before);
      return await task();
    } finally {
      done();
      this.#leave(key, queue);
    }
  }

  #enter(key: string): Queue {
    let queue = this.#queues.get(key);
    if (queue === undefined) {
      queue = { write: undefined, readers: new Readers(), users: 0 };
      this.#queues.set(key, queue);
    }
    queue.users++;
    return queue;
  }

  /** The last to leave takes the queue away. */
  #leave(key: string, queue: Queue): void {
    if (--queue.users === 0) this.#queues.delete(key);
  }
}

/** Readers side by side. */
class Readers {
  #count = 0;
  #allGone: (() => void) | undefined;

  enter(): void {
    this.#count++;
  }

  leave(): void {
    if (--this.#count === 0) this.#allGone?.();
  }

  /** Done when all readers are, of which no more come. */
  gone(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#allGone = resolve;
    });
  }
}
