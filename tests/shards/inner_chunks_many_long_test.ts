import { assert, assertEquals } from "@std/assert";
import { encodeShard, MemoryStore, type ShardLayout } from "../../mod.ts";
import { InnerChunks } from "../../src/shards/inner_chunks.ts";
import { logged } from "../support/observed_store.ts";

const KEY = "/c/0";
/** More than a function can be given as arguments. */
const COUNT = 200_000;

Deno.test("InnerChunks reads and sets any number of inner chunks at once", async () => {
  const layout: ShardLayout = {
    chunksPerShard: [COUNT],
    indexLocation: "end",
    indexEndian: "little",
    indexHasChecksum: true,
  };
  const stored = new MemoryStore();
  const chunks = Array.from(
    { length: COUNT },
    (_, i) => new Uint8Array([i % 251]),
  );
  await stored.set(KEY, encodeShard(chunks, layout));
  const { store, log } = logged(stored);
  const inner = new InnerChunks(store, [layout]);
  await inner.at([[0]]).get(KEY); // So that all wait for nothing but their bytes.
  const read = await Promise.all(
    chunks.map((_, i) => inner.at([[i]]).get(KEY)),
  );
  assert(read.every((bytes, i) => bytes?.length === 1 && bytes[0] === i % 251));
  assertEquals(log.length, 3);
  log.length = 0;
  const value = new Uint8Array([9]);
  await Promise.all(chunks.map((_, i) => inner.at([[i]]).set!(KEY, value)));
  assertEquals(log, [`get ${KEY}`, `set ${KEY}`]);
  assertEquals(await inner.at([[COUNT - 1]]).get(KEY), value);
});
