/**
 * Threads that decode and encode chunks: `ThreadPool`, the program of its workers
 * (`run_chunk_worker.ts`), and what the workers do with a chunk (`chunk_jobs.ts`,
 * `chunk_coder.ts`, `copy_elements.ts`).
 */
export {
  ChunkCoder,
  type ChunkFormat,
  codecsIn,
  inTurn,
  ownCodecs,
} from "./chunk_coder.ts";
export {
  CodecError,
  type DecodeJob,
  type EncodeJob,
  type Encoding,
  gatherChunk,
  isCheapToDecode,
  isInThreads,
  type JobResult,
  type PoolAccess,
  poolAccess,
  type RecodeJob,
  runJob,
  type Threads,
} from "./chunk_jobs.ts";
export {
  type ChunkBlock,
  type ChunkElements,
  copyElements,
  copyFromChunk,
  copyIntoChunk,
  copyIntoChunks,
  type ElementsAt,
  repeatElement,
} from "./copy_elements.ts";
export { runChunkWorker } from "./run_chunk_worker.ts";
export {
  LEAST_TO_SEND,
  ThreadPool,
  type ThreadPoolOptions,
  THREADS,
  withThreads,
} from "./thread_pool.ts";
export { processorCount, type WorkerLike } from "./worker.ts";
