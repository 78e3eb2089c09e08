import { describe } from "../metadata/describe.ts";
import { assertChunkSize, chunkSizes } from "../splitter/chunk_size.ts";
import type { Part } from "../splitter/part.ts";

/** Cuts a chunk into views, one for each part. The key of the chunk is for messages. */
export function splitChunk(
  parts: readonly Part[],
  chunk: Uint8Array,
  key = "",
): Uint8Array[] {
  assertBytes("a chunk", chunk);
  const sizes = chunkSizes(parts);
  assertChunkSize(sizes, key, chunk.length);
  let end = 0;
  return parts.map((part) => {
    const start = end;
    end += part.size ?? chunk.length - sizes.least;
    return chunk.subarray(start, end);
  });
}

/** Throws if a value is not a `Uint8Array`, for callers without type checks. */
export function assertBytes(what: string, value: unknown): void {
  if (value instanceof Uint8Array) return;
  throw new TypeError(
    `Expected ${what} as Uint8Array, found ${describe(value)}`,
  );
}
