import { ConcatParts } from "../concat_parts/mod.ts";
import {
  checkExclusive,
  checkOptions,
  describe,
  type OptionRules,
  TEXT,
} from "../errors/mod.ts";
import { type ArrayMetadata, isSameJson } from "../metadata/mod.ts";
import { assertStore, type Store, type StoreKey } from "../stores/mod.ts";
import { adoptArray, type FileFormat, type PlacedFile } from "./adopt_files.ts";
import {
  adoptedLayout,
  adoptedParts,
  adoptedSharding,
} from "./adopted_index.ts";
import {
  type AdoptedArray,
  ADOPTION_OPTIONS,
  type AdoptionOptions,
  isFiles,
} from "./adopt_files.ts";
import { findFiles } from "./find_files.ts";
import { mosaicOf } from "./mosaic.ts";
import {
  contentsOf,
  indexOf,
  memberText,
  readZippedArray,
  type ZippedArray,
} from "./zipped_array.ts";

/**
 * Makes an array of zip files that hold arrays, such as those of zarr-python's
 * `ZipStore`. The files are not changed: what is added is a `zarr.json`, and an index
 * beside each file, with `.index` after its key. Each file is a shard, and the chunks
 * of the array inside are its inner chunks. If these are shards themselves, the array
 * has shards of shards, which can be read and not written.
 *
 * Several files are put together to one array. Along each dimension, all files have the
 * same length, a multiple of their chunks; the last ones may be shorter.
 *
 * The entries of the array are stored as they are, not compressed by zip. Of each file,
 * its directory and the `zarr.json` inside are read, by three or four requests, and the
 * headers of entries that have more than a name.
 *
 * @param store The store that has the files.
 * @param path The path of the new array in the store; empty for the root.
 * @param options Which files, and how they are read. `signal` aborts the requests.
 * @returns The array, and a report of what was found.
 * @throws {RangeError} If files cannot be shards of one array as they are, with the
 * reason and a way out: entries are compressed, encrypted or there twice, arrays differ
 * in more than their attributes, lengths do not fit together, there are no files, or a
 * file's key is not that of its chunk, without `link`.
 * @throws {DamageError} If a file is not a zip, was cut, or has entries that overlap.
 * @throws {MetadataError} If there is no Zarr v3 array in a file, or there is a node or
 * another index at the place of the new array already, without `overwrite`.
 * @throws {TypeError} If an option is unknown or of a wrong type, or the store is
 * read-only, cannot list where it has to, or cannot link.
 *
 * @example The array in a zip
 * ```ts
 * import {
 *   arrayMetadata,
 *   encodeShard,
 *   MemoryStore,
 *   parseShardLayout,
 * } from "@zarr-parts/zarr-parts";
 * import { withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
 * import { adoptZip, zipContainer } from "@zarr-parts/zarr-parts/zip";
 * import { assertEquals } from "@std/assert";
 * import * as zarr from "zarrita";
 *
 * // A zip as zarr-python's ZipStore writes it: zarr.json, c/0 and c/1.
 * const metadata = arrayMetadata({
 *   shape: [4],
 *   dataType: "uint8",
 *   shardShape: [4],
 *   chunkShape: [2],
 * });
 * const zip = encodeShard(
 *   [new Uint8Array([1, 2]), new Uint8Array([3, 4])],
 *   parseShardLayout(metadata.codecs[0], [4]),
 *   { container: zipContainer(metadata, { zarrJson: "first" })([0]) },
 * );
 *
 * const store = new MemoryStore([["/a/c/0.zip", zip]]);
 * const { chunks, report } = await adoptZip(store, "a");
 * assertEquals(chunks.metadata.shape, [4]);
 * assertEquals(report.innerChunks, 2);
 *
 * const root = zarr.root(withZarrParts(store)).resolve("a");
 * const array = await zarr.open(root, { kind: "array" });
 * assertEquals((await zarr.get(array)).data, new Uint8Array([1, 2, 3, 4]));
 * ```
 */
