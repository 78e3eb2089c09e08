import { arrayRoot } from "../arrays/mod.ts";
import {
  type ChunkKeyEncoding,
  SuffixChunkKeyEncoding,
  toChunkKeyEncoding,
} from "../chunk_key_encoding/mod.ts";
import {
  ChunkKeyError,
  describe,
  describeAll,
  sentence,
} from "../errors/mod.ts";
import {
  assertWritable,
  describeStore,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import {
  type AdoptionOptions,
  type FileFormat,
  type FilesToAdopt,
  stackNames,
} from "./adopt_files.ts";

/** The number of keys that a message names. */
const MOST_NAMED = 3;

/**
 * Finds the files of an array: those that are given, or those below its path whose keys the
 * encoding decodes.
 *
 * @throws {RangeError} If there are none, their keys are of several encodings, or a key
 * has a number that is no chunk's.
 * @throws {TypeError} If the store is read-only, or cannot list and no files are given.
 */
export async function findFiles(
  store: Store,
  path: string,
  { suffixes, isPicture }: Pick<FileFormat<unknown>, "suffixes" | "isPicture">,
  { chunkKeyEncoding, files, stack: given, dimensionNames, signal }:
    & Pick<
      AdoptionOptions,
      "chunkKeyEncoding" | "files" | "dimensionNames" | "signal"
    >
    & { readonly stack?: boolean | number | undefined },
): Promise<FilesToAdopt> {
  const stack = Number(given ?? 0);
  const root = arrayRoot(path);
  assertWritable(store, `${root}/zarr.json`);
  const encodings = chunkKeyEncoding === undefined
    ? suffixes.map((suffix) => new SuffixChunkKeyEncoding(suffix))
    : [toChunkKeyEncoding(chunkKeyEncoding)];
  if (files !== undefined) {
    const key = files[0]?.key.toLowerCase();
    const place = suffixes.findIndex((suffix) => key?.endsWith(suffix));
    return {
      keys: files.map(({ key }) => key),
      encoding: encodings[place] ?? encodings[0]!,
      place: () => ({
        coordinates: files.map(({ coordinates }) => coordinates),
        stack,
        dimensionNames,
      }),
    };
  }
  const options = signal ? { signal } : {};
  const all = await listKeys(store, root, options);
  const found = encodings
    .map((encoding) => ({ encoding, keys: select(all, root, encoding) }))
    .filter(({ keys }) => keys.length > 0);
  const [first, second] = found;
  if (first === undefined) throw noFiles(all, root, encodings, suffixes);
  if (second !== undefined) {
    const [[one], [other]] = [first.keys, second.keys];
    throw new RangeError(
      sentence`Found ${one} and ${other}, which are of different encodings: name one by the option "chunkKeyEncoding"`,
    );
  }
  const { encoding, keys } = first;
  const names = keys.map((key) => key.slice(root.length + 1));
  return {
    keys,
    encoding,
    place: (own) => ({
      coordinates: placeByName(
        encoding,
        names,
        [...stackNames(stack), ...own],
        isPicture,
      ),
      stack,
      dimensionNames,
    }),
  };
}

async function listKeys(
  store: Store,
  root: string,
  options: StoreOptions,
): Promise<StoreKey[]> {
  if (typeof store.list !== "function") {
    const place = describeStore(store);
    throw new TypeError(
      `Cannot find files in ${place}, which has no "list" method: give them by the option "files"`,
    );
  }
  const keys: StoreKey[] = [];
  const prefix = `${root}/` as StoreKey;
  for await (const key of store.list(prefix, options)) keys.push(key);
  return keys;
}

/** Selects the keys that an encoding decodes. */
function select(
  keys: readonly StoreKey[],
  root: string,
  encoding: ChunkKeyEncoding,
): StoreKey[] {
  return keys.filter((key) => {
    const problem = nameProblem(encoding, key.slice(root.length + 1));
    if (problem?.nearest === undefined) return problem === undefined;
    const { problem: reason, nearest } = problem;
    throw new RangeError(
      `File ${
        describe(key)
      } ${reason}, ${sentence`as in ${nearest}`}: rename the file, name all files by another format, or list those of the array in "files"`,
    );
  });
}

/** The error of a name that an encoding does not decode. */
export function nameProblem(
  encoding: ChunkKeyEncoding,
  name: string,
  rank?: number,
): ChunkKeyError | undefined {
  try {
    encoding.decode(name, rank);
    return undefined;
  } catch (error) {
    if (error instanceof ChunkKeyError) return error;
    throw error;
  }
}

function noFiles(
  keys: readonly StoreKey[],
  root: string,
  encodings: readonly ChunkKeyEncoding[],
  suffixes: readonly string[],
): RangeError {
  const named = keys.filter((key) =>
    suffixes.some((suffix) => key.toLowerCase().endsWith(suffix))
  );
  const examples = (named.length > 0 ? named : keys).slice(0, MOST_NAMED);
  const format = exampleTemplate(
    named.map((key) => key.slice(root.length + 1)),
  );
  const example = describeAll(encodings.map(exampleOf));
  const among = examples.length > 0 ? ` such as ${describeAll(examples)}` : "";
  const template = format === undefined
    ? ""
    : sentence`, such as "template" with the format ${format}`;
  return new RangeError(
    sentence`Found no file below ${
      root || "/"
    } whose key is that of a chunk, ` +
      `such as ${example}, among ${keys.length} keys${among}: name the files by the option "chunkKeyEncoding"${template}, or list them in "files" with link: true`,
  );
}

/** A key of an encoding, for messages. */
export function exampleOf(encoding: ChunkKeyEncoding): string {
  for (const rank of [2, 1, 3, 4, 5]) {
    try {
      return encoding.encode(Array.from({ length: rank }, (_, i) => i));
    } catch {
      // The format is for another number of dimensions.
    }
  }
  return JSON.stringify(encoding.toJSON());
}

/**
 * An example of a template for names: the first name, with a placeholder for each number
 * that is another one in other names of its form.
 *
 * @returns The format; `undefined` if no number varies.
 */
export function exampleTemplate(names: readonly string[]): string | undefined {
  const formOf = (name: string) => name.replaceAll(/[0-9]+/g, "0");
  const alike = names.filter((name) => formOf(name) === formOf(names[0]!))
    .map((name) => name.split(/([0-9]+)/));
  let dimension = 0;
  // Texts and digits alternate.
  const format = alike[0]?.map((text, i) => {
    if (i % 2 === 0) return text.replaceAll(/[{}]/g, "$&$&");
    const numbers = alike.map((name) => Number(name[i]));
    const first = numbers.reduce((least, n) => Math.min(least, n));
    if (numbers.every((n) => n === first)) return text;
    const start = first === 0 ? "" : `+${first}`;
    const width = /^0\d/.test(text) ? `:0${text.length}` : "";
    return `{${dimension++}${start}${width}}`;
  });
  return dimension === 0 ? undefined : format!.join("");
}

/**
 * Gives files the coordinates in their names.
 *
 * @param dimensions The names of the dimensions of the array.
 * @param isPicture Whether `y` and `x` are among them.
 * @throws {RangeError} If names of pictures have only one of the coordinates `y` and `x`.
 */
export function placeByName(
  encoding: ChunkKeyEncoding,
  names: readonly string[],
  dimensions: readonly (string | null)[],
  isPicture: boolean,
): number[][] {
  const { length } = dimensions;
  const isFitting = nameProblem(encoding, names[0]!, length) === undefined;
  if (isFitting && isPicture && names.length > 1) {
    assertBothNumbered(encoding, names[0]!, dimensions);
  }
  const rank = isFitting ? length : undefined;
  return names.map((name) => encoding.decode(name, rank));
}

/** Refuses names that number the rows of pictures, but not the columns, since such files are more likely a stack. */
function assertBothNumbered(
  encoding: ChunkKeyEncoding,
  name: string,
  dimensions: readonly (string | null)[],
): void {
  const zeros = dimensions.map(() => 0);
  const [y, x] = ["y", "x"].map((name) => dimensions.indexOf(name)) as [
    number,
    number,
  ];
  const [hasY, hasX] = [y, x].map((dimension) => {
    try {
      encoding.encode(zeros.with(dimension, 1));
      return true;
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
  });
  if (hasY === hasX) return;
  const [has, lacks] = hasY ? ["y", "x"] : ["x", "y"];
  throw new RangeError(
    `File ${describe(name)} has a number for its dimension ${has} ` +
      `and none for ${lacks}, of ${
        describe(dimensions)
      }: set stack to the number of new first dimensions, number both, as by "{${y}}_{${x}}", or list the files with their coordinates`,
  );
}
