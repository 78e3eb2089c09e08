/** Deleting and restoring chunks. */
import { assertEquals, assertRejects } from "@std/assert";
import { ConcatParts, MemoryStore, type Part, type Store } from "../../mod.ts";
import { contentsOf, countingBytes } from "../support/bytes.ts";
import { logged, observed, STORE_METHODS } from "../support/observed_store.ts";

const KEY = "/c/0";
const PARTS: Part[] = [
  { keySuffix: ".h", size: 3 },
  { keySuffix: "" },
  { keySuffix: ".t", size: 2 },
];

Deno.test("ConcatParts.apply: delete over a group stores no copies", async () => {
  const memory = new MemoryStore();
  const { store, log } = logged(memory, [...STORE_METHODS, "group"]);
  const composed = new ConcatParts(PARTS).apply(store);
  await composed.set!(KEY, countingBytes(9));
  log.length = 0;
  await composed.delete!(KEY);
  assertEquals(
    log,
    [KEY, `${KEY}.h`, `${KEY}.t`].map((key) => `delete ${key}`),
  );
  assertEquals(await contentsOf(memory), {});
});

Deno.test("ConcatParts.apply: delete over a store without groups stores nothing, also if it fails", async () => {
  for (const failing of [undefined, KEY, `${KEY}.h`, `${KEY}.t`]) {
    const memory = new MemoryStore();
    await new ConcatParts(PARTS).apply(memory).set(KEY, countingBytes(9));
    const stored: string[] = [];
    const store = observed(memory, ({ method, key }) => {
      if (method === "set") stored.push(key);
      if (method === "delete" && key === failing) throw new Error("No space");
    });
    const composed = new ConcatParts(PARTS).apply(store);
    const before = await contentsOf(memory);
    if (failing === undefined) await composed.delete!(KEY);
    else {
      await assertRejects(() => composed.delete!(KEY), Error, "No space");
      assertEquals(await contentsOf(memory), before);
    }
    // Only parts that are gone are stored again.
    const gone = [KEY, `${KEY}.h`, `${KEY}.t`];
    assertEquals(
      stored,
      gone.slice(0, Math.max(0, gone.indexOf(failing as typeof KEY))),
    );
  }
});

Deno.test("ConcatParts.apply: readers wait until a chunk is restored, over a store without groups", async () => {
  const memory = new MemoryStore();
  const before = countingBytes(9, 100);
  await new ConcatParts(PARTS).apply(memory).set(KEY, before);
  const reads: Promise<unknown>[] = [];
  let isFailing = false;
  const store: Store = {
    get: (key) => memory.get(key),
    async set(key, value) {
      // A reader comes during each step, also while parts are restored.
      reads.push(new ConcatParts(PARTS).apply(store).get(KEY));
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (key === `${KEY}.h` && !isFailing) {
        isFailing = true;
        throw new Error("Disk full");
      }
      await memory.set(key, value);
    },
  };
  await assertRejects(
    () => new ConcatParts(PARTS).apply(store).set!(KEY, countingBytes(12)),
    Error,
    "Disk full",
  );
  assertEquals(reads.length, 3);
  for (const read of reads) assertEquals(await read, before);
});
