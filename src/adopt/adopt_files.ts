import {
  ArrayChunks,
  arrayRoot,
  countOfGrid,
  parseArray,
  readDocument,
  shardOf,
} from "../arrays/mod.ts";
import type { ChunkKeyEncoding } from "../chunk_key_encoding/mod.ts";
import {
  BOOLEAN,
  FUNCTION,
  inDocument,
  MetadataError,
  type OptionRules,
  sentence,
  SIGNAL,
} from "../errors/mod.ts";
import {
  type ArrayMetadata,
  formatZarrJson,
  isGroupDocument,
  isWhole,
  type NamedConfiguration,
  parseZarrJson,
} from "../metadata/mod.ts";
import {
  isSameBytes,
  joinBytes,
  mapConcurrently,
  runConcurrently,
} from "../runtime/mod.ts";
import {
  assertExtents,
  encodeFileRecord,
  encodeShardIndex,
  FILE_RECORD_SIZE,
  type ShardIndex,
  shardIndexSize,
  type ShardLayout,
} from "../shards/mod.ts";
import {
  assertLinks,
  assertStoreKey,
  backendOf,
  canRecover,
  describeStore,
  isSameValue,
  recover,
  remove,
  type Store,
  type StoreKey,
  type StoreOptions,
  write,
  writeNew,
} from "../stores/mod.ts";
import {
  INDEX_SUFFIX,
  type Mosaic,
  mosaicMetadata,
  type PlacedArray,
  type PlacedFile,
  shardIndexOf,
} from "./adopted_array.ts";

/** The number of files that are read or adopted at the same time. */
export const FILES_AT_ONCE = 16;

/** A format of files that become the shards of arrays. `F` is what is read of a file. */
export interface FileFormat<F> {
  /** The ends of names by default, such as `.tiff` and `.tif`. */
  readonly suffixes: readonly string[];
  /** Whether arrays have the dimensions `y` and `x`, which file names number together. */
  readonly isPicture: boolean;
  /** Reads all that arrays of a file need, but no chunks. */
  read(store: Store, key: StoreKey, options: StoreOptions): Promise<F>;
  /** The names of the dimensions of an array of a file. */
  dimensionsOf(file: F): readonly (string | null)[];
  /**
   * Puts files together to arrays.
   *
   * @throws {RangeError} If the files do not fit together.
   */
  compose(
    files: readonly (F & PlacedFile)[],
    placement: Placement,
  ): Promise<ComposedArrays>;
}

/** Files, and what places them. */
export interface FilesToAdopt {
  readonly keys: readonly StoreKey[];
  /** The chunk key encoding of the arrays. */
  readonly encoding: ChunkKeyEncoding;
  /** Places the files by the names of the dimensions of an array of the first one. */
  place(dimensions: readonly (string | null)[]): Placement;
}

/** The places of files. */
export interface Placement {
  /** The grid coordinates of each file. */
  readonly coordinates: readonly (readonly number[])[];
  /** The number of new first dimensions along which each file is one element. */
  readonly stack: number;
  /** Names of the dimensions other than those of the files. */
  readonly dimensionNames?: readonly (string | null)[] | undefined;
  readonly notes?: readonly string[];
}

/** Arrays that files make, and the groups around them. */
interface ComposedArrays {
  /** The arrays, with their paths from the path of the adoption. */
  readonly arrays: readonly ComposedArray[];
  /** The attributes of groups by their paths, the outermost group last. */
  readonly groups?: ReadonlyMap<string, Record<string, unknown>>;
  readonly notes: readonly string[];
}

/** An array of which each file is a shard. */
interface ComposedArray {
  readonly path: string;
  /** The metadata of the array in a file, with the names and attributes of the whole. */
  readonly metadata: ArrayMetadata;
  readonly mosaic: Mosaic;
  readonly files: readonly PlacedArray[];
}

/** The result of {@linkcode adoptFiles}: one array, or the arrays of a group, one for each level. */
export interface Adopted {
  /** The arrays, with their paths from the path of the adoption. */
  readonly levels: readonly (AdoptedArray & { readonly path: string })[];
  /** The attributes of the group; `undefined` for an array. */
  readonly attributes: Readonly<Record<string, unknown>> | undefined;
  readonly notes: readonly string[];
}

