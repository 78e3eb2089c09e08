import type { ChunkFormat } from "./chunk_coder.ts";
import type { Job, JobResult } from "./worker_messages.ts";

/**
 * Runs a job in a thread of a pool.
 *
 * @param job Makes the job once there is memory for it.
 * @param bytes The length of the decoded chunk.
 * @returns `undefined` if the pool has no threads, or none can be started.
 * @throws {Error} If the thread ends before it has answered, or the pool was disposed.
 */
export type RunInPool = (
  format: ChunkFormat,
  job: () => Job,
  bytes: number,
) => Promise<JobResult | undefined>;

/** What runs the jobs of each pool. So programs that are given a pool, or none, hold no code that starts threads. */
const pools = new WeakMap<object, RunInPool>();

/** Notes how jobs of a pool are run. */
export function registerPool(pool: object, run: RunInPool): void {
  pools.set(pool, run);
}

/** Returns the function that runs jobs in a pool; `undefined` if the value is no pool. */
export function poolRunner(pool: unknown): RunInPool | undefined {
  return pools.get(pool as object);
}

/** Codecs that take no more time than the copy of the elements to another thread. */
const CHEAP_CODECS = ["bytes", "transpose", "crc32c"];

/** Whether the calling thread decodes chunks by itself about as fast as it sends them to threads. */
export function isCheapToDecode(codecs: ChunkFormat["codecs"]): boolean {
  return codecs.every(({ name, configuration }) =>
    CHEAP_CODECS.includes(name) && configuration?.endian !== "big"
  );
}
