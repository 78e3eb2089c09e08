import type { ArrayChunks } from "../arrays/mod.ts";
import { describe } from "../errors/mod.ts";
import {
  assertFileSize,
  decodeFileRecord,
  FILE_RECORD_SIZE,
} from "../shards/mod.ts";
import {
  readRange,
  readSize,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { INDEX_SUFFIX } from "./adoption/adopted_index.ts";
import {
  type MakeIndex,
  mismatchOf,
  readAdopted,
} from "./adoption/verify_adopted_files.ts";

/**
 * Compares the length of an adopted file with the record of the file.
 *
 * @returns Whether there is a record; `undefined` if the file or its index is missing.
 * @throws {DamageError} If the lengths differ.
 */
export async function hasRightSize(
  { store, key }: { readonly store: Store; readonly key: StoreKey },
  options: StoreOptions,
): Promise<boolean | undefined> {
  const head = { offset: 0, length: FILE_RECORD_SIZE };
  const [size, bytes] = await Promise.all([
    readSize(store, key, options),
    readRange(store, `${key}${INDEX_SUFFIX}`, head, options),
  ]);
  if (size === undefined || bytes?.length !== FILE_RECORD_SIZE) {
    return undefined;
  }
  const record = decodeFileRecord(bytes);
  if (record !== undefined) assertFileSize(record, key, size);
  return record !== undefined;
}

/**
 * Reads the directories of an adopted file, and compares them with the index of the file
 * and with the array.
 *
 * @returns The difference, in a sentence; `undefined` if there is none.
 */
export async function changeOfFile(
  store: Store,
  chunks: ArrayChunks,
  coordinates: readonly number[],
  options: StoreOptions,
): Promise<string | undefined> {
  const key = chunks.key(coordinates);
  const reason = await mismatchOf(
    store,
    chunks,
    coordinates,
    makeIndex,
    options,
  );
  return reason &&
    `File ${
      describe(key)
    } is not the one that was adopted: ${reason}; restore it, or adopt the files again with the option "overwrite"`;
}

/** Finds the entries of an adopted zip that have another CRC-32 than its directory says. */
export async function* wrongEntriesOf(
  store: Store,
  chunks: ArrayChunks,
  coordinates: readonly number[],
  options: StoreOptions,
): AsyncGenerator<string> {
  const key = chunks.key(coordinates);
  if (await isTiff(store, key, options)) return;
  const adopted = await readAdopted(store, chunks, coordinates, options);
  if (adopted === undefined) return;
  const { wrongEntries } = await import("./zip/verify_adopted_zip.ts");
  yield* wrongEntries(store, key, adopted.contents, options);
}

/** The length of the number at the start of each TIFF. */
const START_SIZE = 4;

/** Makes the index of a TIFF, or else of a zip, which may start with any bytes. */
const makeIndex: MakeIndex = async (store, file, options) => {
  if (await isTiff(store, file.key, options)) {
    const { makeTiffIndex } = await import("./tiff/verify_adopted.ts");
    return await makeTiffIndex(store, file, options);
  }
  const { makeZipIndex } = await import("./zip/verify_adopted_zip.ts");
  return await makeZipIndex(store, file, options);
};

async function isTiff(
  store: Store,
  key: StoreKey,
  options: StoreOptions,
): Promise<boolean> {
  const range = { offset: 0, length: START_SIZE };
  const start = await readRange(store, key, range, options);
  return /^(?:II[*+]\0|MM\0[*+])$/.test(String.fromCharCode(...start ?? []));
}
