import { assertEquals, assertRejects } from "@std/assert";
import * as zarr from "zarrita";
import {
  createArrayChunks,
  encodeShard,
  FileSystemStore,
  MemoryStore,
  openArrayChunks,
  type Store,
} from "../../mod.ts";
import { GroupStore } from "../../src/stores/locks.ts";
import { registerCodecs } from "../../zarrita.ts";
import { inTempDir } from "../stores/temp_dir.ts";
import { concatParts } from "../support/metadata.ts";
import { withoutVersions } from "../support/without_versions.ts";
import { layoutOf, openIn, shardedMetadata } from "../zarrita/sharded_array.ts";

registerCodecs(zarr.registry);

const WAYS = {
  "in one object": {},
  "in parts": {
    storage_transformers: [
      concatParts({ key_suffix: "" }, { key_suffix: ".index", size: 36 }),
    ],
  },
};

for (const [way, members] of Object.entries(WAYS)) {
  Deno.test(`ArrayChunks waits for a change of inner chunks of a shard ${way}, and is not undone by it`, async () => {
    await inTempDir(async (folder) => {
      const memory = new MemoryStore();
      const stores: Store[] = [
        memory,
        withoutVersions(new MemoryStore()),
        new FileSystemStore(folder),
      ];
      for (const store of stores) {
        const metadata = shardedMetadata(members);
        const chunks = await createArrayChunks(store, "", metadata);
        const array = await openIn(store);
        const shard = (value: number, prefix: number) =>
          encodeShard(
            [value, value].map((it) => Uint8Array.of(it, it)),
            layoutOf(metadata),
            { prefix: new Uint8Array(prefix) },
          );
        for (let i = 0; i < 20; i++) {
          const value = 10 + i;
          const work = [
            chunks.set([0], shard(value, i % 7)),
            zarr.set(array, [zarr.slice(0, 2)], 100 + i),
            zarr.set(array, [zarr.slice(2, 4)], 150 + i),
          ];
          if (i % 2) work.push(chunks.set([1], shard(value, 3)));
          await Promise.all(i % 3 ? work : work.reverse());
          const { data } = await zarr.get(array, [zarr.slice(4)]);
          const anew = await openIn(store);
          assertEquals((await zarr.get(anew, [zarr.slice(4)])).data, data);
          for (const [j, later] of [[0, 100 + i], [2, 150 + i]] as const) {
            assertEquals(data[j], data[j + 1]);
            assertEquals([value, later].includes(data[j]!), true, `${data}`);
          }
          await chunks.delete([0]);
          assertEquals(await zarr.get(array, [0]), 0);
        }
      }
    });
  });
}

Deno.test("ArrayChunks.set and delete of a shard in one object wait for whoever has locked the shard", async () => {
  await inTempDir(async (folder) => {
    const metadata = shardedMetadata();
    const chunks = await createArrayChunks(
      new FileSystemStore(folder),
      "",
      metadata,
    );
    const other = new FileSystemStore(folder);
    const shard = new Uint8Array([1, 2, 3]);
    const changes = [
      [() => chunks.set([0], shard), undefined],
      [() => chunks.set([0], new Blob([shard]).stream()), shard],
      [() => chunks.delete([0]), shard],
    ] as const;
    for (const [change, before] of changes) {
      let changing: Promise<void> | undefined;
      await other.group("/c/0", ["/c/0"]).lock!(async (group) => {
        changing = change();
        await new Promise((resolve) => setTimeout(resolve, 30));
        const present = await group.read((values) => values.get("/c/0"));
        assertEquals(present, before);
        await new GroupStore(group).set("/c/0", new Uint8Array(9));
      });
      await changing;
      const after = change === changes[2][0] ? undefined : shard;
      assertEquals(await chunks.get([0]), after);
    }
  });
});

for (
  const [what, members] of [["a chunk", { codecs: ["bytes"] }], [
    "a shard",
    {},
  ]] as const
) {
  Deno.test(`ArrayChunks stores ${what} of one object without a lock if exclusive says so`, async () => {
    await inTempDir(async (folder) => {
      const store = new FileSystemStore(folder);
      const metadata = shardedMetadata(members);
      const chunks = await createArrayChunks(store, "", metadata);
      // Of another program, as it were: in one program, calls with one store wait in turn.
      const others = await openArrayChunks(new FileSystemStore(folder));
      const value = (element: number) =>
        "codecs" in members ? new Uint8Array(4).fill(element) : encodeShard(
          [undefined, Uint8Array.of(element, element)],
          layoutOf(metadata),
        );
      const key = chunks.key([0]);
      let isStored = false;
      let waiting: Promise<void> | undefined;
      await new FileSystemStore(folder).group(key, [key]).lock!(async () => {
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

Deno.test("ArrayChunks stores chunks in parts under the lock, also with exclusive", async () => {
  await inTempDir(async (folder) => {
    const store = new FileSystemStore(folder);
    const metadata = shardedMetadata(WAYS["in parts"]);
    const chunks = await createArrayChunks(store, "", metadata);
    const shard = encodeShard(
      [undefined, Uint8Array.of(1, 1)],
      layoutOf(metadata),
    );
    const key = chunks.key([0]);
    let isStored = false;
    let waiting: Promise<void> | undefined;
    const keys = [key, `${key}.index`] as const;
    await new FileSystemStore(folder).group(key, keys).lock!(async () => {
      waiting = chunks.set([0], shard, { exclusive: true }).then(() => {
        isStored = true;
      });
      // Another chunk takes the same steps, and waits for no lock.
      await chunks.set([1], shard, { exclusive: true });
      assertEquals(isStored, false);
    });
    await waiting;
    assertEquals(await chunks.get([0]), shard);
  });
});

Deno.test("ArrayChunks refuses another exclusive than true and false", async () => {
  const chunks = await createArrayChunks(
    new MemoryStore(),
    "",
    shardedMetadata({}),
  );
  await assertRejects(
    () => chunks.set([0], new Uint8Array(36), { exclusive: "yes" as never }),
    TypeError,
    "exclusive",
  );
});
