import {
  checkOptions,
  FUNCTION,
  type OptionRule,
  type OptionRules,
  sentence,
  wholeFrom,
} from "../errors/mod.ts";
import { copyBytes, MemoryLimit } from "../runtime/mod.ts";
import { ChunkCoder, type ChunkFormat, ownCodecs } from "./chunk_coder.ts";
import {
  type Answer,
  type DecodeJob,
  isCheapToDecode,
  isInThreads,
  type Job,
  type JobResult,
  memoryOfJobs,
  MESSAGES,
  poolAccess,
  type Threads,
} from "./chunk_jobs.ts";
import {
  type AnyWorker,
  listenTo,
  loadProgram,
  processorCount,
  startHere,
  startWorker,
  type WorkerLike,
} from "./worker.ts";

/**
 * Options of {@linkcode ThreadPool}.
 *
 * @example A page whose content security policy allows no `blob:` URL
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

/** How many milliseconds the threads of a pool are kept without work. */
const IDLE_TIME = 1000;
/** The most decoded bytes of chunks that `zarr.get` has given to a pool, unless all threads need more for some chunks each. */
const GET_BYTES = 16 * 2 ** 20;
const CHUNKS_PER_THREAD = 4;
/** The number of requests that a thread has at the same time, so that it does not wait while the calling thread assembles a shard. */
const MOST_REQUESTS = 4;
/** Chunks of fewer decoded bytes are sent together, since a message takes about as long as the decoding of some 100 KiB. */
const REQUEST_BYTES = 256 * 1024;
/** How often a pool looks for answers of a thread until the thread counts as dead. */
const LOOKS = 4;

/** Chunks of fewer decoded bytes are decoded in the time that it takes to send them to a thread. */
export const LEAST_TO_SEND = 32 * 1024;

/** Jobs that wait for a thread, or for their results. */
interface Call {
  readonly format: ChunkFormat;
  readonly jobs: readonly Job[];
  /** The length of the decoded chunks. */
  readonly bytes: number;
  readonly signal: AbortSignal | undefined;
  resolve(results: readonly JobResult[]): void;
  reject(error: unknown): void;
}

/** A running worker. */
interface Thread {
  readonly worker: AnyWorker;
  /** The calls of each request that has no answer yet. */
  readonly requests: Map<number, readonly Call[]>;
  hasStarted: boolean;
  /** How often the pool has looked for an answer since the latest one, or since the thread was given work. */
  silence: number;
}

