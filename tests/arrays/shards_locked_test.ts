import { assertEquals, assertRejects } from "@std/assert";
import {
  createArrayChunks,
  encodeShard,
  FileSystemStore,
  MemoryStore,
  openArrayChunks,
  type StoreKey,
} from "../../mod.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { layoutOf, shardedMetadata } from "../zarrita/sharded_array.ts";
const METADATA = shardedMetadata({});
const KEY = "/c/0";

function shardOf(element: number): Uint8Array {
  const inner = Uint8Array.of(element, element);
  return encodeShard([undefined, inner], layoutOf(METADATA));
}

/** Runs a task while another program, as it were, has locked values of a folder. */
function whileLocked(
  folder: string,
  keys: readonly StoreKey[],
  task: () => Promise<void>,
): Promise<void> {
  const other = new FileSystemStore(folder);
  return other.update(keys, async () => {
    await task();
    return "keep";
  });
}

Deno.test("ArrayChunks.set and delete of a shard in one object wait for whoever has locked the shard", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    const chunks = await createArrayChunks(store, "", METADATA);
    const shard = shardOf(1);
    const changes = [
      [() => chunks.set([0], shard), undefined, shard],
      [() => chunks.set([0], ReadableStream.from([shard])), shard, shard],
      [() => chunks.delete([0]), shard, undefined],
    ] as const;
    for (const [change, before, after] of changes) {
      let changing: Promise<void> | undefined;
      let isDone = false;
      await whileLocked(folder, [KEY], async () => {
        changing = change().then(() => {
          isDone = true;
        });
        // Another chunk takes the same steps, and waits for no lock.
        await chunks.set([1], shard);
        assertEquals(isDone, false);
        assertEquals(await chunks.get([0]), before);
      });
      await changing;
      assertEquals(await chunks.get([0]), after);
    }
  });
});

for (
  const [what, members] of [
    ["a chunk", { codecs: ["bytes"] }],
    ["a shard", {}],
  ] as const
) {
  Deno.test(`ArrayChunks stores ${what} of one object without a lock if exclusive says so`, async () => {
    await inTempDir(async (folder) => {
      const store = new FileSystemStore(folder);
      const chunks = await createArrayChunks(
        store,
        "",
        shardedMetadata(members),
      );
      // Of another program, as it were: in one program, calls with one store wait in turn.
      const others = await openArrayChunks(new FileSystemStore(folder));
      const value = (element: number) =>
        "codecs" in members
          ? new Uint8Array(4).fill(element)
          : shardOf(element);
      let isStored = false;
      let waiting: Promise<void> | undefined;
      await whileLocked(folder, [KEY], async () => {
        waiting = chunks.set([0], value(1)).then(() => {
          isStored = true;
        });
        await others.set([0], value(2), { exclusive: true });
        assertEquals(await others.get([0]), value(2));
        assertEquals(isStored, false);
      });
      await waiting;
      assertEquals(await chunks.get([0]), value(1));
    });
  });
}

Deno.test("ArrayChunks refuses another exclusive than true and false", async () => {
  const chunks = await createArrayChunks(new MemoryStore(), "", METADATA);
  await assertRejects(
    () => chunks.set([0], new Uint8Array(36), { exclusive: "yes" as never }),
    TypeError,
    "exclusive",
  );
});
