import type { Store } from "./store.ts";

/** The readers of one key between two writers. */
interface Turn {
  /** The number of readers that run or wait. */
  readers: number;
  /** Resolves when the writer before has finished; `undefined` if there is none. */
  write: Promise<void> | undefined;
  /** Tells the writer after that the last reader has finished. */
  finish: (() => void) | undefined;
}

/**
 * Read-write locks by key, in the order of the calls: readers of a key run at the
 * same time, writers one after another, so that no reader sees the parts of two
 * writes.
 */
export class KeyLocks {
  /** The latest turn of each key that has tasks. */
  readonly #turns = new Map<string, Turn>();
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

  /** Runs a task that writes, after all earlier readers and writers. */
  async write<T>(key: string, task: () => Promise<T>): Promise<T> {
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
      return await task();
    } finally {
      turn.write = undefined;
      finish();
      this.#removeIfDone(key, turn);
    }
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
