/** The inner chunks that zarr-python wrote, as they are and in parts. */
import { assert, assertEquals } from "@std/assert";
import {
  assertShardIndex,
  ConcatParts,
  encodeShard,
  FileSystemStore,
  MemoryStore,
  parseShardLayout,
  readInnerChunk,
  readShardIndex,
  shardIndexSize,
} from "../../mod.ts";
import { logged } from "../support/observed_store.ts";
import { ELEVATION_MODEL, innerChunks } from "./elevation_model.ts";

const plain = new FileSystemStore(ELEVATION_MODEL);
const chunks = await innerChunks();
const keys = [...new Set(chunks.map(({ key }) => key))];
const text = new TextDecoder().decode(await plain.get("/zarr.json"));
const { chunk_grid, codecs } = JSON.parse(text);
const layout = parseShardLayout(
  codecs[0],
  chunk_grid.configuration.chunk_shape,
);

Deno.test("parseShardLayout reads the metadata that zarr-python wrote", () => {
  assertEquals(layout, {
    chunksPerShard: [4, 3],
    indexLocation: "end",
    indexEndian: "little",
    indexHasChecksum: true,
  });
  assertEquals(shardIndexSize(layout), 196);
});

/** The cuts of shards into a header, the data and an end; `undefined` for the files as they are. */
const CUTS: ([header: number, end: number] | undefined)[] = [
  undefined,
  [64, 196],
  [0, 0],
  [1, 195],
  [2000, 900],
  [3, 197],
];

for (const cut of CUTS) {
  Deno.test(`readInnerChunk reads the 144 inner chunks that zarr-python wrote, in parts of ${cut ?? "no"} sizes`, async () => {
    const [header = 0, end = 0] = cut ?? [];
    const { store: memory, log } = logged(new MemoryStore());
    const parts = new ConcatParts([
      { keySuffix: ".header", size: header },
      { keySuffix: "" },
      { keySuffix: ".end", size: end },
    ]).apply(memory);
    const store = cut ? parts : plain;
    let present = 0;
    for (const key of keys) {
      const shard = (await plain.get(key))!;
      if (cut) await parts.set!(key, shard);
      const index = await readShardIndex(
        (range) => store.getRange(key, range),
        layout,
        key,
      );
      assertShardIndex(index!, layout, shard.length, key);
      for (const chunk of chunks.filter((chunk) => chunk.key === key)) {
        const { coordinates, offset, bytes, isInArray } = chunk;
        log.length = 0;
        const found = await readInnerChunk(
          (range) => store.getRange(key, range),
          layout,
          coordinates,
          { key },
        );
        assertEquals(found, bytes);
        assertEquals(found !== undefined, isInArray);
        if (found) present++;
        if (header !== 64) continue;
        // The first inner chunk begins in the header; no other touches it.
        assertEquals(log, [
          `get ${key}.end`,
          ...bytes && offset < 64 ? [`get ${key}.header`] : [],
          ...bytes ? [`getRange ${key}`] : [],
        ]);
      }
    }
    assertEquals([chunks.length, present], [144, 121]);
  });
}

Deno.test("encodeShard makes shards as long as those of zarr-python with the same inner chunks", async () => {
  for (const key of keys) {
    const file = (await plain.get(key))!;
    const shard = encodeShard(
      chunks.filter((chunk) => chunk.key === key).map(({ bytes }) => bytes),
      layout,
    );
    assertEquals(shard.length, file.length);
  }
  assert(keys.length === 12);
});
