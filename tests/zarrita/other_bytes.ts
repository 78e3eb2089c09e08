import {
  type ArrayMetadata,
  encodeShardIndex,
  type ShardIndex,
} from "../../mod.ts";
import { concatParts } from "../support/metadata.ts";
import { layoutOf, shardedMetadata } from "./sharded_array.ts";

/** The pieces of a shard in their order: the place of an inner chunk, or other bytes. */
export type Pieces = readonly (number | readonly number[])[];

/** An array of one shard of two inner chunks of two elements, in one object or in parts. */
export function metadataOf(
  { parts = [], location = "end" }: {
    parts?: readonly { key_suffix: string; size?: number }[];
    location?: "start" | "end";
  },
): ArrayMetadata {
  const changes = parts.length > 0
    ? { storage_transformers: [concatParts(...parts)] }
    : {};
  return shardedMetadata({ shape: [4], ...changes }, { location });
}

/** The elements of an inner chunk in `shardOf`. */
export function chunkAt(place: number): number[] {
  return [10 * place + 11, 10 * place + 12];
}

/**
 * A shard of these pieces with its index; the inner chunks that are no pieces are
 * absent. An index at the start comes before the pieces.
 */
export function shardOf(metadata: ArrayMetadata, pieces: Pieces): Uint8Array {
  const layout = layoutOf(metadata);
  const isAtStart = layout.indexLocation === "start";
  const index: ShardIndex[number][] = [undefined, undefined];
  const body: number[] = isAtStart ? Array(36).fill(0) : [];
  for (const piece of pieces) {
    const isChunk = typeof piece === "number";
    if (isChunk) index[piece] = { offset: body.length, length: 2 };
    body.push(...isChunk ? chunkAt(piece) : piece);
  }
  const indexBytes = encodeShardIndex(index, layout);
  return isAtStart
    ? Uint8Array.of(...indexBytes, ...body.slice(36))
    : Uint8Array.of(...body, ...indexBytes);
}
