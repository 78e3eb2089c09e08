import { overlay } from "./overlay.ts";
import { keyOf } from "./read_keys.ts";

/** What of zarrita's `Array` reads a chunk. */
interface ReadsChunks {
  getChunk(
    coordinates: number[],
    options?: object,
    more?: unknown,
  ): Promise<unknown>;
}

/**
 * An array extension of zarrita's: where a codec fails, its error says the key of
 * the chunk, or of its shard, too.
 */
export function nameChunks<A extends object>(array: A & ReadsChunks): A {
  const getChunk: ReadsChunks["getChunk"] = async (
    coordinates,
    options,
    more,
  ) => {
    const own = { ...options }; // The store notes the key under it.
    try {
      return await array.getChunk(coordinates, own, more);
    } catch (error) {
      nameChunk(error, keyOf(own));
      throw error;
    }
  };
  return overlay(array, { getChunk });
}

/** Fills in what zarrita's CodecPipelineError has a place for. */
function nameChunk(error: unknown, key: string): void {
  const isUnnamed = error instanceof Error && "chunkPath" in error &&
    error.chunkPath === undefined;
  if (!isUnnamed || key === "") return;
  const { message, stack } = error;
  error.chunkPath = key;
  error.message = `${message} at ${key}`;
  if (stack) error.stack = stack.replace(message, error.message);
}
