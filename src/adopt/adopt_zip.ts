import {
  type ArrayChunks,
  arrayRoot,
  countOfGrid,
  openArrayChunks,
  parseArray,
} from "../arrays/mod.ts";
import { crc32 } from "../checksum/mod.ts";
import {
  checkExclusive,
  checkOptions,
  describe,
  MetadataError,
  type OptionRules,
  sentence,
  TEXT,
} from "../errors/mod.ts";
import { type ArrayMetadata, isSameJson } from "../metadata/mod.ts";
import { type Extent, placeInShard } from "../shards/mod.ts";
import {
  assertStore,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { storedEntries, ZipStore } from "../zip/mod.ts";
import {
  type AdoptedArray,
  adoptFiles,
  ADOPTION_OPTIONS,
  type AdoptionOptions,
  arrayOf,
  type FileFormat,
  isFiles,
} from "./adopt_files.ts";
import { type FileArray, mosaicOf, type PlacedFile } from "./adopted_array.ts";
import { findFiles } from "./find_files.ts";

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
  return arrayOf(await adoptFiles(store, path, format, files, options));
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
    async compose(files, { dimensionNames }) {
      const notes = compare(files);
      const contents = contentsOf(array);
      const placed = files.map((file) => ({ ...file, contents }));
      const mosaic = mosaicOf(placed, "chunks");
      const metadata = {
        ...files[0]!.metadata,
        ...dimensionNames && { dimension_names: [...dimensionNames] },
      };
      return { arrays: [{ path: "", metadata, mosaic, files: placed }], notes };
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
  const [{ key: firstKey, metadata: first }] = zips as [
    ZippedArray & PlacedFile,
  ];
  return zips.flatMap(({ key, metadata }) => {
    const differs = (member: keyof ArrayMetadata) =>
      !isSameJson(metadata[member] ?? null, first[member] ?? null);
    const different = SAME.find(differs);
    if (different === undefined) {
      return FIRST.filter(differs).map((member) =>
        `File ${describe(key)} has other ${member} than ` +
        `${describe(firstKey)}, whose ${member} the array has`
      );
    }
    const [one, other] = [first, metadata]
      .map((each) => memberText(each[different]));
    throw new RangeError(
      sentence`File ${firstKey} has the ` +
        `${different} ${one}, and ${sentence`File ${key}`} has ${other}: files of one array agree in it; adopt them as several arrays`,
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

const DOCUMENT = "/zarr.json";

/** An array inside a zip. */
interface ZippedArray extends FileArray {
  /** The length of the zip in bytes. */
  readonly size: number;
  /** The metadata of the array, written out. */
  readonly metadata: ArrayMetadata;
  /** The names of the entries that are its chunks. */
  readonly entries: ReadonlySet<string>;
}

/**
 * Reads where the chunks of an array lie in a zip.
 *
 * @param array The path of the array inside the zip, or the number that
 * {@linkcode contentsOf} gives for the path.
 * @throws {DamageError} If the file is not a zip, or is damaged.
 * @throws {RangeError} If there is no file, an entry of the array is compressed, encrypted
 * or there twice, or the chunks of the array are in parts.
 * @throws {MetadataError} If no array of Zarr v3 is at the path.
 */
export async function readZippedArray(
  store: Store,
  key: StoreKey,
  array: string | number,
  options: StoreOptions,
): Promise<ZippedArray> {
  const path = typeof array === "string"
    ? array
    : await pathOf(new ZipStore(store, key), array, key, options);
  const zip = new ZipStore(store, key, { path });
  const { size } = await zip.describe(options);
  const chunks = await openInside(zip, options);
  if ((chunks.metadata.storage_transformers ?? []).length > 0) {
    throw new RangeError(
      sentence`File ${key} has an array with storage transformers, of which a chunk may be several entries: adopt arrays without them`,
    );
  }
  const { metadata } = parseArray(chunks.metadata, { isNew: true });
  const coordinates: number[][] = [];
  for await (const chunk of chunks.list(options)) coordinates.push(chunk);
  if (coordinates.length === 0) {
    const first = chunks.keyEncoding.encode(chunks.gridShape.map(() => 0));
    throw new RangeError(
      sentence`File ${key} has no chunk of its array, such as the entry ${first} beside its zarr.json, so that all elements would have the fill value: leave it out, or correct the names of its entries`,
    );
  }
  const keys = coordinates.map((c) => chunks.key(c));
  const entries = await storedEntries(zip, keys, options);
  const grid = { chunksPerShard: chunks.gridShape };
  const index = new Array<Extent | undefined>(countOfGrid(chunks.gridShape))
    .fill(undefined);
  for (const [i, { extent }] of entries.entries()) {
    index[placeInShard(coordinates[i]!, grid)] = extent;
  }
  return {
    size,
    metadata,
    shape: metadata.shape,
    chunkShape: chunks.chunkShape,
    chunks: index,
    entries: new Set(entries.map(({ name }) => name)),
  };
}

/** Opens the array that a zip shows. If another node is there, the error advises how to name the array. */
async function openInside(
  zip: ZipStore,
  options: StoreOptions,
): Promise<ArrayChunks> {
  try {
    return await openArrayChunks(zip, "", options);
  } catch (cause) {
    const isMissing = cause instanceof MetadataError &&
      ["", "/node_type"].includes(cause.path);
    if (!isMissing) throw cause;
    for await (const key of zip.list("/", options)) {
      if (!key.endsWith(DOCUMENT) || key === DOCUMENT) continue;
      const path = describe(key.slice(1, -DOCUMENT.length));
      throw new MetadataError(
        `${cause.message}: name the array by the option "array", such as ${path}`,
        "",
        { cause },
      );
    }
    throw cause;
  }
}

/** Finds the path of an array by its number, which may count from the root of the archive or from the folder that is shown. */
async function pathOf(
  zip: ZipStore,
  contents: number,
  key: StoreKey,
  options: StoreOptions,
): Promise<string> {
  const { folder } = await zip.describe(options);
  for await (const entry of zip.list("/", options)) {
    if (!entry.endsWith(DOCUMENT)) continue;
    const path = entry.slice(1, -DOCUMENT.length);
    const paths = [path, path === "" ? folder : `${folder}/${path}`];
    const found = paths.find((each) => contentsOf(each) === contents);
    if (found !== undefined) return found;
  }
  throw new RangeError(
    sentence`File ${key} has no array at the path that was adopted`,
  );
}

/** Writes a member of metadata for messages, with whole numbers of more than 53 bits as texts. */
function memberText(member: unknown): string {
  return JSON.stringify(
    member,
    (_, value) => typeof value === "bigint" ? String(value) : value,
  );
}

/** The number that stands for the path of an array in the record of a file: a CRC-32, which is 0 for the root. */
export function contentsOf(path: string): number {
  return crc32(new TextEncoder().encode(arrayRoot(path).slice(1)));
}
