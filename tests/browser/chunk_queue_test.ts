import { assertEquals, assertRejects } from "@std/assert";
import { chunkQueue } from "../../examples/browser/chunk_queue.ts";

/** How many chunks are read at once. */
const AT_ONCE = 256;

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

/** A queue of reads that end when a test says so, and what has been seen of it. */
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

Deno.test("chunkQueue() reads only so many chunks at once", async () => {
  const { queue, reads, progress } = queueOf(AT_ONCE + 2);
  assertEquals(reads.length, 0);
  const idle = queue.onIdle();
  await settled();
  assertEquals(reads.length, AT_ONCE);
  reads[3]!.resolve();
  await settled();
  assertEquals(reads.length, AT_ONCE + 1);
  assertEquals(progress, [[1, AT_ONCE + 2]]);
  reads.forEach(({ resolve }) => resolve());
  await settled();
  reads.forEach(({ resolve }) => resolve());
  await idle;
  assertEquals(
    progress,
    Array.from({ length: AT_ONCE + 2 }, (_, i) => [i + 1, AT_ONCE + 2]),
  );
});

Deno.test("chunkQueue() reads nothing more, and tells nothing more, once a chunk has failed", async () => {
  const { queue, reads, progress } = queueOf(2 * AT_ONCE);
  const idle = queue.onIdle();
  reads[0]!.resolve();
  await settled();
  const failing = assertRejects(() => idle, Error, "damaged");
  reads[5]!.reject(new Error("damaged"));
  await failing;
  reads.forEach(({ resolve }) => resolve());
  await settled();
  assertEquals(reads.length, AT_ONCE + 1);
  assertEquals(progress, [[1, 2 * AT_ONCE]]);
});

Deno.test("chunkQueue() is idle at once where there is nothing to read", async () => {
  const { queue, progress } = queueOf(0);
  await queue.onIdle();
  assertEquals(progress, []);
});
