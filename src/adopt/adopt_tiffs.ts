import { arrayRoot } from "../arrays/mod.ts";
import type { ChunkKeyEncoding } from "../chunk_key_encoding/mod.ts";
import type { ArrayMetadata } from "../metadata/mod.ts";
import {
  assertStore,
  assertWritable,
  type Store,
  type StoreOptions,
} from "../stores/mod.ts";
import { adoptFiles } from "./adopt_files.ts";
import type { AdoptedArray } from "./adoption_options.ts";
import { countSteps } from "./files_to_adopt.ts";
import { notesOnStarts } from "./suggest_format.ts";
import {
  type AdoptTiffsOptions,
  assertAdoptTiffs,
} from "./adopt_tiffs_options.ts";
import {
  geoArrayAttributes,
  joinAttributes,
  valueAttributes,
} from "../tiff/mod.ts";
import {
  findTiffs,
  geoPlaceOfTiffs,
  levelOf,
  metadataOf,
  pictureNames,
  type ReadFile,
  readFiles,
  type TiffLevel,
  tiffsToRead,
} from "./tiffs_to_adopt.ts";

/**
 * Makes a Zarr array of TIFF files, each of which becomes a shard with its tiles, or its
 * strips, as inner chunks. The files are not changed: an index is written beside each
 * file, under the file's key and `.index`, and then the array's `zarr.json`. Only the
 * directories of the files are read.
 *
 * Files at neighbouring grid coordinates make a mosaic. All have one data type, one
 * shape of tiles, one compression and one fill value, and all but the last ones along
 * a dimension have one length. `stack` puts each file at one place of a new first
 * dimension.
 *
 * A file that is written anew after it was adopted needs a new index: call `adoptTiffs`
 * again with `overwrite: true`. `verifyAdopted` finds such files.
 *
 * @param store The store that holds the files, and takes the indexes and the metadata.
 * @param path The array's path in the store; empty for the root.
 * @param options The names of the files, and which pages or series of them are adopted.
 * @returns The array, and a report about its files.
 * @throws {RangeError} If there are no files, or they cannot be one array: the message
 * names a file, the reason, and what to do.
 * @throws {DamageError} If a file is not a TIFF, or its directories are damaged.
 * @throws {MetadataError} If a node or another index is there already, without
 * `overwrite`.
 * @throws {Error} If `finish` is set, and a file lacks its index.
 * @throws {TypeError} If an option is unknown or of a wrong type, or the store is
 * read-only, or it cannot list or link files where it has to.
 *
 * @example Two files of a mosaic, beside each other
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { adoptTiffs, tiffContainer } from "@zarr-parts/zarr-parts/tiff";
 * import { setSharded, withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
 * import { assertEquals } from "@std/assert";
 * import * as zarr from "zarrita";
 *
 * // Two TIFFs, each of 32 × 32 pixels in tiles of 16 × 16.
 * const store = new MemoryStore();
 * const metadata = arrayMetadata({
 *   shape: [32, 64],
 *   dataType: "uint8",
 *   shardShape: [32, 32],
 *   chunkShape: [16, 16],
 *   keyEncoding: { name: "template", configuration: { format: "row{0}_column{1}.tif" } },
 * });
 * await createArrayChunks(store, "", metadata);
 * const pixels = Uint8Array.from({ length: 2048 }, (_, i) => i % 251);
 * const written = await zarr.open(zarr.root(withZarrParts(store)), { kind: "array" });
 * await setSharded(zarr, written, null, pixels, { container: tiffContainer(metadata) });
 * await store.delete("/zarr.json"); // Only the two files are left.
 *
 * const { chunks, report } = await adoptTiffs(store, "", {
 *   chunkKeyEncoding: { name: "template", configuration: { format: "row{0}_column{1}.tif" } },
 * });
 * assertEquals(chunks.metadata.shape, [32, 64]);
 * assertEquals(report.files, 2);
 * assertEquals(report.innerChunks, 8);
 *
 * const array = await zarr.open(zarr.root(withZarrParts(store)), { kind: "array" });
 * assertEquals((await zarr.get(array)).data, pixels);
 * ```
 */
export async function adoptTiffs(
  store: Store,
  path: string,
  options: AdoptTiffsOptions = {},
): Promise<AdoptedArray> {
  assertStore(store);
  assertAdoptTiffs(options);
  const root = arrayRoot(path);
  assertWritable(store, `${root}/zarr.json`);
  const { signal } = options;
  const storeOptions: StoreOptions = signal ? { signal } : {};
  const { encoding, files } = await findTiffs(
    store,
    root,
    options,
    storeOptions,
  );
  const { toRead, own } = tiffsToRead(files, options);
  const onStep = countSteps(
    toRead.length,
    options.finish ? files.length : own,
    options,
  );
  const read = await readFiles(
    store,
    toRead,
    { ...options, isPyramid: false },
    onStep,
    storeOptions,
  );
  const level = levelOf(read, 0);
  const { metadata, notes } = await withAttributes(
    read,
    level,
    encoding,
    options,
  );
  return await adoptFiles(store, path, metadata, level.files, {
    ...options,
    notes: [
      ...notesOnStarts(files, encoding),
      ...notes,
      ...notesOnPages(read, options),
    ],
    all: files,
    onStep,
  });
}

/** The metadata of an array, whose attributes have the place of its files on the earth, and what its elements mean. */
async function withAttributes(
  files: readonly ReadFile[],
  { shard, mosaic, geo }: TiffLevel,
  encoding: ChunkKeyEncoding,
  options: AdoptTiffsOptions,
): Promise<{ metadata: ArrayMetadata; notes: readonly string[] }> {
  const { place, notes } = geoPlaceOfTiffs(files);
  const dimensions = pictureNames(shard, options);
  const values = await valueAttributes(
    files.flatMap(({ picture }) => picture.values),
    shard.dataType,
  );
  const attributes = joinAttributes(
    {
      ...values.attributes,
      ...dimensions && geoArrayAttributes(place, geo, dimensions),
    },
    options.attributes,
  );
  const metadata = metadataOf(shard, mosaic, encoding, {
    ...options,
    ...Object.keys(attributes).length > 0 && { attributes },
  });
  return { metadata, notes: [...notes, ...values.notes] };
}

/** Returns notes on series and overviews that are not adopted. */
function notesOnPages(
  files: readonly ReadFile[],
  { overview }: AdoptTiffsOptions,
): string[] {
  const series = files.find(({ hasSeries }) => hasSeries);
  const notes = series === undefined ? [] : [
    `${series.name} describes the dimensions of its pages, which are one dimension of the array: the option "series", or --series 0, keeps them`,
  ];
  const most = files.reduce((a, b) => b.overviews > a.overviews ? b : a);
  if (overview !== undefined || most.overviews === 0) return notes;
  const count = most.overviews === 1
    ? "an overview"
    : `${most.overviews} overviews`;
  return [
    ...notes,
    `${most.name} has ${count}, which the array leaves out: adoptPyramid, and zarr-parts adopt --multiscale, make a group of all levels`,
  ];
}
