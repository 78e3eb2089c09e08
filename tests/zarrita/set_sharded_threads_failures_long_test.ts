import { assert, assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import { LEAST_WRITTEN } from "../../src/zarrita/set_sharded.ts";
import {
  setSharded,
  type SetShardedOptions,
  ThreadPool,
} from "../../zarrita.ts";
import { contentsOf } from "../support/bytes.ts";
import { observed } from "../support/observed_store.ts";
import {
  countedPool,
  STARTED,
  startProgramOf,
} from "../threads/counted_pool.ts";
import {
  documentOf,
  openArray,
  storeArray,
  type Stored,
} from "./threaded_array.ts";

LEAST_WRITTEN.toStart = 0;
LEAST_WRITTEN.toUse = 0;

/** Six shards of two chunks of four elements. */
const STORED: Stored = {
  shape: [48],
  dataType: "uint16",
  chunkShapes: [[8], [4]],
  codecs: [
    { name: "bytes", configuration: { endian: "little" } },
    { name: "gzip", configuration: { level: 1 } },
  ],
};
const VALUE = new Uint16Array(48).map((_, i) => 1000 + i);

async function write(
  store: object,
  options: SetShardedOptions,
  selection: (null | zarr.Slice)[] = [null],
  value: Uint16Array | number = VALUE,
): Promise<void> {
  const array = await openArray(store);
  await setSharded(zarr, array as never, selection, value as never, options);
}

/** Disposes a pool, and waits for what its start of workers has left for later. */
async function end(threads: ThreadPool): Promise<void> {
  threads[Symbol.dispose]();
  await new Promise((resolve) => setTimeout(resolve));
}

const DEAD: Record<string, string> = {
  "fails to start": "throw new Error('No start');",
  "throws an error at work":
    "onmessage = () => { throw new Error('No work'); };" + STARTED,
  "never answers": "onmessage = () => {};" + STARTED,
};

for (const [what, program] of Object.entries(DEAD)) {
  Deno.test(`setSharded rejects if a thread ${what}, and stores no shard`, async () => {
    for (const selection of [null, zarr.slice(2, 46)]) {
      const store = await storeArray(STORED);
      const before = await contentsOf(store);
      const { threads } = countedPool(
        { threads: 2, timeout: 300 },
        () => startProgramOf(program),
      );
      const value = selection === null ? VALUE : 7;
      const error = await assertRejects(
        () => write(store, { threads }, [selection], value),
        Error,
      );
      assert(/thread|worker/.test(error.message), error.message);
      assertEquals(await contentsOf(store), before);
      await end(threads);
    }
  });
}

Deno.test("setSharded throws the errors of codecs that it throws without threads, and keeps the shard", async () => {
  using threads = new ThreadPool({ threads: 2 });
  const [bytes, gzip] = STORED.codecs;
  for (
    const [codecs, start] of [
      [[bytes, { name: "no_such_codec", configuration: {} }], 0],
      [[bytes, { name: "zlib", configuration: { level: 99 } }], 0],
      // The first chunk, which is damaged, is kept in part.
      [[bytes, gzip], 1],
    ] as const
  ) {
    const found: unknown[] = [];
    for (const options of [{ threads }, { threads: 0 }]) {
      const store = await storeArray(STORED);
      await store.set(
        "/zarr.json",
        documentOf({ ...STORED, codecs: [...codecs] }),
      );
      const shard = (await store.get("/c/0"))!.fill(1, 10, 30);
      await store.set("/c/0", shard);
      const selection = [zarr.slice(start, 48)];
      const { name, message, cause, chunkPath } = await assertRejects(
        () => write(store, options, selection, VALUE.subarray(start)),
        Error,
      ) as Error & { chunkPath?: string };
      assert(start === 0 || message.includes("/c/0"), message);
      found.push([name, message, String(cause), chunkPath]);
      assertEquals(await store.get("/c/0"), shard);
    }
    assertEquals(found[0], found[1]);
  }
});

Deno.test("setSharded stops sending chunks to threads once a shard fails or the signal aborts", async () => {
  const reason = new Error("Enough");
  for (const how of ["signal", "shard"]) {
    const { threads, counts } = countedPool({ threads: 1 });
    const memory = await storeArray({ ...STORED, shape: [4000] });
    const controller = new AbortController();
    let sets = 0;
    const store = observed(memory, ({ method, key }) => {
      if (method !== "set" || key === "/zarr.json" || ++sets < 3) return;
      if (how === "signal") controller.abort(reason);
      else throw reason;
    });
    const { signal } = controller;
    const error = await assertRejects(() =>
      write(store, { threads, signal }, [null], new Uint16Array(4000))
    );
    assertEquals(error, reason);
    assert(counts.jobs < 500, `${counts.jobs} of 1000 chunks were sent`);
    const stored = sets;
    for (let i = 0; i < 5; i++) {
      await new Promise((next) => setTimeout(next, 5));
    }
    assertEquals(sets, stored);
    await end(threads);
  }
});
