import { DamageError } from "../errors/damage_error.ts";
import { describe } from "../metadata/describe.ts";
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
  ): Promise<Decoded>;
}

/** A decoded chunk. */
interface Decoded {
  readonly data: { readonly length: number };
  readonly shape: readonly number[];
}

/**
 * An array extension for zarrita that refuses decoded chunks with too few or too many
 * elements, and adds the key of the chunk, or of its shard, to the errors of codecs.
 * zarrita itself reads zeros in place of missing elements. It also notes that the array
 * is opened, which the view does not see if a layer keeps documents.
 *
 * @param arrays The arrays of the store.
 */
export function checkChunks(
  arrays: TranslatedArrays,
): <A extends object>(array: A & ReadsChunks) => A {
  return (array) => {
    const original = array.getChunk.bind(array);
    const shownKey = (coordinates: number[]) => {
      const plainKey = ["c", ...coordinates].join("/");
      return array.resolve(plainKey).path as StoreKey;
    };
    const keyOf = (coordinates: number[]) =>
      storedKey(arrays, shownKey(coordinates));
    arrays.noteOpened(splitPlainKey(shownKey([]))!.root);
    const getChunk: ReadsChunks["getChunk"] = async (
      coordinates,
      options,
      more,
    ) => {
      let chunk: Decoded;
      try {
        chunk = await original(coordinates, options, more);
      } catch (error) {
        if (isUnnamed(error)) nameChunk(error, await keyOf(coordinates));
        throw error;
      }
      if (chunk.data.length === countOf(chunk)) return chunk;
      throw wrongCount(chunk, coordinates, await keyOf(coordinates));
    };
    // zarrita has just made the array, which may get the method as its own: a proxy
    // would slow down each access. An array of another extension may be a proxy itself.
    const { getChunk: inherited } = Object.getPrototypeOf(array);
    return array.getChunk === inherited
      ? Object.assign(array, { getChunk })
      : overlay(array, { getChunk });
  };
}

/** The number of elements in the shape of a chunk. */
function countOf({ shape }: Decoded): number {
  return shape.reduce((product, length) => product * length, 1);
}

function wrongCount(
  chunk: Decoded,
  coordinates: number[],
  key: string | undefined,
): DamageError {
  const { data, shape } = chunk;
  return new DamageError(
    `Chunk ${describe(coordinates)}${
      key === undefined ? "" : ` at ${describe(key)}`
    } decodes to ${data.length} elements, where its shape ${
      describe(shape)
    } has ${countOf(chunk)}`,
    key === undefined ? {} : { key },
  );
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
  return array?.placeOf(plainKey)?.key ??
    (arrays.isPlain(root) ? key : undefined);
}
