import { arrayRoot, parseArray } from "../arrays/mod.ts";
import {
  type ChunkKeyEncoding,
  SuffixChunkKeyEncoding,
  toChunkKeyEncoding,
} from "../chunk_key_encoding/mod.ts";
import { ConcatParts } from "../concat_parts/mod.ts";
import {
  checkExclusive,
  checkOptions,
  describe,
  type OptionRules,
  TEXT,
} from "../errors/mod.ts";
import {
  type ArrayMetadata,
  isSameJson,
  type NamedConfiguration,
} from "../metadata/mod.ts";
import { mapConcurrently } from "../runtime/mod.ts";
import {
  assertStore,
  assertStoreKey,
  assertWritable,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { adoptFiles, FILES_AT_ONCE } from "./adopt_files.ts";
import {
  adoptedLayout,
  adoptedParts,
  adoptedSharding,
} from "./adopted_index.ts";
import {
  type AdoptedArray,
  ADOPTION_OPTIONS,
  type AdoptionOptions,
  assertAdoption,
} from "./adoption_options.ts";
import {
  countSteps,
  filesOfShare,
  findFiles,
  type FoundFile,
  placeByName,
} from "./files_to_adopt.ts";
import { type MosaicFile, mosaicOf } from "./mosaic.ts";
import { notesOnStarts } from "./suggest_format.ts";
import {
  contentsOf,
  differentMember,
  dimensionsOfZip,
  indexOf,
  memberText,
  readZippedArray,
  type ZippedArray,
} from "../zip/mod.ts";

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
 * @throws {Error} If `finish` is set, and a file lacks its index.
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
  assertAdoptZipOptions(options);
  const { key, files, array = "", dimensionNames, signal } = options;
  const root = arrayRoot(path);
  assertWritable(store, `${root}/zarr.json`);
  const encoding = toChunkKeyEncoding(
    options.chunkKeyEncoding ?? new SuffixChunkKeyEncoding(".zip"),
  );
  const reading = signal ? { signal } : {};
  const found: readonly (Partial<FoundFile> & { key: StoreKey })[] =
    key !== undefined ? [{ key }] : files ??
      await findZips(store, root, encoding, array, reading);
  const toRead = filesOfShare(found, options);
  const own = toRead.filter(({ isOwn }) => isOwn).length;
  const onStep = countSteps(
    toRead.length,
    options.finish ? found.length : own,
    options,
  );
  const zips = await mapConcurrently(
    toRead,
    FILES_AT_ONCE,
    async (file): Promise<PlacedZip> => {
      const name = `File ${describe(file.key)}`;
      const zip = await readZippedArray(store, file.key, array, reading);
      if (zip.extents.length === 0) throw withoutChunks(name, zip);
      const { shape } = zip.metadata;
      const coordinates = shape.map(() => 0);
      onStep();
      return { ...zip, name, shape, coordinates, ...file };
    },
    options.signal,
  );
  const all = found.map(({ key, coordinates }) => ({
    key,
    coordinates: coordinates ?? zips[0]!.coordinates,
  }));
  const notes = [...compare(zips), ...notesOnStarts(all, encoding)];
  const { metadata, chunkShape } = zips[0]!;
  const rank = metadata.shape.length;
  if (dimensionNames !== undefined && dimensionNames.length !== rank) {
    throw new RangeError(
      `Expected dimensionNames to have one name for each of the ${rank} dimensions, found ${
        describe(dimensionNames)
      }`,
    );
  }
  const mosaic = mosaicOf(zips, chunkShape, "chunks");
  const layout = adoptedLayout(mosaic.chunksPerShard);
  const adopted: ArrayMetadata = {
    ...metadata,
    shape: mosaic.shape,
    chunk_grid: {
      name: "regular",
      configuration: { chunk_shape: mosaic.shardShape },
    },
    chunk_key_encoding: encoding.toJSON(),
    codecs: [adoptedSharding(chunkShape, metadata.codecs)],
    ...dimensionNames && { dimension_names: [...dimensionNames] },
    storage_transformers: [new ConcatParts(adoptedParts(layout)).toJSON()],
  };
  return await adoptFiles(
    store,
    path,
    adopted,
    zips.filter(({ isOwn }) => isOwn).map((zip) => ({
      ...zip,
      index: indexOf(zip, layout),
      contents: contentsOf(array),
    })),
    { ...options, notes, all, onStep },
  );
}