/**
 * Threads that decode and encode chunks for `getSharded`, `setSharded` and the stores of
 * `withZarrParts` that are given the pool. Without a pool, `getSharded` and `setSharded`
 * start threads for each call, which takes some 20 ms.
 *
 * Threads start when there is work for them, and end when there has been none for a second,
 * so that they keep no program running. Work that comes later starts them again. Where none
 * can be started, the calling thread does the work.
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
  readonly #timeout: number;
  readonly #createWorker: (() => WorkerLike) | undefined;
  /** The program of workers that this package starts. */
  #program: string | undefined;
  /** Whether the calling thread does the work, since no worker can be started. */
  #isHere = false;
  readonly #threads = new Set<Thread>();
  readonly #waiting = new Set<Call>();
  #requests = 0;
  #users = 0;
  #isDisposed = false;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #watchTimer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Constructs a pool. It starts no thread yet.
   *
   * @param options `threads`, `createWorker` and `timeout`, or the number of threads alone.
   * @throws {TypeError} If an option is unknown, or has a wrong type.
   * @throws {RangeError} If a number is out of range.
   */
  constructor(options: ThreadPoolOptions | number = {}) {
    const all = typeof options === "number" ? { threads: options } : options;
    checkOptions(all, RULES, "ThreadPool");
    const { threads, createWorker, timeout = 60_000 } = all;
    this.size = threads ?? processorCount();
    this.#createWorker = createWorker;
    this.#timeout = timeout;
    const used: Threads = {
      count: this.size,
      run: (format, jobs, bytes, signal) =>
        new Promise((resolve, reject) => {
          this.#waiting.add({ format, jobs, bytes, signal, resolve, reject });
          this.#give();
        }),
    };
    const memory = new MemoryLimit(GET_BYTES, CHUNKS_PER_THREAD * this.size);
    poolAccess.set(this, {
      count: this.size,
      use: (task) => this.#use(() => task(used)),
      takes,
      decode: async (format, { bytes, rows }) => {
        const length = decodedBytes(format);
        const leave = await memory.enter(length);
        try {
          // A copy, since a layer may keep the bytes.
          const job: DecodeJob = {
            kind: "decode",
            bytes: copyBytes(bytes),
            rows,
          };
          const [result] = await this.#use(() =>
            used.run(format, [job], length)
          );
          return typeof result === "object" && "strides" in result
            ? result
            : undefined;
        } finally {
          leave();
        }
      },
    });
  }

  /** Ends all threads. Reads and writes that use the pool reject, now and later. */
  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#end();
  }

  async #use<T>(task: () => Promise<T>): Promise<T> {
    this.#users++;
    clearTimeout(this.#idleTimer);
    try {
      if (this.#createWorker === undefined) {
        this.#program ??= await loadProgram();
      }
      return await task();
    } finally {
      if (--this.#users === 0 && !this.#isDisposed) {
        this.#idleTimer = setTimeout(() => this.#end(), IDLE_TIME);
        (this.#idleTimer as { unref?(): void }).unref?.(); // Timers of Node have it.
      }
    }
  }

  /** Ends all threads, and rejects what they have not done. */
  #end(error = new TypeError("The pool of threads has been disposed")): void {
    clearTimeout(this.#idleTimer);
    clearTimeout(this.#watchTimer);
    this.#watchTimer = undefined;
    const calls = [...this.#waiting];
    this.#waiting.clear();
    for (const { worker, requests } of this.#threads) {
      calls.push(...[...requests.values()].flat());
      worker.terminate();
    }
    this.#threads.clear();
    for (const { reject } of calls) reject(error);
  }

  /** Gives waiting calls to threads. */
  #give(): void {
    while (this.#waiting.size > 0) {
      if (this.#isDisposed) return this.#end();
      const thread = this.#nextThread();
      if (thread === undefined) break;
      const calls = this.#takeCalls();
      if (calls.length > 0) this.#post(thread, calls);
    }
    // Last, since Deno takes 11 ms to load its timers.
    if (!this.#isIdle()) this.#watch();
  }

  /** Takes waiting calls for one request: chunks of one format. */
  #takeCalls(): Call[] {
    const calls: Call[] = [];
    let bytes = 0;
    for (const call of this.#waiting) {
      if (call.signal?.aborted) {
        this.#waiting.delete(call);
        call.reject(call.signal.reason);
        continue;
      }
      if (calls.length > 0 && call.format !== calls[0]!.format) break;
      this.#waiting.delete(call);
      calls.push(call);
      bytes += call.bytes;
      if (bytes >= REQUEST_BYTES) break;
    }
    return calls;
  }

  /** Returns the thread with the fewest requests, a new one if all have some; `undefined` if all are busy. */
  #nextThread(): Thread | undefined {
    let next: Thread | undefined;
    for (const thread of this.#threads) {
      const isLess = next === undefined ||
        thread.requests.size < next.requests.size;
      if (isLess) next = thread;
    }
    const isBusy = next === undefined || next.requests.size > 0;
    const most = this.#isHere ? 1 : this.size;
    if (isBusy && this.#threads.size < most) return this.#start();
    return next!.requests.size < MOST_REQUESTS ? next : undefined;
  }

  #start(): Thread | undefined {
    try {
      const worker = this.#startWorker();
      const thread: Thread = {
        worker,
        requests: new Map(),
        hasStarted: false,
        silence: 0,
      };
      listenTo(worker, {
        onAnswer: (answer) => this.#receive(thread, answer),
        onEnd: (reason) => this.#fail(thread, reason),
      });
      this.#threads.add(thread);
      return thread;
    } catch (cause) {
      this.#end(startError(cause));
    }
  }

  #startWorker(): WorkerLike {
    if (this.#createWorker !== undefined) return this.#createWorker();
    if (!this.#isHere) {
      try {
        return startWorker(this.#program!);
      } catch {
        this.#isHere = true; // A policy or the runtime allows no workers.
      }
    }
    return startHere();
  }

  #post(thread: Thread, calls: readonly Call[]): void {
    const { format } = calls[0]!;
    const call = this.#requests++;
    const jobs = calls.flatMap(({ jobs }) => jobs);
    try {
      thread.worker.postMessage({ call, format, jobs }, memoryOfJobs(jobs));
    } catch (error) {
      for (const { reject } of calls) reject(error);
      return;
    }
    if (thread.requests.size === 0) {
      thread.silence = 0;
      thread.worker.ref?.();
    }
    thread.requests.set(call, calls);
  }

  #receive(thread: Thread, answer: Answer): void {
    // The program of a worker may post messages of its own.
    if (typeof answer !== "object" || answer === null) return;
    if ("started" in answer) {
      thread.hasStarted = answer.started === MESSAGES;
      if (thread.hasStarted) return;
      const reason = "it is the program of another release";
      return this.#fail(thread, new TypeError(reason));
    }
    const calls = thread.requests.get(answer.call);
    if (calls === undefined || !thread.hasStarted) return;
    thread.silence = 0;
    thread.requests.delete(answer.call);
    if (thread.requests.size === 0) thread.worker.unref?.();
    this.#give(); // First, so that the thread goes on meanwhile.
    let first = 0;
    for (const { jobs, resolve } of calls) {
      resolve(answer.results.slice(first, first += jobs.length));
    }
    this.#endWatch();
  }

  /** Ends the watch if no thread has work. */
  #endWatch(): void {
    if (!this.#isIdle()) return;
    clearTimeout(this.#watchTimer);
    this.#watchTimer = undefined;
  }

  #isIdle(): boolean {
    return [...this.#threads].every(({ requests }) => requests.size === 0);
  }

  /**
   * Ends threads that have not answered for too long: a worker that ends itself does not
   * tell in all runtimes. Looks several times, since this thread may itself have been
   * stopped or busy for a time, and then has not received the answers.
   */
  #watch(): void {
    this.#watchTimer ??= setTimeout(() => {
      this.#watchTimer = undefined;
      for (const thread of this.#threads) {
        if (thread.requests.size === 0 || ++thread.silence <= LOOKS) continue;
        const reason = sentence`There was no answer for ${this.#timeout} ms`;
        this.#fail(thread, new Error(reason));
      }
      if (!this.#isIdle()) this.#watch();
    }, this.#timeout / LOOKS);
  }

  /** Gives up a thread that has failed or ended. */
  #fail(thread: Thread, cause: Error): void {
    if (!this.#threads.delete(thread)) return;
    thread.worker.terminate();
    const calls = [...thread.requests.values()].flat();
    if (!thread.hasStarted && this.#createWorker === undefined) {
      this.#isHere = true; // A policy or the runtime allows no workers.
      const failed = String(cause);
      for (const { jobs, resolve } of calls) {
        resolve(jobs.map(() => ({ failed })));
      }
    } else {
      const error = thread.hasStarted
        ? new Error(
          `A thread that decodes and encodes chunks has ended: ${cause.message}`,
          { cause },
        )
        : startError(cause);
      for (const { reject } of calls) reject(error);
    }
    this.#give();
    this.#endWatch();
  }
}

