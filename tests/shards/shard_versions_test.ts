import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { encodeShard, MemoryStore, UnfinishedWriteError } from "../../mod.ts";
import { InnerChunks } from "../../src/shards/inner_chunks.ts";
import { runs } from "../support/runs.ts";
import { layoutsOf } from "./arbitraries.ts";
import { versionedStore } from "./versioned_store.ts";

const LAYOUTS = layoutsOf(3);
const LAYOUT = LAYOUTS.at(-1)!;
const KEY = "/c/0";

/** A shard of three inner chunks of some lengths, which are the values of their bytes; 0 for an absent one. */
function shardOf(lengths: readonly number[], prefix = 0, layout = LAYOUT) {
  const isAtStart = layout.indexLocation === "start";
  return encodeShard(
    lengths.map((length) =>
      length === 0 ? undefined : new Uint8Array(length - 1).fill(length)
    ),
    layout,
    { prefix: new Uint8Array(isAtStart ? 0 : prefix).fill(200) },
  );
}

async function lengthsIn(inner: InnerChunks): Promise<number[]> {
  return await Promise.all([0, 1, 2].map(async (place) => {
    const bytes = await inner.at([[place]]).get(KEY);
    if (bytes === undefined) return 0;
    for (const byte of bytes) assertEquals(byte, bytes.length + 1);
    return bytes.length + 1;
  }));
}

Deno.test("InnerChunks notices any replaced shard with the next read, size and list, and releases all versions", async () => {
  const lengths = fc.array(fc.nat(4), { minLength: 3, maxLength: 3 });
  const state = fc.option(fc.tuple(lengths, fc.nat(3)), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(
      fc.array(state, { minLength: 2, maxLength: 6 }),
      fc.constantFrom(...LAYOUTS),
      fc.boolean(),
      fc.constantFrom("get", "size", "list"),
      fc.integer({ min: 1, max: 3 }),
      async (states, layout, isLasting, way, runs) => {
        const stored = new MemoryStore();
        const { store, inUse } = versionedStore(stored, { isLasting, runs });
        const inner = new InnerChunks(store, [layout]);
        for (const state of states) {
          if (state === undefined) await stored.delete(KEY);
          else await stored.set(KEY, shardOf(...state, layout));
          const [expected] = state ?? [[0, 0, 0]];
          for (let time = 0; time < 2; time++) {
            if (way === "get") assertEquals(await lengthsIn(inner), expected);
            else if (way === "size") {
              const sizes = await Promise.all(
                [0, 1, 2].map((place) => inner.at([[place]]).size(KEY)),
              );
              assertEquals(sizes.map((it) => (it ?? -1) + 1), expected);
            } else {
              assertEquals(
                await Array.fromAsync(inner.reader.list(KEY)),
                [0, 1, 2].filter((it) => expected[it]).map((it) => [[it]]),
              );
            }
            assert(inUse.size <= (isLasting ? 1 : 0), `${inUse.size} in use`);
          }
        }
        inner.reader.clear();
        assertEquals(inUse.size, 0);
      },
    ),
    { numRuns: runs(150) },
  );
});

Deno.test("InnerChunks reads the index of a lasting version once, and of another one for each group of readers", async () => {
  for (const isLasting of [true, false]) {
    const stored = new MemoryStore([[KEY, shardOf([3, 0, 4])]]);
    const { store, log, inUse } = versionedStore(stored, { isLasting });
    const inner = new InnerChunks(store, [LAYOUT]);
    for (let time = 0; time < 3; time++) {
      assertEquals(await lengthsIn(inner), [3, 0, 4]);
    }
    const indexes = log.filter((it) => it === `read ${KEY}`).length;
    assertEquals(indexes, isLasting ? 1 : 3);
    // The three inner chunks, one of which is absent, are one request.
    assertEquals(log.length - indexes, 3);
    assertEquals(inUse.size, isLasting ? 1 : 0);
  }
});

Deno.test("InnerChunks looks again for an absent shard, unless the store tells a version of its absence", async () => {
  for (const ofAbsent of [false, true]) {
    const stored = new MemoryStore();
    const { store, log, inUse } = versionedStore(stored, { ofAbsent });
    const inner = new InnerChunks(store, [LAYOUT]);
    for (let time = 0; time < 3; time++) {
      assertEquals(await lengthsIn(inner), [0, 0, 0]);
    }
    assertEquals(log, Array(ofAbsent ? 1 : 3).fill(`read ${KEY}`));
    await stored.set(KEY, shardOf([1, 2, 3]));
    if (ofAbsent) inner.reader.clear();
    assertEquals(await lengthsIn(inner), [1, 2, 3]);
    inner.reader.clear();
    assertEquals(inUse.size, 0);
  }
});

