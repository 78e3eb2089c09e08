import {
  type Answer,
  type JobResult,
  MESSAGES,
  type Request,
} from "../../src/threads/chunk_jobs.ts";
import { startWorker, type WorkerLike } from "../../src/threads/worker.ts";
import { WORKER_PROGRAM } from "../../src/threads/worker_program.ts";
import { ThreadPool, type ThreadPoolOptions } from "../../zarrita.ts";

/** What the threads of a pool have done. */
export interface Counts {
  /** The number of workers that were started. */
  workers: number;
  /** The number of chunks that were sent to workers. */
  jobs: number;
  /** The number of chunks that workers have decoded or encoded. */
  done: number;
  /** Why workers could not do a job. */
  readonly failures: string[];
  /** The greatest number of bytes that one request transferred to a worker. */
  mostBytes: number;
}

/** A pool whose workers run the program of this package, or another one, and are observed. */
export function countedPool(
  options: Omit<ThreadPoolOptions, "createWorker"> = {},
  start: () => Worker = startDefault,
): { threads: ThreadPool; counts: Counts } {
  const counts: Counts = {
    workers: 0,
    jobs: 0,
    done: 0,
    failures: [],
    mostBytes: 0,
  };
  const createWorker = () => {
    counts.workers++;
    return observedWorker(start(), counts);
  };
  return { threads: new ThreadPool({ ...options, createWorker }), counts };
}

/** Runs a function with a pool, and ends the threads of the pool. */
export async function withPool<T extends { threads: ThreadPool }>(
  pool: T,
  run: (pool: T) => Promise<void>,
): Promise<void> {
  try {
    await run(pool);
  } finally {
    pool.threads[Symbol.dispose]();
  }
}

/** Starts a worker with the program of this package. */
export function startDefault(): Worker {
  return startWorker(WORKER_PROGRAM) as Worker;
}

/** The statement of a program that says that the worker has started. */
export const STARTED = `postMessage(${JSON.stringify({ started: MESSAGES })});`;

/** Starts a worker with a program. */
export function startProgramOf(program: string): Worker {
  return startWorker(program) as Worker;
}

function observedWorker(worker: Worker, counts: Counts): WorkerLike {
  worker.addEventListener("message", ({ data }: MessageEvent<Answer>) => {
    for (const result of (data as { results?: JobResult[] })?.results ?? []) {
      const { failed } = (result ?? {}) as { failed?: unknown };
      if (typeof failed === "string") counts.failures.push(failed);
      else counts.done++;
    }
  });
  return {
    postMessage(message, transfer) {
      const bytes = transfer.reduce((sum, { byteLength: n }) => sum + n, 0);
      worker.postMessage(message, transfer);
      counts.mostBytes = Math.max(counts.mostBytes, bytes);
      counts.jobs += (message as Request).jobs.length;
    },
    terminate: () => worker.terminate(),
    addEventListener: worker.addEventListener.bind(worker),
  } as WorkerLike;
}
