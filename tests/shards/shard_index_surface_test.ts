import { assert, assertEquals } from "@std/assert";
import {
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  openArrayChunks,
  parseShardLayout,
  readShardIndex,
  shardIndexSize,
} from "../../mod.ts";
import { concatParts } from "../support/metadata.ts";
import { logged } from "../support/observed_store.ts";

Deno.test("offsets in a shard's index count from the start of the joined shard, header included", async () => {
  const plain = new FileSystemStore(
    new URL("../fixtures/dem.zarr", import.meta.url),
  );
  const source = await openArrayChunks(plain);
  const layout = parseShardLayout(source.metadata.codecs[0], [128, 120]);
  const memory = new MemoryStore();
  await createArrayChunks(memory, "", {
    ...source.metadata,
    storage_transformers: [concatParts(
      { key_suffix: ".header", size: 64 },
      { key_suffix: "" },
      { key_suffix: ".index", size: shardIndexSize(layout) },
    )],
  });
  const { store, log } = logged(memory);
  const inParts = await openArrayChunks(store);

  let read = 0;
  for await (const coordinates of source.list()) {
    const shard = (await source.get(coordinates))!;
    await inParts.set(coordinates, shard);
    log.length = 0;
    const index = await readShardIndex(
      (range) => inParts.getRange(coordinates, range),
      layout,
    );
    assertEquals(log, [`get ${inParts.key(coordinates)}.index`]);
    for (const entry of index!) {
      if (entry === undefined) continue;
      const { offset, length } = entry;
      log.length = 0;
      assertEquals(
        await inParts.getRange(coordinates, entry),
        shard.slice(offset, offset + length),
      );
      // The first inner chunk begins in the header; no other touches it.
      const key = inParts.key(coordinates);
      assertEquals(
        log,
        offset < 64
          ? [`get ${key}.header`, `getRange ${key}`]
          : [`getRange ${key}`],
      );
      read++;
    }
  }
  assert(read > 100, `${read} inner chunks`);
});