Deno.test("InnerChunks gives up a shard that is replaced during each try, and reads it after", async () => {
  const stored = new MemoryStore([[KEY, shardOf([3, 3, 3])]]);
  let isReplaced = true;
  const { store, log, inUse } = versionedStore(stored, {
    async onRequest(request) {
      if (!isReplaced || !request.startsWith("getRangeOf")) return;
      await stored.set(KEY, shardOf([4, 4, 4]));
    },
  });
  const inner = new InnerChunks(store, [LAYOUT]);
  const get = (signal?: AbortSignal) =>
    inner.at([[0]]).get(KEY, signal && { signal });
  const error = await assertRejects(() => get(), Error, KEY);
  assert(error instanceof UnfinishedWriteError);
  assertEquals(log.length, 2 * 11);
  assertEquals(inUse.size, 0);

  const controller = new AbortController();
  const aborted = get(controller.signal);
  setTimeout(() => controller.abort(new Error("Enough")), 20);
  await assertRejects(() => aborted, Error, "Enough");
  isReplaced = false;
  assertEquals(await lengthsIn(inner), [4, 4, 4]);
});

Deno.test("InnerChunks reads a nested index and its inner chunks in one version", async () => {
  const nested = (lengths: number[], prefix: number) =>
    encodeShard([undefined, shardOf(lengths, prefix), undefined], LAYOUT);
  const stored = new MemoryStore([[KEY, nested([3, 0, 2], 0)]]);
  let change: Uint8Array | undefined;
  const { store, inUse } = versionedStore(stored, {
    async onRequest(request) {
      if (!change || !request.startsWith("getRangeOf")) return;
      await stored.set(KEY, change);
      change = undefined;
    },
  });
  const inner = new InnerChunks(store, [LAYOUT, LAYOUT]);
  const get = async (place: number) =>
    (await inner.at([[1], [place]]).get(KEY))?.length;
  assertEquals(await get(0), 2);
  change = nested([2, 4, 2], 9);
  assertEquals(await get(0), 1);
  assertEquals(await get(1), 3);
  inner.reader.clear();
  change = nested([0, 1, 2], 5);
  assertEquals(await get(1), 0);
  assertEquals(await get(0), undefined);
  await stored.set(KEY, nested([1, 1, 0], 2));
  assertEquals(await Array.fromAsync(inner.reader.list(KEY)), [
    [[1], [0]],
    [[1], [1]],
  ]);
  inner.reader.clear();
  assertEquals(inUse.size, 0);
});

Deno.test("InnerChunks releases each version once, after its last reader, for any order of reads, aborts, failures and changes", async () => {
  const step = fc.record({
    do: fc.constantFrom("get", "get", "get", "abort", "change", "refresh"),
    place: fc.nat(2),
    length: fc.nat(4),
    wait: fc.nat(5),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(step, { minLength: 2, maxLength: 12 }),
      fc.infiniteStream(fc.nat(9)),
      fc.boolean(),
      async (scheduler, steps, failures, isLasting) => {
        const stored = new MemoryStore([[KEY, shardOf([1, 2, 3])]]);
        const lost = new Error("Lost");
        const { store, inUse } = versionedStore(stored, {
          isLasting,
          async onRequest(request) {
            await scheduler.schedule(Promise.resolve(), request);
            if (failures.next().value === 0) throw lost;
          },
        });
        const inner = new InnerChunks(store, [LAYOUT]);
        const states = [[1, 2, 3]];
        await scheduler.waitFor(Promise.all(steps.map(async (step) => {
          for (let turn = 0; turn < step.wait; turn++) {
            await scheduler.schedule(Promise.resolve(), "wait");
          }
          if (step.do === "refresh") return inner.reader.clear();
          if (step.do === "change") {
            const state = [step.length, step.place, step.wait];
            states.push(state);
            await stored.set(KEY, shardOf(state, step.wait));
            return;
          }
          const first = states.length - 1;
          const controller = new AbortController();
          const reason = new Error("Enough");
          const { signal } = controller;
          const reading = inner.at([[step.place]]).get(KEY, { signal });
          const outcome = reading.then(
            (bytes) => bytes === undefined ? 0 : bytes.length + 1,
            (error) => error,
          );
          if (step.do === "abort") {
            await scheduler.schedule(Promise.resolve(), "abort");
            controller.abort(reason);
          }
          const found = await outcome;
          const possible = states.slice(first).map((it) => it[step.place]);
          assert(
            [lost, reason, ...possible].includes(found),
            `${found} of ${possible}`,
          );
        })));
        // The requests of aborted readers end later.
        while (scheduler.count() > 0) await scheduler.waitOne();
        await new Promise((resolve) => setTimeout(resolve));
        if (!isLasting) assertEquals(inUse.size, 0);
        inner.reader.clear();
        assertEquals(inUse.size, 0);
      },
    ),
    { numRuns: runs(300) },
  );
});
