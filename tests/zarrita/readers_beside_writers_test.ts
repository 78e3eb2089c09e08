import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import * as zarr from "zarrita";
import { createArrayChunks, MemoryStore } from "../../mod.ts";
import { registerCodecs, setSharded } from "../../zarrita.ts";
import { scheduledStore } from "../shards/scheduled_store.ts";
import { concatParts } from "../support/metadata.ts";
import { openIn, readAnew, shardedMetadata } from "./sharded_array.ts";
import { runs } from "../support/runs.ts";

registerCodecs(zarr.registry);

const WAYS = {
  "in one piece": {},
  "in parts": {
    storage_transformers: [
      concatParts({ key_suffix: "" }, { key_suffix: ".index", size: 36 }),
    ],
  },
};

/** An operation on inner chunk `inner` of six, after some turns. */
interface Step {
  do: "get" | "set" | "setSharded";
  inner: number;
  count: number;
  prefix: number;
  wait: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom("get", "get", "set", "setSharded"),
  inner: fc.nat(5),
  count: fc.integer({ min: 1, max: 6 }),
  prefix: fc.nat(5),
  wait: fc.nat(8),
});

/** A value that was written into an inner chunk, from when and until when. */
interface Write {
  value: number;
  begun: number;
  stored: number;
}

/** The values that may be read from a time on: those not replaced by a later write before it. */
function possibleFrom(time: number, history: readonly Write[]): number[] {
  return history.filter((write) =>
    !history.some((later) => later.begun > write.stored && later.stored < time)
  ).map((write) => write.value);
}

for (const [way, members] of Object.entries(WAYS)) {
  Deno.test(`zarr.get beside writers of shards ${way} reads no mixed inner chunk, and none older than the last write before`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(step, { minLength: 2, maxLength: 8 }),
        async (scheduler, steps) => {
          const stored = new MemoryStore();
          await createArrayChunks(stored, "", shardedMetadata(members));
          await setSharded(zarr, await openIn(stored), null, 1);
          const opening = openIn(scheduledStore(stored, scheduler));
          await scheduler.waitFor(opening);
          const array = await opening;
          let time = 0;
          const histories = Array.from({ length: 6 }, (): Write[] => [
            { value: 1, begun: 0, stored: time },
          ]);

          const working = Promise.all(steps.map(async (step, i) => {
            for (let turn = 0; turn < step.wait; turn++) {
              await scheduler.schedule(Promise.resolve(), `wait ${i}`);
            }
            const end = Math.min(6, step.inner + step.count);
            const selection = [zarr.slice(2 * step.inner, 2 * end)];
            const chosen = histories.slice(step.inner, end);
            if (step.do === "get") {
              const start = ++time;
              const { data } = await zarr.get(array, selection);
              chosen.forEach((history, i) => {
                const [a, b] = [data[2 * i], data[2 * i + 1]];
                assertEquals(a, b);
                const possible = possibleFrom(start, history);
                assert(possible.includes(a!), `${a} of ${possible}`);
              });
              return;
            }
            const value = 10 + i;
            const entries = chosen.map((history) => {
              const entry = { value, begun: ++time, stored: Infinity };
              history.push(entry);
              return entry;
            });
            await (step.do === "set"
              ? zarr.set(array, selection, value)
              : setSharded(zarr, array, selection, value, {
                prefix: new Uint8Array(step.prefix),
              }));
            for (const entry of entries) entry.stored = ++time;
          }));
          await scheduler.waitFor(working);
          await working;

          const last = zarr.get(array);
          await scheduler.waitFor(last);
          const elements = Array.from((await last).data);
          assertEquals(await readAnew(stored), elements);
          histories.forEach((history, i) => {
            assertEquals(elements[2 * i], elements[2 * i + 1]);
            const possible = possibleFrom(++time, history);
            assert(possible.includes(elements[2 * i]!));
          });
        },
      ),
      { numRuns: runs(200) },
    );
  });
}
