/**
 * Settles as `work` does, or rejects earlier if the signal aborts or `failure` rejects. This
 * does not stop the work.
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
  const leave = onAbort(signal, stop);
  if (signal?.aborted) stop(); // Starting the work may have aborted the signal.
  try {
    return await Promise.race([work, aborted, ...failure ? [failure] : []]);
  } finally {
    leave();
  }
}

/** The functions to call when a signal aborts. */
const stopsOf = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls a function when a signal aborts. All functions of a signal share one listener, since
 * Node 20 warns of more than ten.
 *
 * @returns A function that ends this.
 */
function onAbort(
  signal: AbortSignal | undefined,
  stop: () => void,
): () => void {
  if (signal === undefined) return () => {};
  const stops = stopsOf.get(signal) ?? new Set();
  if (stops.size === 0) {
    stopsOf.set(signal, stops);
    signal.addEventListener("abort", stopAll);
  }
  stops.add(stop);
  return () => {
    if (stops.delete(stop) && stops.size === 0) {
      signal.removeEventListener("abort", stopAll);
    }
  };
}

function stopAll(this: AbortSignal): void {
  for (const stop of stopsOf.get(this)!) stop();
}

/** Waits for some milliseconds, or rejects with the reason of the signal as soon as it aborts. */
export function pause(
  milliseconds: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(() => {
      leave();
      resolve();
    }, milliseconds);
    const leave = onAbort(signal, () => {
      clearTimeout(timer);
      leave();
      reject(signal!.reason);
    });
  });
}

/** Waits for the next turn of the event loop, so that operations that were started begin, and other work goes on. */
export function nextTurn(): Promise<void> {
  const { setImmediate } = globalThis as {
    setImmediate?: (task: () => void) => void;
  };
  return new Promise((resolve) => (setImmediate ?? setTimeout)(resolve));
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
 * Runs a task for each item, a limited number of them at the same time. The next item
 * is taken when a task ends. The first failure aborts the signal of the other tasks, and
 * is thrown once all of them have ended.
 *
 * @param concurrency The greatest number of tasks at the same time, from 1.
 * @param signal Ends the work with its reason.
 */
export async function runConcurrently<T>(
  items: Iterable<T> | AsyncIterable<T>,
  concurrency: number,
  task: (item: T, signal: AbortSignal) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const failing = new AbortController();
  const either = signal === undefined
    ? failing.signal
    : AbortSignal.any([signal, failing.signal]);
  const iterator = Symbol.iterator in items
    ? items[Symbol.iterator]()
    : iterate(items);
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
  await iterator.return?.(undefined);
  signal?.throwIfAborted();
  failing.signal.throwIfAborted();
}

/** Bounds the memory of tasks that run at the same time. Tasks start in the order in which they came. */
export class MemoryLimit {
  #free: number;
  readonly #fewTasks: number;
  #tasks = 0;
  readonly #waiting: { readonly bytes: number; start(): void }[] = [];

  /**
   * @param bytes The most bytes of all tasks.
   * @param fewTasks The number of tasks that may run at the same time, whatever they need.
   */
  constructor(bytes: number, fewTasks: number) {
    this.#free = bytes;
    this.#fewTasks = fewTasks;
  }

  /**
   * Waits until there is memory for a task.
   *
   * @returns A function to call at the end of the task.
   */
  async enter(bytes: number): Promise<() => void> {
    if (this.#waiting.length > 0 || !this.#hasRoom(bytes)) {
      await new Promise<void>((start) => this.#waiting.push({ bytes, start }));
    } else this.#begin(bytes);
    return () => this.#leave(bytes);
  }

  #hasRoom(bytes: number): boolean {
    return this.#tasks < this.#fewTasks || bytes <= this.#free;
  }

  #begin(bytes: number): void {
    this.#free -= bytes;
    this.#tasks++;
  }

  #leave(bytes: number): void {
    this.#free += bytes;
    this.#tasks--;
    while (this.#waiting.length > 0 && this.#hasRoom(this.#waiting[0]!.bytes)) {
      const { bytes, start } = this.#waiting.shift()!;
      this.#begin(bytes);
      start();
    }
  }
}

/** Returns an iterator whose `next` may be called while an earlier call is pending. */
async function* iterate<T>(
  items: AsyncIterable<T>,
): AsyncGenerator<T, undefined> {
  yield* items;
  return undefined;
}

/** Does the same as {@linkcode runConcurrently}, and returns the results of the tasks in the order of the items. */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  concurrency: number,
  task: (item: T, signal: AbortSignal) => Promise<R>,
  signal?: AbortSignal,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  await runConcurrently(items.entries(), concurrency, async ([i, item], s) => {
    results[i] = await task(item, s);
  }, signal);
  return results;
}
