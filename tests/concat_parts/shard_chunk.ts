import { ConcatParts, MemoryStore, type Part } from "../../mod.ts";

/** The parts of a shard: a header, the inner chunks, and the index of 100 inner chunks. */
export const SHARD: Part[] = [
  { keySuffix: ".header", size: 64 },
  { keySuffix: "" },
  { keySuffix: ".index", size: 1604 },
];

/** A memory store that holds one chunk, `/c/0`, in parts. */
export async function storedChunk(
  parts: Part[],
  chunk: Uint8Array,
): Promise<MemoryStore> {
  const store = new MemoryStore();
  await new ConcatParts(parts).apply(store).set("/c/0", chunk);
  return store;
}
