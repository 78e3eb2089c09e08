import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import type { Store } from "../../mod.ts";
import { registerCodecs, setSharded } from "../../zarrita.ts";
import { observed } from "../support/observed_store.ts";
import { numbers, openIn, readAnew, shardedStore } from "./sharded_array.ts";

registerCodecs(zarr.registry);

Deno.test("setSharded stores nothing if its signal is already aborted", async () => {
  const reason = new Error("Enough");
  const stored = await shardedStore();
  const array = await openIn(stored);
  const signal = AbortSignal.abort(reason);
  const error = await assertRejects(() =>
    setSharded(zarr, array, null, 7, { signal })
  );
  assertEquals(error, reason);
  assertEquals(await readAnew(stored), numbers(12));
});

Deno.test("setSharded stores no more shards after its signal aborts, and rejects with the reason", async () => {
  const reason = new Error("Enough");
  const stored = await shardedStore();
  const controller = new AbortController();
  let count = 0;
  const store: Store = observed(stored, ({ method }) => {
    if (method === "set" && ++count === 1) controller.abort(reason);
  });
  const partly = await openIn(store);
  const selection = [zarr.slice(2, 10)]; // No whole shard but one.
  const aborted = await assertRejects(() =>
    setSharded(zarr, partly, selection, 7, { signal: controller.signal })
  );
  assertEquals(aborted, reason);
  assert(count < 3, `${count} shards were stored`);
});
