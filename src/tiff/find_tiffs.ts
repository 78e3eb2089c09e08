import type { ChunkKeyEncoding } from "../chunk_key_encoding/chunk_key_encoding.ts";
import { ChunkKeyError } from "../chunk_key_encoding/chunk_key_error.ts";
import { parseChunkKeyEncoding } from "../chunk_key_encoding/parse_chunk_key_encoding.ts";
import { SuffixChunkKeyEncoding } from "../chunk_key_encoding/suffix_chunk_key_encoding.ts";
import { describe, describeAll } from "../metadata/describe.ts";
import { describeStore } from "../stores/describe_store.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import type { AdoptTiffsOptions, TiffFile } from "./adopt_options.ts";

/** The number of keys that a message names. */
const MOST_NAMED = 3;

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
    : [
      isEncoding(chunkKeyEncoding)
        ? chunkKeyEncoding
        : parseChunkKeyEncoding(chunkKeyEncoding),
    ];
  if (files !== undefined) {
    if (files.length === 0) throw new RangeError("Expected files, found none");
    const isShort = files[0]!.key.toLowerCase().endsWith(".tif");
    return { encoding: (isShort && encodings[1]) || encodings[0]!, files };
  }
  const keys = await listKeys(store, root, options);
  const found = encodings
    .map((encoding) => ({ encoding, files: decode(keys, root, encoding) }))
    .filter(({ files }) => files.length > 0);
  const [first, second] = found;
  if (second !== undefined) {
    throw new RangeError(
      `Found ${describe(first!.files[0]!.key)} and ${
        describe(second.files[0]!.key)
      }, which are of different encodings: name one by the option "chunkKeyEncoding"`,
    );
  }
  if (first === undefined) throw noneFound(keys, root, encodings);
  return first;
}

function isEncoding(value: unknown): value is ChunkKeyEncoding {
  return typeof (value as Partial<ChunkKeyEncoding>)?.encode === "function";
}

async function listKeys(
  store: Store,
  root: "" | StoreKey,
  options: StoreOptions,
): Promise<StoreKey[]> {
  if (typeof store.list !== "function") {
    throw new TypeError(
      `Cannot find files in ${
        describeStore(store)
      }, which has no "list" method: give them by the option "files"`,
    );
  }
  return (await Array.fromAsync(store.list(`${root}/`, options))).sort();
}

function decode(
  keys: readonly StoreKey[],
  root: string,
  encoding: ChunkKeyEncoding,
): TiffFile[] {
  return keys.flatMap((key) => {
    try {
      const coordinates = encoding.decode(key.slice(root.length + 1));
      return [{ key, coordinates }];
    } catch (error) {
      if (error instanceof ChunkKeyError) return [];
      throw error;
    }
  });
}

function noneFound(
  keys: readonly StoreKey[],
  root: string,
  encodings: readonly ChunkKeyEncoding[],
): RangeError {
  const tiffs = keys.filter((key) => /\.(?:tiff?|btf|tf8)$/i.test(key));
  const named = (tiffs.length > 0 ? tiffs : keys).slice(0, MOST_NAMED);
  const example = encodings.map((encoding) => {
    try {
      return encoding.encode([0, 0]);
    } catch {
      return JSON.stringify(encoding.toJSON());
    }
  });
  return new RangeError(
    `Found no file below ${
      describe(root || "/")
    } whose key is that of a chunk, such as ${
      describeAll(example)
    }, among ${keys.length} keys${
      named.length > 0 ? ` such as ${describeAll(named)}` : ""
    }: name the files by the option "chunkKeyEncoding", or list them in "files" with link: true`,
  );
}
