import { assert, assertEquals } from "@std/assert";
import {
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
  openArrayChunks,
} from "../mod.ts";
import { concatParts } from "./support/metadata.ts";
import { logged } from "./support/observed_store.ts";

const INNER_CHUNKS = 12;
const INDEX_SIZE = 16 * INNER_CHUNKS + 4;
const ABSENT = 2n ** 64n - 1n;

Deno.test("offsets in a shard's index count from the start of the joined shard, header included", async () => {
  const plain = new FileSystemStore(
    new URL("./fixtures/dem.zarr", import.meta.url),
  );
  const source = await openArrayChunks(plain);
  const memory = new MemoryStore();
  await createArrayChunks(memory, "", {
    ...source.metadata,
    storage_transformers: [concatParts(
      { key_suffix: ".header", size: 64 },
      { key_suffix: "" },
      { key_suffix: ".index", size: INDEX_SIZE },
    )],
  });
  const { store, log } = logged(memory);
  const inParts = await openArrayChunks(store);

  let read = 0;
  for await (const coordinates of source.list()) {
    const shard = (await source.get(coordinates))!;
    await inParts.set(coordinates, shard);
    log.length = 0;
    const index = (await inParts.getRange(coordinates, {
      suffixLength: INDEX_SIZE,
    }))!;
    assertEquals(log, [`get ${inParts.key(coordinates)}.index`]);
    const view = new DataView(index.buffer, index.byteOffset);
    for (let i = 0; i < INNER_CHUNKS; i++) {
      if (view.getBigUint64(16 * i, true) === ABSENT) continue;
      const offset = Number(view.getBigUint64(16 * i, true));
      const length = Number(view.getBigUint64(16 * i + 8, true));
      log.length = 0;
      assertEquals(
        await inParts.getRange(coordinates, { offset, length }),
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
