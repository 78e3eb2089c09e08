import { missingArray } from "../../arrays/mod.ts";
import {
  describeStore,
  type FileChanges,
  fileChangesOf,
  recover,
  type Store,
  type StoreOptions,
} from "../../stores/mod.ts";
import type { Conversion } from "../convert/convert_options.ts";
import { readMarker } from "../convert/unfinished_marker.ts";
import {
  describePlace,
  documentKey,
  type NodeLocation,
  type Place,
  placeOf,
} from "../hierarchy/node_location.ts";
import {
  assertInPlaceOptions,
  beginInPlace,
  continueInPlace,
  type ConvertInPlaceOptions,
} from "./phases.ts";

/**
 * Gives an array, or all arrays of a group, another layout in the folder where they are,
 * without a second copy. Files get other names, and a file of which the new layout has
 * only the first bytes is cut; a file is made longer where the new layout has several
 * objects in one. So the time depends on the number of chunks and the sizes of the parts,
 * and not on the size of the data.
 *
 * The part without a size must begin at the same place of each chunk before and after,
 * as in `["", ".index"]` and in chunks of one object.
 *
 * If only names change, the array can be read all the time. Otherwise, it does not open
 * until the work is done. A run that fails before it has changed a file undoes its work. A
 * run that was stopped later, or killed, is finished by another run with the same options
 * or without a layout; the file `.zarr-parts-unfinished.json` says so. Programs that have
 * opened the array before must open it again, and nobody may write meanwhile.
 *
 * With a store whose option `sync` is set, each step waits until all before it is on the
 * disk, so that a loss of power is like a kill. This takes some milliseconds for each chunk.
 *
 * @param location The array or group, in a `FileSystemStore`. Consolidated metadata of
 * groups above it in the store is changed, too.
 * @param options The new layout, and how the work is done.
 * @returns What was done: `copied` counts the chunks, and `bytes` the bytes that were written.
 * @throws {MetadataError} If no node is there, or its metadata or the new one is not valid.
 * @throws {MissingPartError} If a chunk lacks parts.
 * @throws {PartSizeError} If a chunk does not fit the sizes of its parts, or the new ones.
 * @throws {RangeError} If an option is out of range, the bytes of chunks would have to be
 * moved, or new keys are those of other chunks.
 * @throws {TypeError} If an option is unknown or of a wrong type, or the store is no
 * `FileSystemStore`.
 * @throws {Error} If a file that would be changed has several names or is a link, a file is
 * where a new one is needed, another program is at work, or a conversion to this place or
 * with another layout is unfinished.
 *
 * @example
 * ```ts
 * import { arrayMetadata, createArrayChunks, FileSystemStore } from "@zarr-parts/zarr-parts";
 * import { convertInPlace } from "@zarr-parts/zarr-parts/jobs";
 * import { assertEquals } from "@std/assert";
 *
 * const folder = await Deno.makeTempDir();
 * const store = new FileSystemStore(folder);
 * const metadata = arrayMetadata({
 *   shape: [6],
 *   dataType: "uint8",
 *   chunkShape: [3],
 *   codecs: ["crc32c"],
 * });
 * const chunks = await createArrayChunks(store, "", metadata);
 * await chunks.set([0], new Uint8Array([1, 2, 3, 4, 5, 6, 7]));
 *
 * await convertInPlace(store, { suffix: ".raw", parts: ["", ".crc32c"] });
 * assertEquals(await store.get("/c/0.raw"), new Uint8Array([1, 2, 3]));
 * assertEquals(await store.get("/c/0.raw.crc32c"), new Uint8Array([4, 5, 6, 7]));
 *
 * await convertInPlace(store, { plain: true });
 * assertEquals(await store.get("/c/0"), new Uint8Array([1, 2, 3, 4, 5, 6, 7]));
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export async function convertInPlace(
  location: Store | NodeLocation,
  options: ConvertInPlaceOptions = {},
): Promise<Conversion> {
  assertInPlaceOptions(options);
  const place = placeOf(location);
  const files = fileChangesOf(place.store);
  if (files === undefined) {
    throw new TypeError(
      `Cannot convert in place in ${
        describeStore(place.store)
      }: expected a FileSystemStore, whose files can be cut and renamed; convert to another place instead`,
    );
  }
  return await runInPlace(place, files, options);
}

/** Converts in place by given operations on files. */
export async function runInPlace(
  place: Place,
  files: FileChanges,
  options: ConvertInPlaceOptions,
): Promise<Conversion> {
  const { store, root } = place;
  const { signal } = options;
  const storeOptions: StoreOptions = signal ? { signal } : {};
  if (await store.get(documentKey(place, ""), storeOptions) === undefined) {
    throw await missingArray(store, root, storeOptions);
  }
  const unlock = options.dryRun ? async () => {} : await lock(place, files);
  try {
    // Chunks whose writers were killed become whole.
    if (!options.dryRun) {
      await recover(store, { path: root.slice(1), ...storeOptions });
    }
    const marker = await readMarker(place, storeOptions);
    if (marker === undefined) return await beginInPlace(place, files, options);
    if (marker.inPlace) {
      return await continueInPlace(place, files, marker.inPlace, options);
    }
    throw new Error(
      `Cannot convert ${
        describePlace(place)
      } in place: a conversion to it is unfinished; finish it by convert with the option resume`,
    );
  } finally {
    await unlock();
  }
}

async function lock(
  place: Place,
  files: FileChanges,
): Promise<() => Promise<void>> {
  let unlock: (() => Promise<void>) | undefined;
  try {
    unlock = await files.lock(place.root);
  } catch (error) {
    throw new Error(
      `Cannot convert ${
        describePlace(place)
      } in place, since its folder cannot be written: ${
        (error as Error).message
      }`,
      { cause: error },
    );
  }
  if (unlock !== undefined) return unlock;
  throw new Error(
    `Another program is converting ${
      describePlace(place)
    } in place; wait until it has ended`,
  );
}
