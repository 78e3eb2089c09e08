import { DamageError } from "../errors/damage_error.ts";
import { describe } from "../metadata/describe.ts";
import type { StoreKey } from "../stores/store.ts";
import type { TranslatedArrays } from "../views/translated_arrays.ts";
import { splitPlainKey } from "../views/translation.ts";
import { overlay } from "./overlay.ts";
import { type Chunk, noteAbsence, rememberBases } from "./partial_writes.ts";

/** The members of zarrita's `Array` that read a chunk. */
interface ReadsChunks {
  resolve(key: string): { path: string };
  getChunk(
    coordinates: number[],
    options?: unknown,
    more?: unknown,
  ): Promise<Chunk>;
}

/** The member of an array that decodes a chunk, as `getChunk` does with a chunk that it has read. */
export const DECODE = Symbol("zarr-parts decode");

/** Decodes the bytes of a chunk, `undefined` for an absent one. */
export type Decode = (
  coordinates: number[],
  bytes: Uint8Array | undefined,
) => Promise<Chunk>;

/**
 * An array extension for zarrita that refuses decoded chunks with too few or too many
 * elements, and adds the key of the chunk, or of its shard, to the errors of codecs.
 * zarrita itself reads zeros in place of missing elements. It also notes that the array
 * is opened, which the view does not see if a layer keeps documents, and makes the array
 * remember what `set` reads.
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
    const checked = async (
      coordinates: number[],
      read: () => Promise<Chunk>,
    ): Promise<Chunk> => {
      let chunk: Chunk;
      try {
        chunk = await read();
      } catch (error) {
        if (isUnnamed(error)) nameChunk(error, await keyOf(coordinates));
        throw error;
      }
      if (chunk.data.length === countOf(chunk)) return chunk;
      throw wrongCount(chunk, coordinates, await keyOf(coordinates));
    };
    const { getChunk: inherited } = Object.getPrototypeOf(array);
    const isOwn = array.getChunk === inherited;
    const decode = rememberBases(array);
    const getChunk: ReadsChunks["getChunk"] = (coordinates, options, more) =>
      checked(coordinates, async () => {
        const chunk = await original(coordinates, options, more);
        if (options === undefined && isOwn && decode) noteAbsence(chunk.data);
        return chunk;
      });
    const members = {
      getChunk,
      ...decode && {
        [DECODE]: ((coordinates, bytes) =>
          checked(coordinates, () =>
            decode(bytes))) satisfies Decode,
      },
    };
    // zarrita has just made the array, which may get the method as its own: a proxy
    // would slow down each access. An array of another extension may be a proxy itself.
    return isOwn ? Object.assign(array, members) : overlay(array, members);
  };
}

/** The number of elements in the shape of a chunk. */
function countOf({ shape }: Chunk): number {
  return shape.reduce((product, length) => product * length, 1);
}

function wrongCount(
  chunk: Chunk,
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
