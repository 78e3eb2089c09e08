import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { encodeShard, MemoryStore } from "../../mod.ts";
import { InnerChunks } from "../../src/shards/inner_chunks.ts";
import { logged, observed } from "../support/observed_store.ts";
import { stepped } from "../support/stepped_store.ts";
import { layoutsOf } from "./arbitraries.ts";
import { scheduledStore } from "./scheduled_store.ts";

const LAYOUT = layoutsOf(4).at(-1)!;
const KEY = "/c/0";

function byte(value: number): Uint8Array {
  return new Uint8Array([value]);
}

/** All four inner chunks of the shard, read by others. */
async function readAnew(
  stored: MemoryStore,
): Promise<(number | undefined)[]> {
  const inner = new InnerChunks(stored, [LAYOUT]);
  return await Promise.all(
    [0, 1, 2, 3].map(async (place) =>
      (await inner.at([[place]]).get(KEY))?.[0]
    ),
  );
}

Deno.test("InnerChunks stores concurrently set inner chunks with one write", async () => {
  const stored = new MemoryStore();
  const { store, log } = logged(stored);
  const inner = new InnerChunks(store, [LAYOUT]);
  await Promise.all(
    [0, 1, 2].map((place) => inner.at([[place]]).set!(KEY, byte(place + 5))),
  );
  assertEquals(log, ["get /c/0", "set /c/0"]);
  assertEquals(await readAnew(stored), [5, 6, 7, undefined]);
});

Deno.test("InnerChunks collects changes while an earlier change of the shard is stored", async () => {
  const stored = new MemoryStore();
  let free = () => {};
  const isFree = new Promise<void>((resolve) => free = resolve);
  let began = () => {};
  const hasBegun = new Promise<void>((resolve) => began = resolve);
  const sets: string[] = [];
  const store = stepped(stored, (step, isDone) => {
    if (!step.startsWith("set") || isDone) return;
    sets.push(step);
    began();
    return isFree;
  });
  const inner = new InnerChunks(store, [LAYOUT]);
  const first = inner.at([[0]]).set!(KEY, byte(1));
  await hasBegun;
  const others = [1, 2, 3].map(async (place) => {
    for (let turn = 0; turn < place; turn++) await Promise.resolve();
    await inner.at([[place]]).set!(KEY, byte(place + 1));
  });
  for (let turn = 0; turn < 9; turn++) await Promise.resolve();
  free();
  await Promise.all([first, ...others]);
  assertEquals(sets, ["set /c/0", "set /c/0"]);
  assertEquals(await readAnew(stored), [1, 2, 3, 4]);
});

Deno.test("InnerChunks rejects for each caller of a failed change, and not for those of the next one", async () => {
  const stored = new MemoryStore();
  const lost = new Error("The store is gone");
  let isGone = true;
  const store = observed(stored, ({ method }) => {
    if (isGone && method === "set") throw lost;
  });
  const inner = new InnerChunks(store, [LAYOUT]);
  const outcomes = await Promise.allSettled(
    [0, 1, 2].map((place) => inner.at([[place]]).set!(KEY, byte(1))),
  );
  for (const outcome of outcomes) {
    assert(outcome.status === "rejected" && outcome.reason === lost);
  }
  isGone = false;
  await inner.at([[3]]).set!(KEY, byte(9));
  assertEquals(await readAnew(stored), [undefined, undefined, undefined, 9]);
});

Deno.test("InnerChunks rejects changes of shards of shards, and keeps the shards", async () => {
  const [layout] = layoutsOf(2);
  const stored = new MemoryStore();
  const shard = encodeShard(
    [encodeShard([byte(1), byte(2)], layout!), undefined],
    layout!,
  );
  await stored.set(KEY, shard);
  const inner = new InnerChunks(stored, [layout!, layout!]);
  const at = inner.at([[0], [1]]);
  for (
    const change of [
      () => at.set!(KEY, byte(3)),
      () => at.delete!(KEY),
      () => inner.write(KEY, new Map([[0, byte(3)]])),
    ]
  ) await assertRejects(change, TypeError, "made of shards");
  assertEquals(await stored.get(KEY), shard);
  assertEquals(await at.get(KEY), byte(2));
});

/** Something done with an inner chunk. */
interface Step {
  do: "get" | "set" | "delete" | "size";
  place: number;
  wait: number;
}

Deno.test("InnerChunks alternates reads and writes: no reader gets an older inner chunk, or one that was not stored", async () => {
  const step: fc.Arbitrary<Step> = fc.record({
    do: fc.constantFrom("get", "set", "set", "delete", "size"),
    place: fc.nat(3),
    wait: fc.nat(6),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(step, { minLength: 2, maxLength: 12 }),
      fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 4, maxLength: 4 }),
      fc.infiniteStream(fc.nat(5)),
      async (scheduler, steps, first, failures) => {
        const stored = new MemoryStore();
        const start = first.map((size) =>
          size === 0 ? undefined : new Uint8Array(size)
        );
        await stored.set(KEY, encodeShard(start, LAYOUT));
        const store = scheduledStore(
          stored,
          scheduler,
          () => failures.next().value === 0,
        );
        const inner = new InnerChunks(store, [LAYOUT]);
        // A value is told by its length. Each with whether it was stored.
        const histories = first.map((size) => [
          { size: size || undefined, isDone: true, hasFailed: false },
        ]);
        await scheduler.waitFor(Promise.all(steps.map(async (step, i) => {
          for (let turn = 0; turn < step.wait; turn++) {
            await scheduler.schedule(Promise.resolve(), `wait ${i}`);
          }
          const history = histories[step.place]!;
          const at = inner.at([[step.place]]);
          if (step.do === "get" || step.do === "size") {
            const from = history.findLastIndex((it) => it.isDone);
            const size = step.do === "size"
              ? await at.size!(KEY)
              : (await at.get(KEY))?.length;
            const seen = history.slice(from).filter((it) => it.size === size);
            assert(seen.length > 0, `Read ${size}`);
            assert(seen.some((it) => !it.hasFailed));
            return;
          }
          const size = step.do === "set" ? 10 + i : undefined;
          const entry = { size, isDone: false, hasFailed: false };
          history.push(entry);
          try {
            await (size ? at.set!(KEY, new Uint8Array(size)) : at.delete!(KEY));
            entry.isDone = true;
          } catch {
            entry.hasFailed = true;
          }
        })));
        const anew = new InnerChunks(stored, [LAYOUT]);
        for (const [place, history] of histories.entries()) {
          const last = history.findLast((it) => !it.hasFailed)!;
          assertEquals((await anew.at([[place]]).get(KEY))?.length, last.size);
          const kept = inner.at([[place]]).get(KEY);
          await scheduler.waitFor(kept);
          assertEquals((await kept)?.length, last.size);
        }
      },
    ),
    { numRuns: 150 },
  );
});
