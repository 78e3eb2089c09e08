import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { mapConcurrently, runConcurrently } from "../../src/runtime/tasks.ts";

async function* eachLater<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

Deno.test("mapConcurrently starts tasks in the order of the items, no more than allowed at the same time, and returns the results in this order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.nat({ max: 12 }),
      fc.scheduler(),
      async (concurrency, count, scheduler) => {
        const items = Array.from({ length: count }, (_, i) => i);
        const begun: number[] = [];
        let [running, most] = [0, 0];
        const results = await scheduler.waitFor(
          mapConcurrently(items, concurrency, async (item) => {
            begun.push(item);
            most = Math.max(most, ++running);
            await scheduler.schedule(Promise.resolve());
            running--;
            return `result ${item}`;
          }),
        );
        assertEquals(begun, items);
        assertEquals(most, Math.min(concurrency, count));
        assertEquals(results, items.map((item) => `result ${item}`));
      },
    ),
  );
});

Deno.test("runConcurrently takes an item only when a task for it can begin", async () => {
  const taken: number[] = [];
  function* items() {
    for (let i = 0; i < 5; i++) {
      taken.push(i);
      yield i;
    }
  }
  const ends: (() => void)[] = [];
  const done = runConcurrently(
    items(),
    2,
    () => new Promise((resolve) => ends.push(resolve)),
  );
  for (let i = 0; i < 5; i++) {
    while (ends.length < Math.min(i + 2, 5)) await Promise.resolve();
    assertEquals(taken.length, Math.min(i + 2, 5));
    ends[i]!();
  }
  await done;
});

Deno.test("runConcurrently throws the first error once all tasks have ended, whose signals it aborts", async () => {
  for (const items of [[0, 1, 2, 3], eachLater([0, 1, 2, 3])]) {
    const error = new Error("No");
    const begun: number[] = [];
    let hasEnded = false;
    const failure = runConcurrently(items, 2, async (item, signal) => {
      begun.push(item);
      if (item === 1) throw error;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      assertEquals(signal.reason, error);
      await new Promise((resolve) => setTimeout(resolve));
      hasEnded = true;
      throw new Error("A later error");
    });
    assertEquals(await assertRejects(() => failure), error);
    assert(hasEnded);
    assertEquals(begun, [0, 1]);
  }
});

Deno.test("runConcurrently closes the iterator of the items after a failure", async () => {
  let isClosed = false;
  function* items() {
    try {
      for (let i = 0; true; i++) yield i;
    } finally {
      isClosed = true;
    }
  }
  await assertRejects(
    () =>
      runConcurrently(
        items(),
        3,
        (item) => item < 10 ? Promise.resolve() : Promise.reject(Error("Ten")),
      ),
    Error,
    "Ten",
  );
  assert(isClosed);
});

Deno.test("runConcurrently ends with the reason of its signal", async () => {
  const controller = new AbortController();
  const begun: number[] = [];
  const work = runConcurrently([0, 1, 2], 1, (item, signal) => {
    begun.push(item);
    controller.abort("stop");
    assertEquals(signal.reason, "stop");
    return Promise.resolve();
  }, controller.signal);
  assertEquals(await work.catch((reason) => reason), "stop");
  assertEquals(begun, [0]);
});

Deno.test("runConcurrently throws the error of an iterator that fails", async () => {
  async function* items() {
    yield 1;
    throw new Error("The list has ended early");
  }
  await assertRejects(
    () => runConcurrently(items(), 2, () => Promise.resolve()),
    Error,
    "ended early",
  );
});