/**
 * Makes arrays of files: reads each file once, places the files, puts them together, writes
 * an index beside each file, and then each `zarr.json`. The files are not changed. After a
 * failure, what is new is removed again.
 *
 * @throws {MetadataError} If there is a node or another index already, without
 * `overwrite`.
 * @throws {RangeError} If files do not fit together, two of them have the same coordinates,
 * or the key of one is not that of its chunk, without `link`.
 * @throws {TypeError} If the store is read-only, or cannot link where it has to.
 * @throws {DamageError} If inner chunks of a file overlap, without being the same bytes.
 */
export async function adoptFiles<F>(
  store: Store,
  path: string,
  format: FileFormat<F>,
  { keys, encoding, place }: FilesToAdopt,
  options: AdoptionOptions,
): Promise<Adopted> {
  const { signal, dryRun = false, onProgress } = options;
  const storeOptions: StoreOptions = signal ? { signal } : {};
  const root = arrayRoot(path);
  if (keys.length === 0) throw new RangeError("Expected files, found none");
  const progress = { done: 0, total: keys.length * (dryRun ? 1 : 2) };
  const onStep = () => {
    progress.done++;
    onProgress?.({ ...progress });
  };
  const read = await mapConcurrently(keys, FILES_AT_ONCE, async (key) => {
    assertStoreKey(key);
    const file = await format.read(store, key, storeOptions);
    onStep();
    return file;
  }, signal);
  const placement = place(format.dimensionsOf(read[0]!));
  const placed = read.map((file, i) => ({
    ...file,
    key: keys[i]!,
    coordinates: placement.coordinates[i]!,
  }));
  for (const file of placed) {
    assertDimensions(file, format.dimensionsOf(file), placement);
  }
  const { arrays, groups = new Map(), notes } = await format
    .compose(placed, placement);
  if (!dryRun) progress.total = keys.length * (1 + arrays.length);
  const { link = false, overwrite = false } = options;
  const target = { store, link, overwrite, dryRun, options: storeOptions };
  const shaped = arrays.map((array) =>
    shapeArray(target, root, encoding, array)
  );
  const documentOf = (path: string, node: object, isGroup: boolean) => ({
    key: `${root}${path}/zarr.json` as StoreKey,
    bytes: formatZarrJson(node),
    isGroup,
  });
  const documents: NewDocument[] = [
    ...shaped.map(({ path, chunks: { metadata } }) =>
      documentOf(path, metadata, false)
    ),
    ...Array.from(groups, ([path, attributes]) => {
      const group = { zarr_format: 3, node_type: "group", attributes };
      return documentOf(path, group, true);
    }),
  ];
  const existing = await checkDocuments(target, documents);
  if (!dryRun && canRecover(store)) {
    await recover(store, { path: root.slice(1), ...storeOptions });
  }
  const added: StoreKey[] = [];
  try {
    for (const { layout, shards } of shaped) {
      await runConcurrently(shards, FILES_AT_ONCE, async (shard) => {
        await addIndex(target, shard, layout, added);
        if (!dryRun) onStep();
      }, signal);
    }
    if (!dryRun) await writeDocuments(target, documents, existing, added);
  } catch (error) {
    // Documents are removed before the indexes and files that they need.
    for (const key of added.reverse()) {
      await remove(store, key).catch(() => {});
    }
    throw error;
  }
  const all = [...placement.notes ?? [], ...notesOnStarts(placed), ...notes];
  const attributes = groups.get("");
  return {
    levels: shaped.map(({ path, chunks, report }) => ({
      path: path.slice(1),
      chunks,
      report: attributes === undefined ? { ...report, notes: all } : report,
    })),
    attributes,
    notes: all,
  };
}

