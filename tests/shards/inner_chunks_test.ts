import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { encodeShard, MemoryStore, type Store } from "../../mod.ts";
import { InnerChunks } from "../../src/shards/inner_chunks.ts";
import { countingBytes } from "../support/bytes.ts";
import { logged, observed } from "../support/observed_store.ts";
import { assertReadsSame } from "../support/same_store.ts";
import { stepped } from "../support/stepped_store.ts";
import {
  forEachChunk,
  layouts,
  layoutsOf,
  shardInputs,
} from "./arbitraries.ts";
import { scheduledStore } from "./scheduled_store.ts";
import { slowCoordinates } from "./slow_shard.ts";

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

/** A store that has inner chunks by their range methods too, as `assertReadsSame` wants them. */
function readable(inner: InnerChunks, path: number[][]) {
  const store = inner.at(path);
  return Object.assign(store, {
    stream: async () => {
      const bytes = await store.get(KEY);
      return bytes && new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
    },
  });
}

Deno.test("InnerChunks reads and lists every inner chunk of any shard", async () => {
  await fc.assert(
    fc.asyncProperty(shardInputs, async ({ chunks, layout, options }) => {
      const stored = new MemoryStore();
      await stored.set(KEY, encodeShard(chunks, layout, options));
      const inner = new InnerChunks(stored, [layout]);
      const coordinates = slowCoordinates(layout.chunksPerShard);
      for (const [i, within] of coordinates.entries()) {
        await assertReadsSame(readable(inner, [within]), KEY, chunks[i]);
      }
      assertEquals(
        await Array.fromAsync(inner.reader.list(KEY)),
        coordinates.filter((_, i) => chunks[i]).map((within) => [within]),
      );
    }),
    { numRuns: 40 },
  );
});

Deno.test("InnerChunks reads and lists every inner chunk of shards nested twice", async () => {
  const nested = fc.tuple(layouts, layouts, layouts).filter((levels) =>
    levels.every(({ chunksPerShard }) => chunksPerShard.length < 3)
  ).chain(([outer, middle, innermost]) =>
    fc.record({
      levels: fc.constant([outer, middle, innermost]),
      tree: forEachChunk(
        outer,
        forEachChunk(
          middle,
          forEachChunk(innermost, fc.uint8Array({ maxLength: 5 })),
        ),
      ),
    })
  );
  await fc.assert(
    fc.asyncProperty(nested, async ({ levels, tree }) => {
      const [outer, middle, innermost] = levels;
      const stored = new MemoryStore();
      const shard = encodeShard(
        tree.map((shards) =>
          shards && encodeShard(
            shards.map((chunks) => chunks && encodeShard(chunks, innermost!)),
            middle!,
          )
        ),
        outer!,
      );
      await stored.set(KEY, shard);
      const inner = new InnerChunks(stored, levels);
      const [as, bs, cs] = levels.map((it) =>
        slowCoordinates(it.chunksPerShard)
      );
      const listed: number[][][] = [];
      for (const [i, a] of as!.entries()) {
        for (const [j, b] of bs!.entries()) {
          for (const [k, c] of cs!.entries()) {
            const chunk = tree[i]?.[j]?.[k];
            const at = inner.at([a, b, c]);
            assertEquals(await at.get(KEY), chunk);
            assertEquals(await at.size!(KEY), chunk?.length);
            if (chunk) listed.push([a, b, c]);
          }
        }
      }
      assertEquals(await Array.fromAsync(inner.reader.list(KEY)), listed);
    }),
    { numRuns: 25 },
  );
});

Deno.test("InnerChunks reads an index once for concurrent readers, and adjacent inner chunks with one request", async () => {
  for (const layout of layoutsOf(3)) {
    const stored = new MemoryStore();
    const chunks = [countingBytes(3), undefined, countingBytes(4)];
    await stored.set(KEY, encodeShard(chunks, layout));
    const { store, log } = logged(stored);
    const inner = new InnerChunks(store, [layout]);
    const read = () =>
      Promise.all([0, 1, 2].map((c) => inner.at([[c]]).get(KEY)));
    assertEquals(await read(), chunks);
    assertEquals(log, Array(2).fill(`getRange ${KEY}`));
    assertEquals(await read(), chunks);
    assertEquals(log.length, 3);
  }
});

Deno.test("InnerChunks requests an absent shard once, until the shard is changed", async () => {
  const [layout] = layoutsOf(2);
  const { store, log } = logged(new MemoryStore());
  const inner = new InnerChunks(store, [layout!]);
  for (let i = 0; i < 2; i++) {
    await Promise.all([0, 1].map(async (c) => {
      assertEquals(await inner.at([[c]]).get(KEY), undefined);
      assertEquals(await inner.at([[c]]).size!(KEY), undefined);
    }));
  }
  assertEquals(await Array.fromAsync(inner.reader.list(KEY)), []);
  assertEquals(log.length, 1);
  await inner.at([[1]]).set!(KEY, countingBytes(2));
  assertEquals(await inner.at([[1]]).get(KEY), countingBytes(2));
});

/** A store whose range requests wait, and then fail if told so. */
function held(store: Store) {
  const waiting: ((error?: Error) => void)[] = [];
  const reading: Store = {
    get: (key, options) => store.get(key, options),
    size: (key, options) => store.size!(key, options),
    async getRange(key, range, options) {
      const error = await new Promise<Error | void>((resolve) =>
        waiting.push((error) => resolve(error))
      );
      if (error) throw error;
      return await store.getRange!(key, range, options);
    },
  };
  return { store: reading, waiting };
}

Deno.test("InnerChunks rejects for a reader that aborts while an index is read, and continues for others", async () => {
  const [layout] = layoutsOf(2);
  const stored = new MemoryStore();
  await stored.set(KEY, encodeShard([countingBytes(3), undefined], layout!));
  const { store, waiting } = held(stored);
  const inner = new InnerChunks(store, [layout!]);
  const controller = new AbortController();
  const options = { signal: controller.signal };
  const first = assertRejects(() => inner.at([[0]]).get(KEY, options));
  const second = inner.at([[0]]).get(KEY);
  while (waiting.length === 0) await Promise.resolve();
  const reason = new Error("Enough");
  controller.abort(reason);
  assertEquals(await first, reason); // While the store has not answered.
  assertEquals(waiting.length, 1);
  waiting.shift()!();
  while (waiting.length === 0) await Promise.resolve();
  waiting.shift()!();
  assertEquals(await second, countingBytes(3));

  const before = inner.at([[0]]).get(KEY, options);
  assertEquals(await assertRejects(() => before), reason);
  assertEquals(waiting.length, 0);
});

Deno.test("InnerChunks rejects for all waiters of an index that cannot be read, and reads it again for the next reader", async () => {
  const [layout] = layoutsOf(2);
  const stored = new MemoryStore();
  await stored.set(KEY, encodeShard([countingBytes(3), undefined], layout!));
  const { store, waiting } = held(stored);
  const inner = new InnerChunks(store, [layout!]);
  const reads = [0, 1, 1].map((c) => inner.at([[c]]).get(KEY));
  const outcomes = Promise.allSettled(reads);
  while (waiting.length === 0) await Promise.resolve();
  const lost = new Error("The store is gone");
  waiting.shift()!(lost);
  for (const outcome of await outcomes) {
    assert(outcome.status === "rejected" && outcome.reason === lost);
  }
  const again = inner.at([[1]]).get(KEY);
  while (waiting.length === 0) await Promise.resolve();
  waiting.shift()!();
  assertEquals(await again, undefined);
});
