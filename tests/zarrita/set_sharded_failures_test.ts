import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import { createArrayChunks, MemoryStore, type Store } from "../../mod.ts";
import { registerCodecs, setSharded } from "../../zarrita.ts";
import { concatParts } from "../support/metadata.ts";
import { observed } from "../support/observed_store.ts";
import { type OnStep, stepped } from "../support/stepped_store.ts";
import {
  numbers,
  openIn,
  readAnew,
  row,
  shardedMetadata,
  shardedStore,
} from "./sharded_array.ts";
import { runs } from "../support/runs.ts";

registerCodecs(zarr.registry);

const LOST = new Error("The store is gone");

const IN_PARTS = {
  chunk_key_encoding: { name: "suffix", configuration: { suffix: ".bin" } },
  storage_transformers: [
    concatParts({ key_suffix: ".head", size: 2 }, { key_suffix: "" }, {
      key_suffix: ".index",
      size: 36,
    }),
  ],
};

/** An array of numbers in shards; in parts, if told so. */
async function source(isInParts: boolean): Promise<MemoryStore> {
  if (!isInParts) return await shardedStore();
  const stored = new MemoryStore();
  await createArrayChunks(stored, "", shardedMetadata(IN_PARTS));
  const prefix = new Uint8Array(2);
  const array = await openIn(stored);
  await setSharded(zarr, array, null, row(...numbers(12)), { prefix });
  return stored;
}

/** The result of writing if the store fails at its `at`th request after the array was opened. */
async function failing(
  stored: MemoryStore,
  at: number,
  write: (array: Awaited<ReturnType<typeof openIn>>) => Promise<void>,
): Promise<"written" | unknown> {
  let left = Infinity;
  const store = observed(stored, () => {
    if (left-- === 0) throw LOST;
  });
  const array = await openIn(store);
  left = at;
  return await write(array).then(() => "written", (error) => error);
}

/** The shards of four elements each, of the array's elements. */
function shardsOf(elements: readonly number[]): number[][] {
  return [0, 4, 8].map((start) => elements.slice(start, start + 4));
}

Deno.test("setSharded rejects with the error of each failing request, and each shard is either the earlier or the new one", async () => {
  for (const isInParts of [false, true]) {
    for (const [start, stop] of [[0, 12], [2, 10], [1, 7], [4, 5]] as const) {
      const changes = Object.fromEntries(
        numbers(stop).slice(start).map((_, i) => [start + i, 99]),
      );
      const [before, after] = [{}, changes].map((changes) =>
        shardsOf(numbers(12, changes))
      );
      for (let at = 0;; at++) {
        const stored = await source(isInParts);
        const outcome = await failing(
          stored,
          at,
          (array) =>
            setSharded(zarr, array, [zarr.slice(start, stop)], 99, {
              prefix: new Uint8Array(2),
            }),
        );
        const shards = shardsOf(await readAnew(stored));
        if (outcome === "written") {
          assertEquals(shards, after);
          assert(at > 0);
          break;
        }
        assertEquals(outcome, LOST);
        shards.forEach((shard, i) => {
          const isOld = shard.join() === before![i]!.join();
          const isNew = shard.join() === after![i]!.join();
          assert(isOld || isNew, `Shard ${i} is ${shard} after request ${at}`);
        });
      }
    }
  }
});

Deno.test("setSharded stores nothing after it has rejected", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 2 }),
      fc.scheduler(),
      async (failing, scheduler) => {
        const stored = await shardedStore();
        let begun = 0;
        let isRejected = false;
        const late: string[] = [];
        const onStep: OnStep = async (step, isDone) => {
          if (!step.startsWith("set ")) return;
          if (isRejected) late.push(step);
          await scheduler.schedule(Promise.resolve(), step);
          if (!isDone && begun++ === failing) throw LOST;
        };
        const array = await openIn(stepped(stored, onStep));
        const writing = setSharded(zarr, array, null, 7).catch((error) => {
          isRejected = true;
          return error;
        });
        await scheduler.waitFor(writing);
        assertEquals(await writing, LOST);
        await scheduler.waitAll();
        await new Promise((resolve) => setTimeout(resolve));
        assertEquals(late, []);
      },
    ),
    { numRuns: runs(100) },
  );
});

Deno.test("setSharded stores no shard that is still encoded when it rejects", async () => {
  const stored = await shardedStore();
  let free = () => {};
  const isFree = new Promise<void>((resolve) => free = resolve);
  const store: Store = {
    ...observed(stored, ({ method, key }) => {
      if (method !== "set" || key !== "/c/1") return;
      setTimeout(free, 5);
      throw LOST;
    }),
    async get(key, options) {
      if (key === "/c/0") await isFree;
      return await stored.get(key, options);
    },
  };
  const array = await openIn(store);
  // The first inner chunk is kept in part, and so must be read.
  const error = await assertRejects(() =>
    setSharded(zarr, array, [zarr.slice(1, 8)], 7)
  );
  assertEquals(error, LOST);
  for (let i = 0; i < 5; i++) await new Promise((next) => setTimeout(next));
  assertEquals(await readAnew(stored), numbers(12));
});