/** Returns notes on dimensions along which no file has the grid coordinate 0. */
function notesOnStarts(files: readonly PlacedFile[]): string[] {
  return files[0]!.coordinates.flatMap((_, dimension) => {
    const first = files.reduce(
      (least, { coordinates }) => Math.min(least, coordinates[dimension]!),
      Infinity,
    );
    return first === 0 ? [] : [
      `The first file along dimension ${dimension} has the grid coordinate ${first}: elements before it have the fill value`,
    ];
  });
}

/** The only array of what was adopted. */
export function arrayOf(
  { levels: [array] }: Adopted,
): AdoptedArray {
  const { chunks, report } = array!;
  return { chunks, report };
}

/** The names of the new first dimensions of a stack. */
export function stackNames(count: number): string[] {
  return count === 1
    ? ["stack"]
    : Array.from({ length: count }, (_, i) => `stack_${i}`);
}

/** Refuses coordinates, and names, of another number than there are dimensions. */
function assertDimensions(
  { key, coordinates }: PlacedFile,
  own: readonly (string | null)[],
  { stack, dimensionNames }: Placement,
): void {
  const dimensions = [...stackNames(stack), ...own];
  if (coordinates.length !== dimensions.length) {
    const mayStack = coordinates.length > dimensions.length &&
      own.includes("y") && stack === 0;
    const advice = mayStack
      ? ", or set stack: true for a new first dimension, or stack to the number of new ones"
      : "";
    throw new RangeError(
      sentence`File ${key} is at ${coordinates}, where an array of it has the dimensions ${dimensions}: give one coordinate for each` +
        advice,
    );
  }
  if ((dimensionNames ?? dimensions).length === dimensions.length) return;
  throw new RangeError(
    sentence`Expected dimensionNames to have one name for each of the ${dimensions.length} dimensions, found ${dimensionNames}`,
  );
}

/** Where arrays are written, and how. */
interface Target
  extends Required<Pick<AdoptionOptions, "link" | "overwrite" | "dryRun">> {
  readonly store: Store;
  readonly options: StoreOptions;
}

/** A file with the key and the index of the shard that it becomes. */
interface AdoptedShard extends PlacedArray {
  readonly chunkKey: StoreKey;
  readonly index: ShardIndex;
}

/** An array with the keys of its chunks. */
interface ShapedArray extends AdoptedArray {
  readonly path: string;
  readonly layout: ShardLayout;
  readonly shards: readonly AdoptedShard[];
}

/**
 * Finds the keys and the indexes of the shards of an array.
 *
 * @throws {RangeError} If two files are one chunk, or a file has another key than its chunk
 * and may not be linked.
 */
function shapeArray(
  { store, link }: Target,
  root: string,
  encoding: ChunkKeyEncoding,
  { path, metadata, mosaic, files }: ComposedArray,
): ShapedArray {
  const document = mosaicMetadata(metadata, mosaic, encoding);
  const array = parseArray(document, { isNew: true });
  const chunks = new ArrayChunks(store, (root + path).slice(1), array);
  const { layout } = shardOf(array);
  const indexSize = shardIndexSize(layout);
  const byChunk = new Map<StoreKey, AdoptedShard>();
  for (const file of files) {
    const { key, coordinates } = file;
    const chunkKey = chunks.key(coordinates);
    const other = byChunk.get(chunkKey);
    if (other !== undefined) {
      throw new RangeError(
        sentence`Expected one file for the chunk ${coordinates}, found ${other.key} and ${key}`,
      );
    }
    if (key !== chunkKey && !link) {
      throw new RangeError(
        sentence`File ${key} does not have the key of its chunk ${coordinates}, ${chunkKey}: set link: true to give it that key too, choose a chunkKeyEncoding for the names as they are, or show the file under the key of its chunk by mapKeys`,
      );
    }
    const index = shardIndexOf(file, layout.chunksPerShard);
    assertExtents(index, layout, file.size + indexSize, key);
    byChunk.set(chunkKey, { ...file, chunkKey, index });
  }
  const shards = [...byChunk.values()];
  return {
    path,
    chunks,
    layout,
    shards,
    report: {
      files: shards.length,
      missingFiles: countOfGrid(chunks.gridShape) - shards.length,
      innerChunks: shards.reduce(
        (sum, { index }) => sum + index.filter((entry) => entry).length,
        0,
      ),
      indexBytes: shards.length * (FILE_RECORD_SIZE + indexSize),
      notes: [],
    },
  };
}