export async function adoptZip(
  store: Store,
  path: string,
  options: AdoptZipOptions = {},
): Promise<AdoptedArray> {
  assertStore(store);
  checkOptions(options, OPTIONS, "adoptZip");
  checkExclusive(options, [["key", "files"]]);
  const { key, array = "", dimensionNames } = options;
  const format = zipFormat(array);
  const found = await findFiles(store, path, format, {
    ...options,
    ...key !== undefined && { files: [{ key, coordinates: [] }] },
  });
  const files = key === undefined ? found : {
    ...found,
    place: (dimensions: readonly (string | null)[]) => ({
      coordinates: [dimensions.map(() => 0)],
      stack: 0,
      dimensionNames,
    }),
  };
  return await adoptArray(store, path, format, files, options);
}

/** Arrays in zips. */
export function zipFormat(array: string): FileFormat<ZippedArray> {
  return {
    suffixes: [".zip"],
    isPicture: false,
    read: (store, key, options) => readZippedArray(store, key, array, options),
    dimensionsOf: ({ metadata: { dimension_names, shape } }) =>
      dimension_names ?? shape.map(() => null),
    // deno-lint-ignore require-await -- since other formats compose attributes by modules that are loaded
    async compose(files, { dimensionNames, encoding }) {
      const zips = files.map((file) => ({
        ...file,
        shape: file.metadata.shape,
      }));
      const notes = compare(zips);
      const { metadata, chunkShape } = zips[0]!;
      const mosaic = mosaicOf(zips, chunkShape, "chunks");
      const layout = adoptedLayout(mosaic.chunksPerShard);
      return {
        arrays: [{
          path: "",
          metadata: {
            ...metadata,
            shape: mosaic.shape,
            chunk_grid: {
              name: "regular",
              configuration: { chunk_shape: mosaic.shardShape },
            },
            chunk_key_encoding: encoding.toJSON(),
            codecs: [adoptedSharding(chunkShape, metadata.codecs)],
            ...dimensionNames && { dimension_names: [...dimensionNames] },
            storage_transformers: [
              new ConcatParts(adoptedParts(layout)).toJSON(),
            ],
          },
          shards: zips.map((zip) => ({
            ...zip,
            index: indexOf(zip, layout),
            contents: contentsOf(array),
          })),
        }],
        notes,
      };
    },
  };
}

/** The members of metadata that are the same for all files of an array, and those of which the array has those of the first file. */
const [SAME, FIRST] = [
  ["data_type", "chunk_grid", "fill_value", "codecs"],
  ["attributes", "dimension_names"],
] as const;

/** Refuses files that hold arrays of different kinds. Returns notes on what else differs. */
function compare(zips: readonly (ZippedArray & PlacedFile)[]): string[] {
  const [{ key, name: firstName, metadata: first }] = zips as [
    ZippedArray & PlacedFile,
  ];
  return zips.flatMap(({ name, metadata }) => {
    const differs = (member: keyof ArrayMetadata) =>
      !isSameJson(metadata[member] ?? null, first[member] ?? null);
    const different = SAME.find(differs);
    if (different === undefined) {
      return FIRST.filter(differs).map((member) =>
        `${name} has other ${member} than ${
          describe(key)
        }, whose ${member} the array has`
      );
    }
    throw new RangeError(
      `${firstName} has the ${different} ${
        memberText(first[different])
      }, and ${name} has ${
        memberText(metadata[different])
      }: files of one array agree in it; adopt them as several arrays`,
    );
  });
}

/**
 * The options of `adoptZip`.
 *
 * @example A year of files by their names
 * ```ts
 * import { TemplateChunkKeyEncoding } from "@zarr-parts/zarr-parts";
 * import type { AdoptZipOptions } from "@zarr-parts/zarr-parts/zip";
 *
 * const options: AdoptZipOptions = {
 *   chunkKeyEncoding: new TemplateChunkKeyEncoding("month_{0:02}_{1}_{2}.zip"),
 *   array: "temperature",
 * };
 * ```
 */
export interface AdoptZipOptions extends AdoptionOptions {
  /** The key of the only zip. By default, all files are adopted whose keys `chunkKeyEncoding` decodes. */
  key?: StoreKey | undefined;
  /** The path of the array inside the zips. Defaults to `""`, the root. */
  array?: string | undefined;
}

const OPTIONS: OptionRules<AdoptZipOptions> = {
  ...ADOPTION_OPTIONS,
  key: { ...TEXT, expected: "the key of a zip" },
  files: {
    expected: "a list of { coordinates, key } that is not empty",
    isValid: (value) => isFiles(value) && value.length > 0,
  },
  array: { ...TEXT, expected: "a path" },
};
