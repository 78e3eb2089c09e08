/** A queue as zarrita takes it for its `set`. */
export interface TaskQueue {
  /** Adds a task, which runs now or later. */
  add(task: () => Promise<void>): void;
  /** Resolves when all tasks have finished, or rejects when one fails. */
  onIdle(): Promise<void[]>;
}

/** Runs the tasks of several queues, a limited number at the same time, in the order in which they were added. */
export class LimitedTasks {
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;
  #isClosed = false;

  /** @param most The greatest number of tasks at the same time. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Makes a queue. */
  queue(): TaskQueue {
    const tasks: Promise<void>[] = [];
    return {
      add: (task) => {
        tasks.push(this.#run(task));
      },
      onIdle: () => Promise.all(tasks),
    };
  }

  /** Starts no more tasks: those that wait are rejected. */
  close(): void {
    this.#isClosed = true;
  }

  async #run(task: () => Promise<void>): Promise<void> {
    if (this.#running < this.#most) this.#running++;
    else await new Promise<void>((resolve) => this.#waiting.add(resolve));
    try {
      if (this.#isClosed) throw new Error("Another task has failed");
      await task();
    } finally {
      const [next] = this.#waiting;
      if (next === undefined) this.#running--;
      else {
        this.#waiting.delete(next);
        next();
      }
    }
  }
}
