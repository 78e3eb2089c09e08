import { type ByteRange, MemoryStore, type ReadShardRange } from "../../mod.ts";

/** A store with or without a shard, and the ranges read from the shard. */
export function recordedShard(
  shard: Uint8Array | undefined,
): { read: ReadShardRange; ranges: ByteRange[] } {
  const store = new MemoryStore(shard && [["/c/0", shard]]);
  const ranges: ByteRange[] = [];
  return {
    ranges,
    read(range) {
      ranges.push({ ...range });
      return store.getRange("/c/0", range);
    },
  };
}
