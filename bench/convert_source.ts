import type { ConvertOptions } from "../jobs.ts";
import {
  arrayMetadata,
  createArrayChunks,
  encodeShard,
  FileSystemStore,
  parseShardLayout,
} from "../mod.ts";
import { randomBytes } from "./bytes.ts";

/**
 * Makes an array of shards of random bytes in a folder.
 *
 * @param count The number of shards.
 * @param shard The length of their inner chunks together, in bytes.
 */
export async function makeArray(
  folder: string,
  count: number,
  shard: number,
  layout: ConvertOptions,
): Promise<void> {
  const inner = shard / 64;
  const metadata = arrayMetadata({
    shape: [count * shard],
    dataType: "uint8",
    shardShape: [shard],
    chunkShape: [inner],
    ...layout.parts && { parts: layout.parts },
  });
  const store = new FileSystemStore(folder);
  const chunks = await createArrayChunks(store, "", metadata);
  const shards = parseShardLayout(metadata.codecs[0], chunks.chunkShape);
  const bytes = Array.from({ length: 64 }, () => randomBytes(inner));
  for (let i = 0; i < count; i++) {
    await chunks.set([i], encodeShard(bytes, shards));
  }
}
