import type { ArrayChunks } from "../arrays/mod.ts";
import { describe } from "../errors/mod.ts";
import {
  readRange,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { readAdopted } from "./adopted_index.ts";
import { mismatchOf } from "./verify_adoption.ts";
import { makeTiffIndex } from "./verify_adopted_tiffs.ts";
import { makeZipIndex, wrongEntries } from "./verify_adopted_zips.ts";

/** A way in which an adopted file is not the one that was adopted. */
interface AdoptedFileProblem {
  /** `"file"` if the index does not fit the file, `"entry"` if one entry of a zip was changed. */
  readonly kind: "file" | "entry";
  /** The difference, in a sentence. */
  readonly message: string;
}

/**
 * Makes the index of an adopted file of any format anew, and compares the index with the
 * stored one.
 *
 * @param isDeep Whether the checksums of the entries of zips are compared, too.
 */
export async function* verifyAdoptedFile(
  store: Store,
  chunks: ArrayChunks,
  coordinates: readonly number[],
  isDeep: boolean,
  options: StoreOptions,
): AsyncGenerator<AdoptedFileProblem> {
  const key = chunks.key(coordinates);
  // A zip may start with any bytes.
  const isZip = !await isTiff(store, key, options);
  const reason = await mismatchOf(
    store,
    chunks,
    coordinates,
    isZip ? makeZipIndex : makeTiffIndex,
    options,
  );
  if (reason !== undefined) {
    const message = `File ${
      describe(key)
    } is not the one that was adopted: ${reason}; restore it, or adopt the files again with the option "overwrite"`;
    yield { kind: "file", message };
    return;
  }
  if (!isZip || !isDeep) return;
  const adopted = await readAdopted(store, chunks, coordinates, options);
  if (adopted === undefined) return;
  for await (
    const message of wrongEntries(store, key, adopted.contents, options)
  ) yield { kind: "entry", message };
}

/** The length of the number at the start of each TIFF. */
const START_SIZE = 4;

async function isTiff(
  store: Store,
  key: StoreKey,
  options: StoreOptions,
): Promise<boolean> {
  const range = { offset: 0, length: START_SIZE };
  const start = await readRange(store, key, range, options);
  return /^(?:II[*+]\0|MM\0[*+])$/.test(String.fromCharCode(...start ?? []));
}
