import { assert, assertEquals } from "@std/assert";
import { Session } from "node:inspector/promises";
import * as zarr from "zarrita";
import { createArrayChunks, FileSystemStore, MemoryStore } from "../../mod.ts";
import { KeyLocks } from "../../src/stores/locks.ts";
import { setSharded, withZarrParts } from "../../zarrita.ts";
import { shardedMetadata } from "./sharded_array.ts";

const SRC = new URL("../../src/", import.meta.url).href;

/** The files of `src/` of which functions run in a task. */
async function filesOf(task: () => Promise<unknown>): Promise<string[]> {
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true });
    await session.post("Profiler.takePreciseCoverage"); // Starts from 0.
    await task();
    const { result } = await session.post(
      "Profiler.takePreciseCoverage",
    ) as {
      result: {
        url: string;
        functions: { ranges: { count: number }[] }[];
      }[];
    };
    return result.filter(({ url, functions }) =>
      url.startsWith(SRC) &&
      functions.some(({ ranges }) => ranges[0]!.count > 0)
    ).map(({ url }) => url.slice(SRC.length)).sort();
  } finally {
    session.disconnect();
  }
}

Deno.test("zarr.get reads an inner chunk of a shard that was read before through ten files, those of the store included", async () => {
  for (const parts of [[""], ["", ".index"]]) {
    const stored = new MemoryStore();
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
    await createArrayChunks(stored, "", metadata);
    const array = await zarr.open(withZarrParts(stored), { kind: "array" });
    await setSharded(zarr, array, null, 7 as never);
    await zarr.get(array, [zarr.slice(0, 2)]);
    const files = await filesOf(async () => {
      const { data } = await zarr.get(array, [zarr.slice(2, 4)]);
      assertEquals([...data as Iterable<unknown>], [7, 7]);
    });
    assert(files.includes("shards/shard_reader.ts"), files.join(", "));
    assert(files.length <= 10, files.join(", "));
  }
});

Deno.test("zarr.get reads an inner chunk of a file through seven files above the store", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const stored = new FileSystemStore(folder);
    await createArrayChunks(stored, "", shardedMetadata());
    const array = await zarr.open(withZarrParts(stored), { kind: "array" });
    await setSharded(zarr, array, null, 7 as never);
    // The index of a file that was changed just now is not cached.
    const before = new Date(Date.now() - 60_000);
    await Deno.utime(`${folder}/c/0`, before, before);
    await zarr.get(array, [zarr.slice(0, 2)]);
    const files = await filesOf(() => zarr.get(array, [zarr.slice(2, 4)]));
    const above = files.filter((file) => !file.startsWith("stores/"));
    assert(above.length <= 7, above.join(", "));
    assert(files.length > above.length, files.join(", "));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("zarr.get reads the first inner chunk of a shard in parts through fourteen files", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const metadata = shardedMetadata({
      storage_transformers: [{
        name: "concat-parts",
        configuration: {
          parts: [{ key_suffix: "" }, { key_suffix: ".index", size: 36 }],
        },
      }],
    });
    const stored = new FileSystemStore(folder);
    await createArrayChunks(stored, "", metadata);
    const before = await zarr.open(withZarrParts(stored), { kind: "array" });
    await setSharded(zarr, before, null, 7 as never);
    const cold = withZarrParts(new FileSystemStore(folder));
    const array = await zarr.open(cold, { kind: "array" });
    await zarr.get(array, [zarr.slice(8, 10)]);
    const files = await filesOf(() => zarr.get(array, [zarr.slice(2, 4)]));
    assert(files.length <= 14, files.join(", "));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** The keys of the locks of this process that a task takes. */
async function locksOf(task: () => Promise<unknown>): Promise<string[]> {
  const { write } = KeyLocks.prototype;
  const taken: string[] = [];
  KeyLocks.prototype.write = function (key, task, options) {
    taken.push(key);
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
      for (const stored of [new FileSystemStore(folder)]) {
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
