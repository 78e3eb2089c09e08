import type { StoreOptions } from "./store.ts";

/**
 * Locks by key within this process. Writers of a key run one after another, and alone;
 * readers that came before a writer finish before it starts, and readers that come after it
 * wait for it.
 */
export class KeyLocks {
  /** The latest turn of each key that has tasks. */
  readonly #turns = new Map<string, Turn>();

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
   * @param options `signal` keeps the task from starting.
   */
  async write<T>(
    key: string,
    task: () => Promise<T>,
    { signal }: StoreOptions = {},
  ): Promise<T> {
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
      signal?.throwIfAborted();
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

  #removeIfDone(key: string, turn: Turn): void {
    const isDone = turn.readers === 0 && turn.write === undefined;
    if (isDone && this.#turns.get(key) === turn) this.#turns.delete(key);
  }
}

/** A writer, and the readers that come after it and before the next writer. */
interface Turn {
  readers: number;
  /** Ends with the writer; `undefined` if the turn has none, or its writer has finished. */
  write: Promise<void> | undefined;
  /** Lets the next writer start, which waits for the readers. */
  finish: (() => void) | undefined;
}
