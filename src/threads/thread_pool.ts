import {
  checkOptions,
  FUNCTION,
  type OptionRule,
  type OptionRules,
  wholeFrom,
} from "../errors/mod.ts";
import { MemoryLimit } from "../runtime/mod.ts";
import { processorCount, type WorkerLike } from "./start_worker.ts";
import { registerPool, type RunInPool } from "./thread_jobs.ts";
import { NoThreadsError, Threads } from "./threads.ts";

/**
 * Options of {@linkcode ThreadPool}.
 *
 * @example Codecs of one's own, or a page whose content security policy allows no `blob:` URL
 * ```ts
 * import type { ThreadPoolOptions } from "@zarr-parts/zarr-parts/zarrita";
 *
 * const options: ThreadPoolOptions = {
 *   threads: 4,
 *   createWorker: () =>
 *     new Worker(new URL("./chunk_worker.ts", import.meta.url), { type: "module" }),
 * };
 * ```
 */
export interface ThreadPoolOptions {
  /**
   * The greatest number of threads, from 0; with 0, the calling thread does all work.
   * Defaults to the number of processors.
   */
  readonly threads?: number | undefined;
  /**
   * Creates a worker of the web or of `node:worker_threads`, whose program calls
   * `runChunkWorker`. By default, workers run a program of this package.
   */
  readonly createWorker?: (() => WorkerLike) | undefined;
  /**
   * How many milliseconds a thread may take for one chunk, or for some small ones, before
   * it counts as dead; from 1. Defaults to 60,000.
   */
  readonly timeout?: number | undefined;
}

/** A rule for whole numbers; other numbers are out of range. */
function numbersFrom(least: number, most: number): OptionRule {
  return { ...wholeFrom(least, most), outOfRange: "numbers" };
}

const RULES: OptionRules<ThreadPoolOptions> = {
  threads: /* @__PURE__ */ numbersFrom(0, 1024),
  createWorker: FUNCTION,
  timeout: /* @__PURE__ */ numbersFrom(1, 2 ** 31 - 1),
};

/** The threads of pools, which are no part of their public members. A static block would keep the class in bundles that do not use it. */
const threadsOf = new WeakMap<ThreadPool, Threads>();

const TIMEOUT = 60_000;
/** How many milliseconds the threads of a pool are kept without work. */
const IDLE_TIME = 1000;
/** The most decoded bytes of jobs that `zarr.get` has given to a pool, unless all threads need more for some chunks each. */
const JOB_BYTES = 16 * 2 ** 20;
const JOBS_PER_THREAD = 4;

/**
 * Threads that decode and encode chunks for `getSharded`, `setSharded` and the stores of
 * `withZarrParts` that are given the pool. Without a pool, `getSharded` and `setSharded`
 * start threads for each call, which takes some 20 ms.
 *
 * Threads start when there is work for them, and end when there has been none for a second,
 * so that they keep no program running. Work that comes later starts them again.
 *
 * @example
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { getSharded, ThreadPool, withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
 * import { assertEquals } from "@std/assert";
 * import * as zarr from "zarrita";
 *
 * const store = new MemoryStore();
 * const metadata = arrayMetadata({ shape: [8], dataType: "uint8", chunkShape: [4], fillValue: 7 });
 * await createArrayChunks(store, "", metadata);
 * const array = await zarr.open(withZarrParts(store), { kind: "array" });
 *
 * using threads = new ThreadPool({ threads: 2 });
 * const { data } = await getSharded(zarr, array, [zarr.slice(2, 4)], { threads });
 * assertEquals(Array.from(data), [7, 7]);
 * ```
 */
export class ThreadPool implements Disposable {
  /** The greatest number of threads. */
  readonly size: number;
  readonly #threads: Threads;

  /**
   * Constructs a pool. It starts no thread yet.
   *
   * @throws {TypeError} If an option is unknown, or has a wrong type.
   * @throws {RangeError} If a number is out of range.
   *
   * @example
   * ```ts
   * import { ThreadPool } from "@zarr-parts/zarr-parts/zarrita";
   * import { assertEquals } from "@std/assert";
   *
   * using threads = new ThreadPool({ threads: 2 });
   * assertEquals(threads.size, 2);
   * ```
   */
  constructor(options: ThreadPoolOptions = {}) {
    checkOptions(options, RULES, "ThreadPool");
    const { threads, createWorker, timeout = TIMEOUT } = options;
    this.size = threads ?? processorCount();
    this.#threads = new Threads({
      count: this.size,
      createWorker,
      timeout,
      idleTime: IDLE_TIME,
    });
    threadsOf.set(this, this.#threads);
    registerPool(this, this.#runner());
  }

  /** Runs jobs whose memory is bounded, however many of them there are. */
  #runner(): RunInPool {
    const memory = new MemoryLimit(JOB_BYTES, JOBS_PER_THREAD * this.size);
    return async (format, job, bytes) => {
      if (this.size === 0) return undefined;
      const leave = await memory.enter(bytes);
      try {
        return await withThreads(this, async (threads) => {
          const [result] = await threads!.run(format, [job()], bytes);
          return result;
        });
      } catch (error) {
        if (error instanceof NoThreadsError) return undefined;
        throw error;
      } finally {
        leave();
      }
    };
  }

  /**
   * Ends all threads. Reads and writes that use the pool reject, now and later.
   *
   * @example
   * ```ts
   * import { ThreadPool } from "@zarr-parts/zarr-parts/zarrita";
   *
   * const threads = new ThreadPool();
   * threads[Symbol.dispose]();
   * ```
   */
  [Symbol.dispose](): void {
    this.#threads.close(new TypeError("The pool of threads has been disposed"));
  }
}

/** The rule of the option `threads`: a pool, or a number of threads. */
export const THREADS: OptionRule = {
  expected: "a ThreadPool, or a whole number of threads from 0",
  isValid: (value) =>
    value instanceof ThreadPool || RULES.threads.isValid(value),
  outOfRange: "numbers",
};

/** Threads of calls without a pool, by their number. They end with the last of these calls. */
const shared = new Map<number, Threads>();

/**
 * Runs a task with the threads of a pool, or with some that end with the task.
 *
 * @param threads The option `threads`.
 * @returns What the task returns. The task gets `undefined` for 0 threads.
 */
export async function withThreads<T>(
  threads: ThreadPool | number | undefined,
  task: (threads: Threads | undefined) => Promise<T>,
): Promise<T> {
  const count = threads instanceof ThreadPool
    ? threads.size
    : threads ?? processorCount();
  if (count === 0) return await task(undefined);
  if (threads instanceof ThreadPool) {
    const used = threadsOf.get(threads)!;
    return await used.use(() => task(used));
  }
  const isUsable = shared.get(count)?.isClosed === false;
  if (!isUsable) { // A start that has failed may succeed later.
    const options = { count, timeout: TIMEOUT, idleTime: 0 };
    shared.set(count, new Threads(options));
  }
  const used = shared.get(count)!;
  return await used.use(() => task(used));
}
