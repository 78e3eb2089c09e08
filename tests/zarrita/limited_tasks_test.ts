import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { LimitedTasks } from "../../src/runtime/tasks.ts";

Deno.test("LimitedTasks runs the tasks of all queues in their order, and no more than allowed at the same time", async () => {
  const counts = fc.array(fc.nat({ max: 4 }), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      counts,
      fc.scheduler(),
      async (most, counts, scheduler) => {
        const tasks = new LimitedTasks(most);
        const begun: number[] = [];
        let running = 0;
        let total = 0;
        const idle = counts.map((count) => {
          const queue = tasks.queue();
          for (let i = 0; i < count; i++) {
            const task = total++;
            queue.add(async () => {
              begun.push(task);
              assert(++running <= most);
              await scheduler.schedule(Promise.resolve());
              running--;
            });
          }
          return queue.onIdle();
        });
        assertEquals(running, Math.min(most, total)); // As many as allowed.
        await scheduler.waitFor(Promise.all(idle));
        assertEquals(begun, Array.from({ length: total }, (_, i) => i));
      },
    ),
  );
});

Deno.test("LimitedTasks rejects only the queue of a task that fails, and goes on", async () => {
  const tasks = new LimitedTasks(1);
  const [failing, other] = [tasks.queue(), tasks.queue()];
  const error = new Error("No");
  let count = 0;
  failing.add(() => Promise.reject(error));
  failing.add(() => Promise.resolve());
  other.add(() => Promise.resolve(void count++));
  assertEquals(await assertRejects(() => failing.onIdle()), error);
  await other.onIdle();
  assertEquals(count, 1);
});

Deno.test("LimitedTasks starts no task once it is closed", async () => {
  const tasks = new LimitedTasks(1);
  const queue = tasks.queue();
  const begun: number[] = [];
  let free = () => {};
  for (const task of [0, 1, 2]) {
    queue.add(async () => {
      begun.push(task);
      await new Promise<void>((resolve) => free = resolve);
    });
  }
  tasks.close();
  const idle = assertRejects(() => queue.onIdle(), Error, "Another task");
  free();
  await idle;
  assertEquals(begun, [0]);
});
