import {
  arrayMetadata,
  createArrayChunks,
  encodeShard,
  FileSystemStore,
  parseShardLayout,
} from "../mod.ts";
import type { ConvertOptions } from "../src/jobs/mod.ts";
import { randomBytes } from "./bytes.ts";

/** The number of shards of an array. */
export const SHARDS = 64;

/** Makes an array of shards of random bytes in a folder. */
export async function makeArray(
  folder: string,
  shard: number,
  layout: ConvertOptions,
): Promise<void> {
  const inner = shard / 64;
  const metadata = arrayMetadata({
    shape: [SHARDS * shard],
    dataType: "uint8",
    shardShape: [shard],
    chunkShape: [inner],
    ...layout.parts && { parts: layout.parts },
  });
  const store = new FileSystemStore(folder);
  const chunks = await createArrayChunks(store, "", metadata);
  const shards = parseShardLayout(metadata.codecs[0], chunks.chunkShape);
  const bytes = Array.from({ length: 64 }, () => randomBytes(inner));
  for (let i = 0; i < SHARDS; i++) {
    await chunks.set([i], encodeShard(bytes, shards));
  }
}
