import { rowsOf } from "../codecs/mod.ts";
import { copyBytes, ownBytes } from "../runtime/mod.ts";
import {
  type ChunkElements,
  isCheapToDecode,
  type JobResult,
  LEAST_TO_SEND,
  type PoolAccess,
} from "../threads/mod.ts";
import type { TranslatedArrays } from "../views/mod.ts";
import { type Chunk, type Context, formatOf } from "./array_context.ts";

/** The function that decodes a chunk of an array. */
type Decode = Context["codec"]["decode"];

/**
 * Makes a function that decodes the chunks of an array in the threads of a pool, and in the
 * calling thread where they are small, or cheap to decode, or a thread fails.
 *
 * @param root The root of the array in the store.
 * @param array An array of zarrita.
 */
export function decodeInPool(
  arrays: TranslatedArrays,
  root: string,
  array: { readonly dtype: string },
  context: Context,
  { memory, use }: PoolAccess,
): Decode {
  const { codec, TypedArray, chunkShape } = context;
  const { BYTES_PER_ELEMENT: elementSize } = new TypedArray(0);
  if (elementSize === undefined) return (bytes) => codec.decode(bytes);
  const length = chunkShape.reduce((product, n) => product * n, elementSize);
  if (length < LEAST_TO_SEND) return (bytes) => codec.decode(bytes);
  return async (bytes) => {
    const format = await formatOf(arrays, root, array, context);
    if (format === undefined || isCheapToDecode(format.codecs)) {
      return await codec.decode(bytes);
    }
    const leave = await memory.enter(length);
    let result: JobResult | undefined;
    try {
      // A copy, since a store may keep what it returns.
      const job = { bytes: copyBytes(bytes), rows: rowsOf(bytes) };
      [result] = await use((threads) =>
        threads.run(format, [{ kind: "decode", ...job }], length)
      );
    } finally {
      leave();
    }
    // zarrita decodes a chunk on which a thread has failed, or throws its error.
    if ("failed" in (result as object)) return await codec.decode(bytes);
    const { bytes: decoded, strides } = result as ChunkElements;
    const { buffer } = ownBytes(decoded);
    const data = new TypedArray(buffer, 0, decoded.length / elementSize);
    return { data, shape: chunkShape, stride: strides } satisfies Chunk;
  };
}
