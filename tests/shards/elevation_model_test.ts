import { assertEquals } from "@std/assert";
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
  type ShardLayout,
  type Store,
  type StoreKey,
} from "../../mod.ts";
import { logged } from "../support/observed_store.ts";
import {
  ELEVATION_MODEL,
  type InnerChunk,
  innerChunks,
} from "./elevation_model.ts";

const plain = new FileSystemStore(ELEVATION_MODEL);
const chunks = await innerChunks();
const keys = [...new Set(chunks.map(({ key }) => key))];
const layout = await readLayout();
const HEADER_SIZE = 64;

async function readLayout(): Promise<ShardLayout> {
  const text = new TextDecoder().decode(await plain.get("/zarr.json"));
  const { chunk_grid, codecs } = JSON.parse(text);
  return parseShardLayout(codecs[0], chunk_grid.configuration.chunk_shape);
}

/** Reads an inner chunk from the shard that a store has. */
function read(store: Store, { key, coordinates }: InnerChunk) {
  return readInnerChunk(
    (range) => store.getRange!(key, range),
    layout,
    coordinates,
    { key },
  );
}

/** A store with each shard in a header, its data and its index, and the log of its requests. */
async function inParts() {
  const { store, log } = logged(new MemoryStore());
  const composed = new ConcatParts([
    { keySuffix: ".header", size: HEADER_SIZE },
    { keySuffix: "" },
    { keySuffix: ".index", size: shardIndexSize(layout) },
  ]).apply(store);
  for (const key of keys) await composed.set!(key, (await plain.get(key))!);
  return { composed, log };
}

Deno.test("readInnerChunk reads the 144 inner chunks that zarr-python wrote", async () => {
  assertEquals(chunks.length, 144);
  for (const chunk of chunks) {
    assertEquals(await read(plain, chunk), chunk.bytes, JSON.stringify(chunk));
  }
});

Deno.test("readInnerChunk returns undefined only for inner chunks past the edge of the array, and a zstd frame for all others", async () => {
  let present = 0;
  for (const chunk of chunks) {
    const bytes = await read(plain, chunk);
    assertEquals(bytes !== undefined, chunk.isInArray);
    if (bytes === undefined) continue;
    assertEquals([...bytes.slice(0, 4)], [0x28, 0xb5, 0x2f, 0xfd]);
    present++;
  }
  assertEquals(present, 11 * 11);
});

Deno.test("readInnerChunk reads all inner chunks from shards in parts, whose offsets count the header", async () => {
  const { composed, log } = await inParts();
  let inHeader = 0;
  for (const chunk of chunks) {
    log.length = 0;
    assertEquals(await read(composed, chunk), chunk.bytes);
    const { key, offset, bytes } = chunk;
    const isInHeader = bytes !== undefined && offset < HEADER_SIZE;
    // The first inner chunk begins in the header; no other touches it.
    assertEquals(log, [
      `get ${key}.index`,
      ...isInHeader ? [`get ${key}.header`] : [],
      ...bytes ? [`getRange ${key}`] : [],
    ]);
    if (isInHeader) inHeader++;
  }
  assertEquals(inHeader, 12);
});

Deno.test("readShardIndex reads the index of a shard in parts from the part of the index", async () => {
  const { composed, log } = await inParts();
  for (const key of keys) {
    log.length = 0;
    const index = await readShardIndex(
      (range) => composed.getRange(key, range),
      layout,
      key,
    );
    assertEquals(log, [`get ${key}.index`]);
    assertShardIndex(index!, layout, (await plain.size(key))!, key);
    assertEquals(
      index!.map((entry) => entry?.length),
      chunks.filter((chunk) => chunk.key === key)
        .map(({ bytes }) => bytes?.length),
    );
  }
});

Deno.test("readInnerChunk reads from shards in parts with any cuts", async () => {
  for (const [header, index] of [[0, 0], [1, 195], [9000, 1000], [3, 197]]) {
    const store = new ConcatParts([
      { keySuffix: ".header", size: header! },
      { keySuffix: "" },
      { keySuffix: ".end", size: index! },
    ]).apply(new MemoryStore());
    const key: StoreKey = "/c/1/2";
    await store.set(key, (await plain.get(key))!);
    for (const chunk of chunks.filter((chunk) => chunk.key === key)) {
      assertEquals(await read(store, chunk), chunk.bytes);
    }
  }
});

Deno.test("encodeShard makes shards as long as those of zarr-python with the same inner chunks", async () => {
  for (const key of keys) {
    const file = (await plain.get(key))!;
    const inOrder = chunks.filter((chunk) => chunk.key === key);
    const shard = encodeShard(inOrder.map(({ bytes }) => bytes), layout);
    assertEquals(shard.length, file.length);
    const again = new MemoryStore([[key, shard]]);
    for (const chunk of inOrder) {
      assertEquals(await read(again, chunk), chunk.bytes);
    }
  }
  assertEquals(keys.length, 12);
});
