/** What zarrita gives the chunks to that it wants read. */
export interface ChunkQueue {
  add(read: () => Promise<void>): void;
  onIdle(): Promise<void[]>;
}

/**
 * Browsers fail where thousands of requests wait. Chunks that lie together in a
 * shard are one request if they are asked for at once.
 */
const AT_ONCE = 256;

/**
 * A queue of chunks that reads only so many at once, none after one has failed,
 * and tells how far it is.
 *
 * @param onProgress Is called after each chunk.
 */
export function chunkQueue(
  onProgress: (chunks: number, all: number) => void,
): ChunkQueue {
  const reads: (() => Promise<void>)[] = [];
  let [started, finished, failed] = [0, 0, false];

  async function readOneByOne(): Promise<void> {
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
    onIdle: () => Promise.all(Array.from({ length: AT_ONCE }, readOneByOne)),
  };
}
