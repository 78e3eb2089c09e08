import { joinBytes } from "../stores/join_bytes.ts";
import { readAtOnce } from "./read_at_once.ts";
import type { StoredChunk } from "./stored_chunk.ts";

/** Reads a whole chunk, all parts at once. */
export function readChunk(
  chunk: StoredChunk,
): Promise<Uint8Array | undefined> {
  return chunk.read(async (chunk) => {
    const pieces = await readAtOnce(
      chunk,
      chunk.parts,
      (chunk, part) => chunk.get(part),
    );
    if (pieces === undefined) return undefined;
    chunk.assertSums(pieces.map(({ length }) => length));
    return pieces.length === 1 ? pieces[0] : joinBytes(pieces);
  });
}

/** Reads the length of a chunk: the sum of the lengths of its parts. */
export function readChunkSize(
  chunk: StoredChunk,
): Promise<number | undefined> {
  return chunk.read(async (chunk) => {
    const read = await Promise.all(chunk.parts.map((part) => chunk.size(part)));
    const sizes = await chunk.allOrAbsent(chunk.parts, read);
    if (sizes === undefined) return undefined;
    chunk.assertSums(sizes);
    return sizes.reduce((sum, size) => sum + size, 0);
  });
}