/**
 * Links a file to the key of its chunk and writes its index, unless they are there already.
 *
 * @param added The keys that are new, in the order in which they are written.
 */
async function addIndex(
  { store, overwrite, dryRun, options }: Target,
  { key, chunkKey, index, ...record }: AdoptedShard,
  layout: ShardLayout,
  added: StoreKey[],
): Promise<void> {
  if (key !== chunkKey) {
    assertLinks(store);
    const isThere =
      await backendOf(store).size(chunkKey, options) !== undefined;
    const isOther = isThere && !overwrite &&
      !await isSameValue({ store, key }, { store, key: chunkKey }, options);
    if (isOther) refuse(store, chunkKey);
    if (!dryRun) {
      if (!isThere) added.push(chunkKey);
      await store.link(key, chunkKey, options);
    }
  }
  const partKey: StoreKey = `${chunkKey}${INDEX_SUFFIX}`;
  const part = joinBytes([
    encodeFileRecord(record),
    encodeShardIndex(index, layout),
  ]);
  if (!overwrite) {
    const found = await backendOf(store).get(partKey, options);
    if (found !== undefined && !isSameBytes(found, part)) {
      refuse(store, partKey);
    }
    if (found !== undefined) return;
    added.push(partKey);
  }
  if (!dryRun) await write(store, partKey, part, options);
}

/** A document that is written at the end. */
interface NewDocument {
  readonly key: StoreKey;
  readonly bytes: Uint8Array;
  readonly isGroup: boolean;
}

/**
 * Refuses to replace documents without `overwrite`, or by one of another kind of node, which
 * would leave the nodes or chunks below it. All but the last one may exist with the same bytes,
 * as a killed adoption leaves them.
 *
 * @returns The keys of the documents that exist.
 */
async function checkDocuments(
  { store, overwrite, options }: Target,
  documents: readonly NewDocument[],
): Promise<Set<StoreKey>> {
  const existing = new Set<StoreKey>();
  for (const { key, bytes, isGroup } of documents) {
    const found = await readDocument(store, key, options);
    if (found === undefined) continue;
    existing.add(key);
    const isKept = key !== documents.at(-1)!.key && isSameBytes(found, bytes);
    if (!isKept && !overwrite) refuse(store, key);
    if (documents.length === 1) continue;
    const place = describeStore(store);
    const node = inDocument(key, place, () => parseZarrJson(found));
    if (isGroupDocument(node) === isGroup) continue;
    const kind = isGroup ? "a group" : "an array";
    throw new MetadataError(
      sentence`Cannot adopt files as a group: ${key} is not that of ` +
        `${kind}; remove it, or choose another path`,
      "",
      { document: key, store: place },
    );
  }
  return existing;
}

async function writeDocuments(
  { store, overwrite, options }: Target,
  documents: readonly NewDocument[],
  existing: ReadonlySet<StoreKey>,
  added: StoreKey[],
): Promise<void> {
  for (const { key, bytes } of documents) {
    if (overwrite) await write(store, key, bytes, options);
    else if (existing.has(key)) continue;
    else if (!await writeNew(store, key, bytes, options)) refuse(store, key);
    if (!existing.has(key)) added.push(key);
  }
}

function refuse(store: Store, key: StoreKey): never {
  throw new MetadataError(
    sentence`Cannot adopt files: ${key} is there already; remove it, or set overwrite: true`,
    "",
    { document: key, store: describeStore(store) },
  );
}

/**
 * Options of all functions that adopt files.
 *
 * @example
 * ```ts
 * import type { AdoptionOptions } from "@zarr-parts/zarr-parts/tiff";
 *
 * const options: AdoptionOptions = {
 *   chunkKeyEncoding: { name: "template", configuration: { format: "tile_{0}_{1}.tif" } },
 *   overwrite: true,
 *   onProgress: ({ done, total }) => console.error(`${done} of ${total}`),
 * };
 * ```
 */