function decodedBytes({ shape, elementSize }: ChunkFormat): number {
  return shape.reduce((product, n) => product * n, elementSize);
}

async function takes(format: ChunkFormat): Promise<boolean> {
  const isWorth = decodedBytes(format) >= LEAST_TO_SEND &&
    !isCheapToDecode(format.codecs);
  if (!isWorth || !format.codecs.every(isInThreads)) return false;
  try {
    const codecs = await ownCodecs(format);
    return codecs !== undefined && !!ChunkCoder.create(format, codecs);
  } catch {
    return false; // The codecs of the calling thread say what is wrong.
  }
}

/** The error for a worker of `createWorker` that does not start. It may start another time. */
function startError(cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new Error(
    `The worker of createWorker cannot be started: ${reason}; its program must call runChunkWorker`,
    { cause },
  );
}

/** The rule of the option `threads`: a pool, or a number of threads. */
export const THREADS: OptionRule = {
  expected: "a ThreadPool, or a whole number of threads from 0",
  isValid: (value) =>
    value instanceof ThreadPool || RULES.threads.isValid(value),
  outOfRange: "numbers",
};

/** Pools of calls without a pool, by their numbers of threads. They end with the last of these calls. */
const shared = new Map<number, { readonly pool: ThreadPool; users: number }>();

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
    return await poolAccess.get(threads)!.use(task);
  }
  const used = shared.get(count) ??
    { pool: new ThreadPool({ threads: count }), users: 0 };
  shared.set(count, used);
  used.users++;
  try {
    return await poolAccess.get(used.pool)!.use(task);
  } finally {
    if (--used.users === 0) {
      shared.delete(count);
      used.pool[Symbol.dispose]();
    }
  }
}
