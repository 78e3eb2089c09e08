import { findFiles } from "../adoption/find_files.ts";
import type { ChunkKeyEncoding } from "../chunk_key_encoding/chunk_key_encoding.ts";
import { SuffixChunkKeyEncoding } from "../chunk_key_encoding/suffix_chunk_key_encoding.ts";
import { toChunkKeyEncoding } from "../chunk_key_encoding/to_chunk_key_encoding.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import type { AdoptTiffsOptions, TiffFile } from "./adopt_options.ts";

/** Matches keys of TIFFs. */
const EXTENSION = /\.(?:tiff?|btf|tf8)$/i;

/** The files of an array, and the encoding of their keys. */
export interface FoundTiffs {
  readonly encoding: ChunkKeyEncoding;
  readonly files: readonly TiffFile[];
}

/**
 * Finds the files of an array: those that are given, or those below its root whose keys
 * the encoding decodes.
 *
 * @param root The prefix of the array's keys, without a last `/`.
 * @throws {RangeError} If there are none, or their keys are of several encodings.
 * @throws {TypeError} If the store cannot list and no files are given.
 */
export async function findTiffs(
  store: Store,
  root: "" | StoreKey,
  { chunkKeyEncoding, files }: AdoptTiffsOptions,
  options: StoreOptions,
): Promise<FoundTiffs> {
  const encodings = chunkKeyEncoding === undefined
    ? [".tiff", ".tif"].map((suffix) => new SuffixChunkKeyEncoding(suffix))
    : [toChunkKeyEncoding(chunkKeyEncoding)];
  if (files === undefined) {
    return await findFiles(store, root, encodings, EXTENSION, options);
  }
  if (files.length === 0) throw new RangeError("Expected files, found none");
  const isShort = files[0]!.key.toLowerCase().endsWith(".tif");
  return { encoding: (isShort && encodings[1]) || encodings[0]!, files };
}
