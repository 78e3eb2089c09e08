/**
 * Threads that decode and encode chunks: `ThreadPool` and the `Threads` in it, the program
 * of their workers (`run_chunk_worker.ts`), and what the workers do with a chunk
 * (`thread_jobs.ts`, `chunk_coder.ts`, `copy_elements.ts`).
 */
export {
  ChunkCoder,
  type ChunkFormat,
  codecsIn,
  inTurn,
  ownCodecs,
  stridesInOrder,
} from "./chunk_coder.ts";
export {
  type ChunkBlock,
  type ChunkElements,
  copyElements,
  copyFromChunk,
  copyIntoChunk,
  isRepeated,
  repeatElement,
} from "./copy_elements.ts";
export { runChunkWorker } from "./run_chunk_worker.ts";
export { processorCount, type WorkerLike } from "./start_worker.ts";
export {
  type DecodeJob,
  type EncodeJob,
  isCheapToDecode,
  type JobResult,
  LEAST_TO_SEND,
  poolRunner,
  type RecodeJob,
  type RunInPool,
} from "./thread_jobs.ts";
export {
  ThreadPool,
  type ThreadPoolOptions,
  THREADS,
  withThreads,
} from "./thread_pool.ts";
export { NoThreadsError, Threads } from "./threads.ts";