/** Finds the files whose keys an encoding decodes. */
async function findZips(
  store: Store,
  root: "" | StoreKey,
  encoding: ChunkKeyEncoding,
  array: string,
  options: StoreOptions,
): Promise<FoundFile[]> {
  const { files } = await findFiles(
    store,
    root,
    [encoding],
    /\.zip$/i,
    options,
  );
  return await placeByName(
    encoding,
    files,
    (key) => dimensionsOfZip(store, key, array, options),
  );
}

/** The error for a zip that would add nothing to an array. */
function withoutChunks(
  name: string,
  { metadata }: ZippedArray,
): RangeError {
  const { keys, gridShape } = parseArray(metadata);
  const first = keys.encode(gridShape.map(() => 0));
  return new RangeError(
    `${name} has no chunk of its array, such as the entry ${
      describe(first)
    } beside its zarr.json, so that all elements would have the fill value: leave it out, or correct the names of its entries`,
  );
}

/** A zip with its place in the array. */
interface PlacedZip extends ZippedArray, MosaicFile {
  readonly key: StoreKey;
  readonly isOwn: boolean;
}

/** The members of metadata of which the array has those of the first file. */
const FIRST = ["attributes", "dimension_names"] as const;

/** Refuses files that hold arrays of different kinds. Returns notes on what else differs. */
function compare(zips: readonly PlacedZip[]): string[] {
  const [first] = zips;
  const notes: string[] = [];
  for (const { name, coordinates, metadata } of zips) {
    if (coordinates.length !== metadata.shape.length) {
      throw new RangeError(
        `${name} is at ${
          describe(coordinates)
        }, where its array has ${metadata.shape.length} dimensions: give one coordinate for each`,
      );
    }
    const different = differentMember(metadata, first!.metadata);
    if (different !== undefined) {
      throw new RangeError(
        `${first!.name} has the ${different} ${
          memberText(first!.metadata[different])
        }, and ${name} has ${
          memberText(metadata[different])
        }: files of one array agree in it; adopt them as several arrays`,
      );
    }
    for (const member of FIRST) {
      const [one, other] = [metadata[member], first!.metadata[member]];
      if (isSameJson(one ?? null, other ?? null)) continue;
      notes.push(
        `${name} has other ${member} than ${
          describe(first!.key)
        }, whose ${member} the array has`,
      );
    }
  }
  return notes;
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
  /** The zips: the grid coordinates of each shard, and the key of its file. */
  files?:
    | readonly {
      readonly coordinates: readonly number[];
      readonly key: StoreKey;
    }[]
    | undefined;
  /**
   * The chunk key encoding of the array, by its name, its metadata or as an instance.
   * Defaults to `suffix` with `.zip`.
   */
  chunkKeyEncoding?:
    | string
    | NamedConfiguration
    | ChunkKeyEncoding
    | undefined;
  /** The path of the array inside the zips. Defaults to `""`, the root. */
  array?: string | undefined;
  /** A name for each dimension, or `null`. By default, those of the arrays in the zips. */
  dimensionNames?: readonly (string | null)[] | undefined;
}

const OPTIONS: OptionRules<AdoptZipOptions> = {
  ...ADOPTION_OPTIONS,
  key: { ...TEXT, expected: "the key of a zip" },
  files: { expected: "a list of coordinates and keys", isValid: isFiles },
  chunkKeyEncoding: {
    expected: "a chunk key encoding",
    isValid: (value) =>
      ["string", "object"].includes(typeof value) && value !== null,
  },
  array: { ...TEXT, expected: "a path" },
  dimensionNames: { expected: "a list of names", isValid: Array.isArray },
};

/** Refuses options that are unknown or of a wrong type. */
function assertAdoptZipOptions(options: AdoptZipOptions): void {
  checkOptions(options, OPTIONS, "adoptZip");
  assertAdoption(options);
  checkExclusive(options, [["key", "files"]]);
  const { key, files } = options;
  for (const each of [...key === undefined ? [] : [{ key }], ...files ?? []]) {
    assertStoreKey(each.key);
  }
}

function isFiles(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 &&
    value.every((file) =>
      typeof file?.key === "string" && Array.isArray(file.coordinates) &&
      file.coordinates.every((c: unknown) =>
        Number.isSafeInteger(c) && c as number >= 0
      )
    );
}
