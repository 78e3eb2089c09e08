import { isInShare, type Share } from "../arrays/mod.ts";
import {
  type ChunkKeyEncoding,
  innermostEncoding,
} from "../chunk_key_encoding/mod.ts";
import { ChunkKeyError, describe, describeAll } from "../errors/mod.ts";
import {
  describeStore,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import type { AdoptionOptions } from "./adoption_options.ts";
import { suggestFormat } from "./suggest_format.ts";

/** The number of keys that a message names. */
const MOST_NAMED = 3;

/** A file and its place in an array. */
export interface FoundFile {
  readonly coordinates: readonly number[];
  readonly key: StoreKey;
}

/** A file, and the name from which its coordinates follow. */
export interface NamedFile {
  readonly name: string;
  readonly key: StoreKey;
}

/**
 * Finds the files of an array: those below its root whose keys one of the encodings
 * decodes. Their names are keys relative to the array.
 *
 * @param root The prefix of the array's keys, without a last `/`.
 * @param encodings At least one encoding.
 * @param extension Matches keys of files of the format, for messages.
 * @throws {RangeError} If there are none, their keys are of several encodings, or a key
 * has a number that is no chunk's.
 * @throws {TypeError} If the store cannot list.
 */
export async function findFiles(
  store: Store,
  root: "" | StoreKey,
  encodings: readonly ChunkKeyEncoding[],
  extension: RegExp,
  options: StoreOptions,
): Promise<{ encoding: ChunkKeyEncoding; files: NamedFile[] }> {
  const keys = await listKeys(store, root, options);
  const found = encodings
    .map((encoding) => ({ encoding, files: select(keys, root, encoding) }))
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
  const format = suggestFormat(
    named.map((key) => key.slice(root.length + 1)),
  );
  throw new RangeError(
    `Found no file below ${
      describe(root || "/")
    } whose key is that of a chunk, such as ${
      describeAll(encodings.map(exampleOf))
    }, among ${keys.length} keys${
      examples.length > 0 ? ` such as ${describeAll(examples)}` : ""
    }: name the files by the option "chunkKeyEncoding"${
      format === undefined
        ? ""
        : `, such as "template" with the format ${describe(format)}`
    }, or list them in "files" with link: true`,
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

/** Selects the keys that an encoding decodes. */
function select(
  keys: readonly StoreKey[],
  root: string,
  encoding: ChunkKeyEncoding,
): NamedFile[] {
  return keys.flatMap((key) => {
    const name = key.slice(root.length + 1);
    try {
      encoding.decode(name);
      return [{ key, name }];
    } catch (error) {
      if (!(error instanceof ChunkKeyError)) throw error;
      if (error.nearest === undefined) return [];
      throw new RangeError(
        `File ${describe(key)} ${error.problem}, as in ${
          describe(error.nearest)
        }: rename the file, name all files by another format, or list those of the array in "files"`,
      );
    }
  });
}

/**
 * Gives files the coordinates in their names.
 *
 * @param dimensionsOf Returns the names of the dimensions of an array of a file. Only
 * templates need them, which may leave out dimensions.
 * @param isPicture Whether the dimensions are those of TIFFs, `y` and `x` among them.
 * @throws {RangeError} If names of pictures have only one of the coordinates `y` and `x`.
 */
export async function placeByName(
  encoding: ChunkKeyEncoding,
  files: readonly NamedFile[],
  dimensionsOf: (key: StoreKey) => Promise<readonly (string | null)[]>,
  isPicture = false,
): Promise<FoundFile[]> {
  const { key, name } = files[0]!;
  const isTemplate = innermostEncoding(encoding).name === "template";
  const names = isTemplate ? await dimensionsOf(key) : undefined;
  const rank = names && isKeyFor(encoding, name, names.length)
    ? names.length
    : undefined;
  if (rank !== undefined && isPicture && files.length > 1) {
    assertBothNumbered(encoding, key, names!);
  }
  return files.map(({ key, name }) => ({
    key,
    coordinates: encoding.decode(name, rank),
  }));
}

/** Whether a name is that of a chunk of an array with some number of dimensions. */
function isKeyFor(
  encoding: ChunkKeyEncoding,
  name: string,
  rank: number,
): boolean {
  try {
    encoding.decode(name, rank);
    return true;
  } catch (error) {
    if (error instanceof ChunkKeyError) return false;
    throw error;
  }
}

/** Refuses names that number the rows of pictures, but not the columns, since such files are more likely a stack. */
function assertBothNumbered(
  encoding: ChunkKeyEncoding,
  key: StoreKey,
  dimensionNames: readonly (string | null)[],
): void {
  const zeros = dimensionNames.map(() => 0);
  const isNumbered = (dimension: number) => {
    try {
      encoding.encode(zeros.with(dimension, 1));
      return true;
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
  };
  const [y, x] = ["y", "x"].map((name) => dimensionNames.indexOf(name)) as [
    number,
    number,
  ];
  if (isNumbered(y) === isNumbered(x)) return;
  const [has, lacks] = isNumbered(y) ? ["y", "x"] : ["x", "y"];
  throw new RangeError(
    `File ${
      describe(key)
    } has a number for its dimension ${has} and none for ${lacks}, of ${
      describe(dimensionNames)
    }: ${
      dimensionNames[0]?.startsWith("stack")
        ? "set stack to the number of new dimensions, or "
        : "set stack: true to put each file at one place of a new first dimension, or "
    }number both, as by "{${y}}_{${x}}", or list the files with their coordinates`,
  );
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

/** The file that every share reads, of at least one. */
export function commonFile<
  T extends { coordinates?: readonly number[] },
>(files: readonly T[]): T {
  return references(files)[0] ?? files[0]!;
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
