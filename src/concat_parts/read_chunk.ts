import { joinBytes } from "../stores/join_bytes.ts";
import type { StoredChunk } from "./stored_chunk.ts";

/** Reads a whole chunk, all parts at once. */
export async function readChunk(
  chunk: StoredChunk,
): Promise<Uint8Array | undefined> {
  const read = await Promise.all(chunk.parts.map((part) => chunk.get(part)));
  const pieces = await chunk.allOrAbsent(chunk.parts, read);
  if (pieces === undefined) return undefined;
  return pieces.length === 1 ? pieces[0] : joinBytes(pieces);
}

/** Reads the length of a chunk: the sum of the lengths of its parts. */
export async function readChunkSize(
  chunk: StoredChunk,
): Promise<number | undefined> {
  const read = await Promise.all(chunk.parts.map((part) => chunk.size(part)));
  const sizes = await chunk.allOrAbsent(chunk.parts, read);
  return sizes?.reduce((sum, size) => sum + size, 0);
}
