/**
 * Settles as a promise does, or rejects earlier, once the signal aborts or
 * `failure` rejects. The work behind the promise goes on.
 */
export function rejectOnAbort<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  failure?: Promise<never>,
): Promise<T> {
  return signal === undefined && failure === undefined
    ? work
    : raceWithAbort(work, signal, failure);
}

async function raceWithAbort<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  failure: Promise<never> | undefined,
): Promise<T> {
  let stop!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal!.reason);
  });
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop(); // Starting the work may have aborted the signal.
  try {
    return await Promise.race([work, aborted, ...failure ? [failure] : []]);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

/** Waits. Rejects with the reason of the signal as soon as it aborts. */
export function pause(
  milliseconds: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, milliseconds);
    function stop() {
      clearTimeout(timer);
      reject(signal!.reason);
    }
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/**
 * Runs a task for each item, some of them at the same time, and returns their results
 * in the order of the items. After a failure no further task is started, and the first
 * error is thrown once all running tasks have ended.
 *
 * @param most How many tasks run at the same time, from 1.
 */
export async function forEachAtOnce<T, R>(
  items: readonly T[],
  most: number,
  task: (item: T, place: number) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  let failure: { error: unknown } | undefined;
  const work = async () => {
    while (next < items.length && failure === undefined) {
      const place = next++;
      try {
        results[place] = await task(items[place]!, place);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(
    Array.from({ length: Math.min(most, items.length) }, work),
  );
  if (failure !== undefined) throw (failure as { error: unknown }).error;
  return results;
}

/**
 * Returns a function that loads a module when it is first called. Further calls
 * return the same promise, which is faster than `import()` each time; after a failed
 * load, the next call tries again.
 */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () =>
    loaded ??= load().catch((error) => {
      loaded = undefined;
      throw error;
    });
}

/**
 * Runs a task on each item, a number of them at once. The first failure aborts the
 * signal of all tasks, and is thrown once all of them have ended.
 *
 * @param signal Ends the work with its reason.
 */
export async function runConcurrently<T>(
  items: Iterable<T> | AsyncIterable<T>,
  concurrency: number,
  task: (item: T, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const failing = new AbortController();
  const either = signal === undefined
    ? failing.signal
    : AbortSignal.any([signal, failing.signal]);
  const iterator = iterate(items);
  const work = async () => {
    try {
      while (true) {
        either.throwIfAborted();
        const { done, value } = await iterator.next();
        if (done) return;
        await task(value, either);
      }
    } catch (error) {
      if (!failing.signal.aborted) failing.abort(error);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  await iterator.return(undefined);
  signal?.throwIfAborted();
  failing.signal.throwIfAborted();
}

/** An iterator that may be asked for the next item before it has given the last one. */
async function* iterate<T>(
  items: Iterable<T> | AsyncIterable<T>,
): AsyncGenerator<T, undefined> {
  yield* items;
  return undefined;
}

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
