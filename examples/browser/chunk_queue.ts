/** The queue that zarrita adds the reads of chunks to. */
export interface ChunkQueue {
  add(read: () => Promise<void>): void;
  onIdle(): Promise<void[]>;
}

/**
 * The number of reads that run at once. Browsers fail when thousands of requests
 * wait; inner chunks that are next to each other in a shard and are read at once
 * are one request.
 */
const CONCURRENCY = 256;

/**
 * Creates a queue that reads at most 256 chunks at once, stops after the first
 * failure, and reports its progress.
 *
 * @param onProgress Is called after each chunk.
 */
export function chunkQueue(
  onProgress: (chunks: number, all: number) => void,
): ChunkQueue {
  const reads: (() => Promise<void>)[] = [];
  let [started, finished, failed] = [0, 0, false];

  async function readNext(): Promise<void> {
    while (started < reads.length && !failed) {
      try {
        await reads[started++]!();
      } catch (error) {
        failed = true;
        throw error;
      }
      if (!failed) onProgress(++finished, reads.length);
    }
  }
  return {
    add: (read) => void reads.push(read),
    onIdle: () => Promise.all(Array.from({ length: CONCURRENCY }, readNext)),
  };
}
