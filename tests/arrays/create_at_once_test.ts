import { assert, assertEquals } from "@std/assert";
import {
  type ArrayMetadata,
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  MetadataError,
  openArrayChunks,
  type Store,
} from "../../mod.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { arrayMetadata } from "../support/metadata.ts";

/** The metadata of an array that tells who created it. */
function metadataOf(creator: number): ArrayMetadata {
  return arrayMetadata({ attributes: { creator } });
}

/** A store without groups that takes its time. */
function slowStore(): Store {
  const memory = new MemoryStore();
  const pause = () => new Promise((resolve) => setTimeout(resolve, 1));
  return {
    async get(key) {
      await pause();
      return await memory.get(key);
    },
    async set(key, value) {
      await pause();
      await memory.set(key, value);
    },
  };
}

/** Asserts that one of several creations succeeds, and that its array is the one that stands. */
async function assertOne(
  stores: readonly Store[],
  path: string,
): Promise<void> {
  const results = await Promise.allSettled(
    stores.map((store, i) => createArrayChunks(store, path, metadataOf(i))),
  );
  const winners = results.flatMap(({ status }, i) =>
    status === "fulfilled" ? [i] : []
  );
  assertEquals(winners.length, 1);
  for (const result of results) {
    if (result.status === "fulfilled") continue;
    assert(result.reason instanceof MetadataError, String(result.reason));
    assert(result.reason.message.includes("a node is there already"));
  }
  const { metadata } = await openArrayChunks(stores[0]!, path);
  assertEquals(metadata.attributes, { creator: winners[0] });
}

Deno.test("createArrayChunks creates one array of several at once", async () => {
  await inTempDir(async (folder) => {
    const slow = slowStore();
    const memory = new MemoryStore();
    for (let round = 0; round < 20; round++) {
      const path = `group/${round}`;
      await assertOne(new Array(5).fill(memory), path);
      await assertOne(new Array(5).fill(slow), path);
      await assertOne(
        Array.from({ length: 5 }, () => new FileSystemStore(folder)),
        path,
      );
    }
    for (const path of ["group/0", "group/19"]) {
      const files = Deno.readDir(`${folder}/${path}`);
      const names = await Array.fromAsync(files, ({ name }) => name);
      assertEquals(names, ["zarr.json"]);
    }
  });
});
