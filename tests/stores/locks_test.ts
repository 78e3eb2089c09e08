import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { KeyLocks } from "../../src/stores/locks.ts";

Deno.test("KeyLocks lets no writer of a key run beside readers or writers, and keeps the order of writers", async () => {
  const task = fc.record({
    isWriter: fc.boolean(),
    key: fc.constantFrom("a", "b"),
    turns: fc.nat(3),
    fails: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(task, { maxLength: 20 }), async (tasks) => {
      const locks = new KeyLocks();
      const running = { a: [] as boolean[], b: [] as boolean[] };
      const begun = { a: [] as number[], b: [] as number[] };
      const ended = tasks.map(({ isWriter, key, turns, fails }, i) => {
        const run = async () => {
          const others = running[key as "a"];
          assertEquals(isWriter ? others : others.filter(Boolean), []);
          others.push(isWriter);
          if (isWriter) begun[key as "a"].push(i);
          for (let turn = 0; turn < turns; turn++) await undefined;
          others.splice(others.indexOf(isWriter), 1);
          if (fails) throw new Error("Failed");
          return i;
        };
        return isWriter ? locks.write(key, run) : locks.read(key, run);
      });
      for (const [i, result] of (await Promise.allSettled(ended)).entries()) {
        if (tasks[i]!.fails) assertEquals(result.status, "rejected");
        else assertEquals(result, { status: "fulfilled", value: i });
      }
      for (const order of Object.values(begun)) {
        assertEquals(order, order.toSorted((a, b) => a - b));
      }
    }),
  );
});

Deno.test("KeyLocks.write starts no task whose signal was aborted while it waited", async () => {
  const locks = new KeyLocks();
  const controller = new AbortController();
  let end!: () => void;
  const first = locks.write(
    "a",
    () => new Promise<void>((resolve) => end = resolve),
  );
  await Promise.resolve();
  const second = locks.write("a", () => Promise.resolve("ran"), controller);
  controller.abort(new Error("Enough"));
  end();
  await first;
  await assertRejects(() => second, Error, "Enough");
  assertEquals(await locks.write("a", () => Promise.resolve(3)), 3);
});
