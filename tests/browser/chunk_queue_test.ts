import { assertEquals, assertRejects } from "@std/assert";
import { chunkQueue } from "../../examples/browser/chunk_queue.ts";

/** The number of chunks that are read at once. */
const CONCURRENCY = 256;

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

/** Creates a queue of reads that a test resolves, and records its progress. */
function queueOf(count: number) {
  const reads: PromiseWithResolvers<void>[] = [];
  const progress: [number, number][] = [];
  const queue = chunkQueue((...now) => progress.push(now));
  for (let i = 0; i < count; i++) {
    queue.add(() => {
      const read = Promise.withResolvers<void>();
      reads.push(read);
      return read.promise;
    });
  }
  return { queue, reads, progress };
}

Deno.test("chunkQueue() reads at most 256 chunks at once", async () => {
  const { queue, reads, progress } = queueOf(CONCURRENCY + 2);
  assertEquals(reads.length, 0);
  const idle = queue.onIdle();
  await settled();
  assertEquals(reads.length, CONCURRENCY);
  reads[3]!.resolve();
  await settled();
  assertEquals(reads.length, CONCURRENCY + 1);
  assertEquals(progress, [[1, CONCURRENCY + 2]]);
  reads.forEach(({ resolve }) => resolve());
  await settled();
  reads.forEach(({ resolve }) => resolve());
  await idle;
  assertEquals(
    progress,
    Array.from({ length: CONCURRENCY + 2 }, (_, i) => [i + 1, CONCURRENCY + 2]),
  );
});

Deno.test("chunkQueue() stops reading and reporting after a chunk has failed", async () => {
  const { queue, reads, progress } = queueOf(2 * CONCURRENCY);
  const idle = queue.onIdle();
  reads[0]!.resolve();
  await settled();
  const failing = assertRejects(() => idle, Error, "damaged");
  reads[5]!.reject(new Error("damaged"));
  await failing;
  reads.forEach(({ resolve }) => resolve());
  await settled();
  assertEquals(reads.length, CONCURRENCY + 1);
  assertEquals(progress, [[1, 2 * CONCURRENCY]]);
});

Deno.test("chunkQueue() is idle at once if it is empty", async () => {
  const { queue, progress } = queueOf(0);
  await queue.onIdle();
  assertEquals(progress, []);
});
