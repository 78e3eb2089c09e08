import type { StoreKey } from "../stores/store.ts";
import type { TranslatedArrays } from "../views/translated_arrays.ts";
import { splitPlainKey } from "../views/translation.ts";
import { overlay } from "./overlay.ts";

/** The members of zarrita's `Array` that read a chunk. */
interface ReadsChunks {
  resolve(key: string): { path: string };
  getChunk(
    coordinates: number[],
    options?: unknown,
    more?: unknown,
  ): Promise<unknown>;
}

/**
 * An array extension for zarrita that adds the key of the chunk, or of its shard, to
 * the errors of codecs.
 *
 * @param arrays The arrays of the store.
 */
export function nameChunks(
  arrays: TranslatedArrays,
): <A extends object>(array: A & ReadsChunks) => A {
  return (array) => {
    const original = array.getChunk.bind(array);
    const getChunk: ReadsChunks["getChunk"] = async (
      coordinates,
      options,
      more,
    ) => {
      try {
        return await original(coordinates, options, more);
      } catch (error) {
        if (isUnnamed(error)) {
          const plainKey = ["c", ...coordinates].join("/");
          const key = array.resolve(plainKey).path as StoreKey;
          nameChunk(error, await storedKey(arrays, key));
        }
        throw error;
      }
    };
    // zarrita has just made the array, which may get the method as its own: a proxy
    // would slow down each access. An array of another extension may be a proxy itself.
    const { getChunk: inherited } = Object.getPrototypeOf(array);
    return array.getChunk === inherited
      ? Object.assign(array, { getChunk })
      : overlay(array, { getChunk });
  };
}

/** Whether an error is zarrita's `CodecPipelineError` without a key, which zarrita never sets. */
function isUnnamed(error: unknown): error is Error & { chunkPath?: string } {
  return error instanceof Error && "chunkPath" in error &&
    error.chunkPath === undefined;
}

function nameChunk(
  error: Error & { chunkPath?: string },
  key: string | undefined,
): void {
  if (key === undefined) return;
  const { message, stack } = error;
  error.chunkPath = key;
  error.message = `${message} at ${key}`;
  if (stack) error.stack = stack.replace(message, error.message);
}

/** The key in the store of a chunk that is shown under a key; `undefined` for a chunk of Zarr v2, which has other keys. */
async function storedKey(
  arrays: TranslatedArrays,
  key: StoreKey,
): Promise<string | undefined> {
  const { root, plainKey } = splitPlainKey(key)!;
  const array = await arrays.at(root);
  return array?.placeOf(plainKey).key ??
    (arrays.isPlain(root) ? key : undefined);
}
