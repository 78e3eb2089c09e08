/**
 * Threads that decode and encode chunks: `ThreadPool` and the `Threads` in it, the program
 * of their workers (`run_chunk_worker.ts`), and what the workers do with a chunk
 * (`chunk_coder.ts`, `copy_elements.ts`).
 */
export type { ChunkFormat } from "./chunk_coder.ts";
export {
  type ChunkBlock,
  type ChunkElements,
  copyElements,
  copyFromChunk,
  copyIntoChunk,
} from "./copy_elements.ts";
export { isCheapToDecode, poolRunner, type RunInPool } from "./pool_jobs.ts";
export { runChunkWorker } from "./run_chunk_worker.ts";
export type { WorkerLike } from "./start_worker.ts";
export {
  ThreadPool,
  type ThreadPoolOptions,
  THREADS,
  withThreads,
} from "./thread_pool.ts";
export { NoThreadsError, Threads } from "./threads.ts";
export type { JobResult } from "./worker_messages.ts";
