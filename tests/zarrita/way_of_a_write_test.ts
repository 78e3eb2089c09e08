import { assertEquals } from "@std/assert";
import * as zarr from "zarrita";
import { createArrayChunks, FileSystemStore, MemoryStore } from "../../mod.ts";
import { KeyLocks } from "../../src/stores/locks.ts";
import { setSharded, withZarrParts } from "../../zarrita.ts";
import { shardedMetadata } from "./sharded_array.ts";

/** The keys of the locks of this process that a task takes. */
async function locksOf(task: () => Promise<unknown>): Promise<string[]> {
  const { write } = KeyLocks.prototype;
  const taken: string[] = [];
  KeyLocks.prototype.write = function (key, task, options) {
    if (!this.isHeld(key, options)) taken.push(key);
    return write.call(this, key, task as never, options) as never;
  };
  try {
    await task();
  } finally {
    KeyLocks.prototype.write = write;
  }
  return taken;
}

for (const parts of [[""], ["", ".index"]]) {
  Deno.test(`a write of a shard of ${parts.length} parts takes one lock of the process`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      for (const stored of [new MemoryStore(), new FileSystemStore(folder)]) {
        const metadata = shardedMetadata({
          storage_transformers: [{
            name: "concat-parts",
            configuration: {
              parts: parts.map((key_suffix) =>
                key_suffix === "" ? { key_suffix } : { key_suffix, size: 36 }
              ),
            },
          }],
        });
        const chunks = await createArrayChunks(stored, "", metadata);
        const array = await zarr.open(withZarrParts(stored), { kind: "array" });
        const write = (start: number, stop: number) =>
          locksOf(() =>
            setSharded(zarr, array, [zarr.slice(start, stop)], 7 as never)
          );
        assertEquals((await write(0, 4)).length, 1, "a new shard");
        assertEquals((await write(0, 4)).length, 1, "a replaced shard");
        assertEquals((await write(1, 2)).length, 1, "a part of a shard");
        assertEquals((await write(0, 12)).length, 3, "three shards");
        const changed = await locksOf(() =>
          zarr.set(array, [zarr.slice(0, 4)], 8)
        );
        assertEquals(changed.length, 1, "two inner chunks");
        const bytes = await chunks.get([0]);
        const set = await locksOf(() => chunks.set([1], bytes!));
        assertEquals(set.length, 1, "a whole shard");
        const removed = await locksOf(() => chunks.delete([1]));
        assertEquals(removed.length, 1, "a removed shard");
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}