export interface AdoptionOptions extends StoreOptions {
  /**
   * The names of the files below the path of the array, and the chunk key encoding of the
   * array. By default, `default` keys with the suffix `.tiff`, `.tif` or `.zip`, such as
   * `c/0/1.tiff`.
   */
  readonly chunkKeyEncoding?:
    | string
    | NamedConfiguration
    | ChunkKeyEncoding
    | undefined;
  /**
   * The keys of the files, and the grid coordinates of the shards that they become, for a store
   * that cannot list, or for names that follow no encoding. By default, the files that the
   * encoding names.
   */
  readonly files?:
    | readonly {
      readonly coordinates: readonly number[];
      readonly key: StoreKey;
    }[]
    | undefined;
  /**
   * A name for each dimension, or `null`. By default, those of the arrays in zips, and `y`, `x`,
   * `band`, `page` and `stack`; several new dimensions are `stack_0`, `stack_1` and so on.
   */
  readonly dimensionNames?: readonly (string | null)[] | undefined;
  /** Whether a file whose key is not that of its chunk gets that key, too, by a hard link. Defaults to `false`. */
  readonly link?: boolean | undefined;
  /**
   * Whether existing indexes and metadata are replaced. Defaults to `false`, which refuses
   * them, except indexes that are right, such as those that a killed adoption left.
   */
  readonly overwrite?: boolean | undefined;
  /** Whether nothing is written. The report then describes what would be adopted. */
  readonly dryRun?: boolean | undefined;
  /**
   * Called after each file that is read, and after each index that is written or checked.
   *
   * @param progress The number of these steps that are done, and of all steps.
   */
  readonly onProgress?:
    | ((progress: { readonly done: number; readonly total: number }) => void)
    | undefined;
}

/** The rules of the options of all functions that adopt files. */
export const ADOPTION_OPTIONS: OptionRules<AdoptionOptions> = {
  chunkKeyEncoding: {
    expected: "a chunk key encoding",
    isValid: (value) =>
      ["string", "object"].includes(typeof value) && value !== null,
  },
  files: { expected: "a list of { coordinates, key }", isValid: isFiles },
  dimensionNames: { expected: "a list of names", isValid: Array.isArray },
  link: BOOLEAN,
  overwrite: BOOLEAN,
  dryRun: BOOLEAN,
  onProgress: FUNCTION,
  signal: SIGNAL,
};

/** Whether a value is a list of files with their coordinates. */
export function isFiles(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) &&
    value.every((file) =>
      typeof file?.key === "string" && Array.isArray(file.coordinates) &&
      file.coordinates.every((c: unknown) => isWhole(c))
    );
}

/**
 * The counts of files and inner chunks of an adopted array.
 *
 * @example
 * ```ts
 * import type { AdoptionReport } from "@zarr-parts/zarr-parts/tiff";
 *
 * const report: AdoptionReport = {
 *   files: 12,
 *   missingFiles: 0,
 *   innerChunks: 3072,
 *   indexBytes: 49_584,
 *   notes: [],
 * };
 * ```
 */
export interface AdoptionReport {
  /** The number of files, each of which is a shard. */
  readonly files: number;
  /** The number of shards in the chunk grid that have no file. Their elements have the fill value. */
  readonly missingFiles: number;
  /** The number of inner chunks in all files. Those that a sparse file leaves out do not count. */
  readonly innerChunks: number;
  /** The length of the parts that hold the indexes of all files, in bytes. */
  readonly indexBytes: number;
  /** Notes on unusual properties, such as grid coordinates that do not start at 0. */
  readonly notes: readonly string[];
}

/**
 * An array made of files that were there before.
 *
 * @example
 * ```ts
 * import type { AdoptedArray } from "@zarr-parts/zarr-parts/tiff";
 *
 * const describeArray = ({ chunks, report }: AdoptedArray) =>
 *   `${report.files} files make an array of ${chunks.metadata.shape.join(" × ")}`;
 * ```
 */
export interface AdoptedArray {
  /** The array; its chunks are the files. */
  readonly chunks: ArrayChunks;
  /** The counts, and notes. */
  readonly report: AdoptionReport;
}
