import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { MemoryLimit } from "../../src/runtime/tasks.ts";

/** A turn of the event loop, in which all tasks start that may. */
const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("MemoryLimit starts tasks in their order, as soon as they fit", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(20),
      fc.nat(3),
      fc.array(fc.nat(15), { maxLength: 12 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      async (bytes, fewTasks, sizes, ends) => {
        const limit = new MemoryLimit(bytes, Math.max(fewTasks, 1));
        const running = new Map<number, () => void>();
        let started = 0;
        for (const [i, size] of sizes.entries()) {
          limit.enter(size).then((leave) => {
            assertEquals(i, started++);
            running.set(i, leave);
          });
        }
        /** Those that run, by a slow and obvious rule. */
        const expected = new Set<number>();
        let next = 0;
        const startAll = () => {
          for (; next < sizes.length; next++) {
            const used = [...expected].reduce((sum, i) => sum + sizes[i]!, 0);
            const isFew = expected.size < Math.max(fewTasks, 1);
            if (!isFew && used + sizes[next]! > bytes) return;
            expected.add(next);
          }
        };
        startAll();
        await turn();
        assertEquals([...running.keys()], [...expected]);
        for (const end of ends) {
          const ended = [...expected][end % Math.max(expected.size, 1)];
          if (ended === undefined) break;
          running.get(ended)!();
          running.delete(ended);
          expected.delete(ended);
          startAll();
          await turn();
          assertEquals([...running.keys()], [...expected]);
        }
      },
    ),
    { numRuns: 50 },
  );
});

Deno.test("MemoryLimit takes one more byte only when there is room", async () => {
  const limit = new MemoryLimit(10, 1);
  const first = await limit.enter(6);
  const second = await limit.enter(4);
  let isStarted = false;
  const third = limit.enter(1).then((leave) => {
    isStarted = true;
    return leave;
  });
  await turn();
  assertEquals(isStarted, false);
  second();
  (await third)();
  assert(isStarted);
  first();
  (await limit.enter(1000))();
});
