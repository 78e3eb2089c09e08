import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { encodeShard, MemoryStore, type Store } from "../../mod.ts";
import { InnerChunks } from "../../src/shards/inner_chunks.ts";
import { countingBytes } from "../support/bytes.ts";
import { assertReadsSame } from "../support/same_store.ts";
import { logged } from "../support/observed_store.ts";
import {
  forEachChunk,
  layouts,
  layoutsOf,
  shardInputs,
} from "./arbitraries.ts";
import { slowCoordinates } from "./slow_shard.ts";

const KEY = "/c/0";

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
