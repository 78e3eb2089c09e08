import { describe } from "../errors/mod.ts";
import { loadOnce } from "../runtime/mod.ts";
import type { ChunkFormat } from "./chunk_coder.ts";
import type { ChunkElements } from "./copy_elements.ts";
import {
  type Answer,
  type Job,
  type JobResult,
  memoryOfJobs,
} from "./thread_jobs.ts";
import {
  listenTo,
  type StartedWorker,
  startWorker,
  type WorkerLike,
  zarritaModules,
} from "./start_worker.ts";

/** The number of requests that a thread has at the same time, so that it does not wait while the calling thread assembles a shard. */
const MOST_REQUESTS = 4;
/** Chunks of fewer decoded bytes are sent together, since a message takes about as long as the decoding of some 100 KiB. */
const REQUEST_BYTES = 256 * 1024;

/** Memory of fewer bytes is not used again. */
const LEAST_SPARE = 64 * 1024;
/** The most bytes of memory that is kept to be used again. */
const MOST_SPARE = 32 * 2 ** 20;

/** How often a pool looks for answers of a thread until the thread counts as dead. */
const LOOKS = 4;

/** The results of a request. */
type Results = Exclude<Answer, { started: true }>;

/** Thrown where threads cannot be started. The calling thread can do the work. */
export class NoThreadsError extends Error {}

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
  readonly worker: StartedWorker;
  /** The calls of each request that has no answer yet. */
  readonly requests: Map<number, readonly Call[]>;
  /** The formats that the worker knows. */
  readonly formats: Set<number>;
  hasStarted: boolean;
  /** How often the pool has looked for an answer since the latest one, or since the thread was given work. */
  silence: number;
}

/** How {@linkcode Threads} are started and ended. */
export interface ThreadsOptions {
  readonly count: number;
  readonly createWorker?: (() => WorkerLike) | undefined;
  /** How many milliseconds a thread may take for a request. */
  readonly timeout: number;
  /** How many milliseconds threads without users are kept. */
  readonly idleTime: number;
}

const loadProgram = /* @__PURE__ */ loadOnce(async () =>
  (await import("./worker_program.ts")).WORKER_PROGRAM
);

