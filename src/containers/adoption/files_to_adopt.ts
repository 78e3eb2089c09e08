import { isInShare, type Share } from "../../arrays/mod.ts";
import type { ChunkKeyEncoding } from "../../chunk_key_encoding/mod.ts";
import { ChunkKeyError, describe, describeAll } from "../../errors/mod.ts";
import {
  describeStore,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../../stores/mod.ts";
import type { AdoptionOptions } from "./adoption_options.ts";

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

/**
 * Counts the steps of an adoption, and reports each one.
 *
 * @param read The number of files that are read.
 * @param written The number of indexes that are written or checked.
 */
export function countSteps(
  read: number,
  written: number,
  { dryRun, onProgress }: AdoptionOptions,
): () => void {
  const total = read + (dryRun ? 0 : written);
  let done = 0;
  return () => onProgress?.({ done: ++done, total });
}

/** A file that is read, and whether the file belongs to the share. */
export type SharedFile<T> = T & { readonly isOwn: boolean };

/**
 * Selects the files of a share, and a few others that show the shape of the array: for
 * each dimension, one file at its end and one before its end.
 *
 * @param share All files are selected without one. `undefined` in a run that finishes the
 * work of shares selects no own files.
 */
export function filesOfShare<
  T extends { key: StoreKey; coordinates?: readonly number[] },
>(
  files: readonly T[],
  { share, finish = false }: {
    share?: Share | undefined;
    finish?: boolean | undefined;
  },
): SharedFile<T>[] {
  if (share === undefined && !finish) {
    return files.map((file) => ({ ...file, isOwn: true }));
  }
  const shown = new Set(references(files));
  return files.flatMap((file) => {
    const isOwn = share !== undefined && isInShare(share, file.key);
    return isOwn || shown.has(file) ? [{ ...file, isOwn }] : [];
  });
}

/** The files that show the shape of the array. */
function references<T extends { coordinates?: readonly number[] }>(
  files: readonly T[],
): T[] {
  const rank = files[0]?.coordinates?.length;
  // A zip that is named by the option "key" has no coordinates.
  if (rank === undefined) return files.slice(0, 1);
  return Array.from({ length: rank }, (_, dimension) => {
    const placeOf = ({ coordinates }: T) => coordinates?.[dimension] ?? 0;
    const last = files.reduce((most, file) => Math.max(most, placeOf(file)), 0);
    return [
      files.find((file) => placeOf(file) < last),
      files.find((file) => placeOf(file) === last),
    ];
  }).flat().filter((file) => file !== undefined);
}
