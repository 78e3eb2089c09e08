import type { ChunkKeyEncoding } from "../../chunk_key_encoding/mod.ts";
import { ChunkKeyError, describe, describeAll } from "../../errors/mod.ts";
import {
  describeStore,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../../stores/mod.ts";

/** The number of keys that a message names. */
const MOST_NAMED = 3;

/** A file and its place in an array. */
export interface FoundFile {
  readonly coordinates: readonly number[];
  readonly key: StoreKey;
}

/**
 * Finds the files of an array: those below its root whose keys one of the encodings
 * decodes.
 *
 * @param root The prefix of the array's keys, without a last `/`.
 * @param encodings At least one encoding.
 * @param extension Matches keys of files of the format, for messages.
 * @throws {RangeError} If there are none, or their keys are of several encodings.
 * @throws {TypeError} If the store cannot list.
 */
export async function findFiles(
  store: Store,
  root: "" | StoreKey,
  encodings: readonly ChunkKeyEncoding[],
  extension: RegExp,
  options: StoreOptions,
): Promise<{ encoding: ChunkKeyEncoding; files: FoundFile[] }> {
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
  if (first !== undefined) return first;
  const named = keys.filter((key) => extension.test(key));
  const examples = (named.length > 0 ? named : keys).slice(0, MOST_NAMED);
  throw new RangeError(
    `Found no file below ${
      describe(root || "/")
    } whose key is that of a chunk, such as ${
      describeAll(encodings.map(exampleOf))
    }, among ${keys.length} keys${
      examples.length > 0 ? ` such as ${describeAll(examples)}` : ""
    }: name the files by the option "chunkKeyEncoding", or list them in "files" with link: true`,
  );
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
  const keys: StoreKey[] = [];
  for await (const key of store.list(`${root}/`, options)) keys.push(key);
  return keys;
}

function decode(
  keys: readonly StoreKey[],
  root: string,
  encoding: ChunkKeyEncoding,
): FoundFile[] {
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

function exampleOf(encoding: ChunkKeyEncoding): string {
  try {
    return encoding.encode([0, 0]);
  } catch {
    return JSON.stringify(encoding.toJSON());
  }
}
