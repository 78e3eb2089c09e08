import type { MemoryLimit } from "../runtime/mod.ts";
import { type ChunkFormat, inTurn } from "./chunk_coder.ts";
import {
  type Job,
  type JobResult,
  JobRunner,
  requestOf,
} from "./chunk_jobs.ts";

/** The threads of a pool, while a task uses them. */
export interface Threads {
  /** The greatest number of threads; 0 for {@linkcode CALLING_THREAD}. */
  readonly count: number;
  /**
   * Runs jobs in a thread; in the calling thread where none can be started. Jobs that share
   * memory must be given together.
   *
   * @param bytes The length of the decoded chunks.
   * @param signal Ends the wait for a thread.
   * @throws {Error} If the thread ends before it has answered, or the pool was disposed.
   */
  run(
    format: ChunkFormat,
    jobs: readonly Job[],
    bytes: number,
    signal?: AbortSignal,
  ): Promise<readonly JobResult[]>;
}

/** What functions that are given a pool do with it, which is no part of its public members. */
export interface PoolAccess {
  readonly count: number;
  /** Runs a task that uses the threads. */
  use<T>(task: (threads: Threads) => Promise<T>): Promise<T>;
  /** Bounds the decoded bytes of chunks that `zarr.get` has given to the pool. */
  readonly memory: MemoryLimit;
}

/** The access to each pool. It is found here, so that bundles without a `ThreadPool` hold no code that starts threads. */
export const poolAccess: WeakMap<object, PoolAccess> = new WeakMap();

const runner = /* @__PURE__ */ new JobRunner();

/** Does jobs in the calling thread. */
export const CALLING_THREAD: Threads = {
  count: 0,
  run: (format, jobs) => inTurn(() => runner.run(requestOf(0, format, jobs))),
};