/** Threads that start when there is work for them, and end some time after their last user has left. */
export class Threads {
  /** The greatest number of threads. */
  readonly count: number;
  readonly #options: ThreadsOptions;
  #program: string | undefined;
  readonly #threads = new Set<Thread>();
  readonly #waiting = new Set<Call>();
  /** The numbers of formats, by their texts, since arrays are opened again and again. */
  readonly #numbers = new Map<string, number>();
  readonly #formats = new WeakMap<ChunkFormat, number>();
  /** Memory of bytes that threads have decoded, or of elements that they have encoded. Fresh memory costs about as much time as the reading of a file. */
  readonly #spare: ArrayBuffer[] = [];
  #spareBytes = 0;
  #requests = 0;
  #users = 0;
  /** Why no thread works any more. */
  #failure: Error | undefined;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #watchTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ThreadsOptions) {
    this.count = options.count;
    this.#options = options;
  }

  /** Whether all threads have ended for good. */
  get isClosed(): boolean {
    return this.#failure !== undefined;
  }

  /** Runs a task that uses the threads. */
  async use<T>(task: () => Promise<T>): Promise<T> {
    this.#users++;
    clearTimeout(this.#idleTimer);
    try {
      if (this.#options.createWorker === undefined) {
        this.#program ??= await loadProgram();
      }
      return await task();
    } finally {
      if (--this.#users === 0) this.#leave();
    }
  }

  /**
   * Runs jobs in a thread. Jobs that share memory must be given together.
   *
   * @param bytes The length of the decoded chunks.
   * @throws {NoThreadsError} If no thread can be started.
   * @throws {Error} If the thread ends before it has answered.
   */
  run(
    format: ChunkFormat,
    jobs: readonly Job[],
    bytes: number,
    signal?: AbortSignal,
  ): Promise<readonly JobResult[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.add({ format, jobs, bytes, signal, resolve, reject });
      this.#give();
    });
  }

  /** Returns memory for the bytes or the elements of jobs, whose contents are arbitrary. It is used again after {@linkcode run}. */
  allocate(length: number): Uint8Array {
    if (length < LEAST_SPARE) return new Uint8Array(length);
    // Only powers of 2, so that memory fits again.
    const capacity = 2 ** Math.ceil(Math.log2(length));
    const place = this.#spare.findIndex(({ byteLength }) =>
      byteLength === capacity
    );
    if (place < 0) return new Uint8Array(new ArrayBuffer(capacity), 0, length);
    const [memory] = this.#spare.splice(place, 1);
    this.#spareBytes -= capacity;
    return new Uint8Array(memory!, 0, length);
  }

  /** Takes memory back that {@linkcode allocate} has given, and that is in use no more. Returns whether it is used again. */
  release({ buffer }: Uint8Array): boolean {
    return buffer instanceof ArrayBuffer && this.#keep(buffer);
  }

  /** Ends all threads. Jobs that have not ended, and later ones, reject with an error. */
  close(error: Error): void {
    this.#failure = error;
    this.#end(error);
  }

  /** Ends all threads. Jobs that have not ended reject; later ones start threads again. */
  #end(error: Error): void {
    clearTimeout(this.#idleTimer);
    clearTimeout(this.#watchTimer);
    this.#watchTimer = undefined;
    const calls = [...this.#waiting];
    this.#waiting.clear();
    for (const { worker, requests } of this.#threads) {
      calls.push(...[...requests.values()].flat());
      worker.end();
    }
    this.#threads.clear();
    this.#spare.length = 0;
    this.#spareBytes = 0;
    for (const { reject } of calls) reject(error);
  }

  #leave(): void {
    if (this.#failure !== undefined) return; // All threads have ended.
    const { idleTime } = this.#options;
    const end = () => this.#end(new Error("The threads have no users"));
    if (idleTime === 0) return end();
    this.#idleTimer = setTimeout(end, idleTime);
    (this.#idleTimer as { unref?(): void }).unref?.(); // Timers of Node have it.
  }

  /** Gives waiting calls to threads. */
  #give(): void {
    while (this.#waiting.size > 0) {
      if (this.#failure !== undefined) return this.#end(this.#failure);
      const thread = this.#nextThread();
      if (thread === undefined) return;
      const calls = this.#takeCalls();
      if (calls.length > 0) this.#post(thread, calls);
    }
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
    if (isBusy && this.#threads.size < this.#options.count) {
      return this.#start();
    }
    return next!.requests.size < MOST_REQUESTS ? next : undefined;
  }

  #start(): Thread | undefined {
    const { createWorker } = this.#options;
    try {
      const worker = createWorker === undefined
        ? startWorker(this.#program!)
        : createWorker();
      const thread: Thread = {
        worker: listenTo(worker, {
          onAnswer: (answer) => this.#receive(thread, answer),
          onEnd: (reason) => this.#fail(thread, reason),
        }),
        requests: new Map(),
        formats: new Set(),
        hasStarted: false,
        silence: 0,
      };
      this.#threads.add(thread);
      return thread;
    } catch (cause) {
      const error = this.#startFailure(cause);
      if (error instanceof NoThreadsError) this.close(error);
      else this.#end(error);
    }
  }

  #startFailure(cause: unknown): Error {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return this.#options.createWorker === undefined
      ? new NoThreadsError(`No threads can be started: ${reason}`, { cause })
      : new Error(
        `The worker of createWorker cannot be started: ${reason}; its program must call runChunkWorker`,
        { cause },
      );
  }

  #post(thread: Thread, calls: readonly Call[]): void {
    const { format } = calls[0]!;
    const id = this.#numberOf(format);
    const request = {
      call: this.#requests++,
      format: id,
      newFormat: thread.formats.has(id) ? undefined : format,
      jobs: calls.flatMap(({ jobs }) => jobs),
      zarrita: thread.formats.has(id) ? [] : zarritaModules(),
    };
    try {
      thread.worker.post(request, memoryOfJobs(request.jobs));
    } catch (error) {
      for (const { reject } of calls) reject(error);
      return;
    }
    thread.formats.add(id);
    if (thread.requests.size === 0) {
      thread.silence = 0;
      thread.worker.keepRunning(true);
    }
    thread.requests.set(request.call, calls);
    this.#watch();
  }

  #numberOf(format: ChunkFormat): number {
    const known = this.#formats.get(format);
    if (known !== undefined) return known;
    // JSON has no infinities, NaN or -0.
    const text = JSON.stringify(
      format,
      (_, value) =>
        typeof value === "number"
          ? Object.is(value, -0) ? "#-0" : `#${value}`
          : value,
    );
    const number = this.#numbers.get(text) ?? this.#numbers.size;
    this.#numbers.set(text, number);
    this.#formats.set(format, number);
    return number;
  }

  #receive(thread: Thread, answer: Answer): void {
    // The program of a worker may post messages of its own.
    if (typeof answer !== "object" || answer === null) return;
    if ("started" in answer) thread.hasStarted = true;
    const { call, results, spare = [] } = answer as Partial<Results>;
    const calls = thread.requests.get(call!);
    if (calls === undefined) return;
    if (!isResultOf(calls, results)) {
      const found = describe(results);
      return this.#fail(thread, new TypeError(`It has answered ${found}`));
    }
    thread.hasStarted = true;
    thread.silence = 0;
    thread.requests.delete(call!);
    if (thread.requests.size === 0) thread.worker.keepRunning(false);
    for (const memory of spare) this.#keep(memory);
    this.#give(); // First, so that the thread goes on meanwhile.
    let first = 0;
    for (const { jobs, resolve } of calls) {
      resolve(results.slice(first, first += jobs.length));
    }
    this.#endWatch();
  }

  /** Keeps memory that {@linkcode allocate} gave. Returns whether that is so. */
  #keep(memory: ArrayBuffer): boolean {
    const { byteLength } = memory;
    const isGiven = byteLength >= LEAST_SPARE &&
      Number.isInteger(Math.log2(byteLength));
    if (!isGiven || this.#spareBytes + byteLength > MOST_SPARE) return false;
    this.#spare.push(memory);
    this.#spareBytes += byteLength;
    return true;
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
    const { timeout } = this.#options;
    this.#watchTimer ??= setTimeout(() => {
      this.#watchTimer = undefined;
      for (const thread of this.#threads) {
        if (thread.requests.size === 0 || ++thread.silence <= LOOKS) continue;
        this.#fail(
          thread,
          new Error(`There was no answer for ${describe(timeout)} ms`),
        );
      }
      if (!this.#isIdle()) this.#watch();
    }, timeout / LOOKS);
  }

  /** Gives up a thread that has failed or ended. */
  #fail(thread: Thread, cause: Error): void {
    if (!this.#threads.delete(thread)) return;
    thread.worker.end();
    const error = thread.hasStarted
      ? new Error(
        `A thread that decodes and encodes chunks has ended: ${cause.message}`,
        { cause },
      )
      : this.#startFailure(cause);
    for (const { reject } of [...thread.requests.values()].flat()) {
      reject(error);
    }
    // A worker of `createWorker` may start another time.
    const isFinal = error instanceof NoThreadsError;
    if (isFinal) this.close(error);
    this.#give();
    this.#endWatch();
  }
}

/** Whether a value is the results of all jobs of calls. */
function isResultOf(
  calls: readonly Call[],
  results: unknown,
): results is JobResult[] {
  const jobs = calls.flatMap(({ jobs }) => jobs);
  const { shape, elementSize } = calls[0]!.format;
  const length = shape.reduce((product, n) => product * n, elementSize);
  return Array.isArray(results) && results.length === jobs.length &&
    results.every((result: Partial<ChunkElements & { failed: string }>, i) => {
      const job = jobs[i]!;
      if (typeof result?.failed === "string") return true;
      if (job.kind === "encode" || job.kind === "recode") {
        const isLeftOut = job.leaveOut !== undefined &&
          result as unknown === true;
        return isLeftOut || result instanceof Uint8Array;
      }
      if (job.kind === "check" || job.block !== undefined) {
        return result as unknown === true;
      }
      return result?.bytes instanceof Uint8Array &&
        result.bytes.length === length &&
        result.strides?.length === shape.length;
    });
}
