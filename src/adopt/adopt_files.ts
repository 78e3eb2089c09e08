import {
  ArrayChunks,
  arrayRoot,
  countOfGrid,
  parseArray,
  readDocument,
  shardOf,
} from "../arrays/mod.ts";
import type { ChunkKeyEncoding } from "../chunk_key_encoding/mod.ts";
import { describe, inDocument, MetadataError } from "../errors/mod.ts";
import {
  type ArrayMetadata,
  formatZarrJson,
  isGroupDocument,
  parseZarrJson,
} from "../metadata/mod.ts";
import {
  isSameBytes,
  mapConcurrently,
  runConcurrently,
} from "../runtime/mod.ts";
import {
  assertExtents,
  FILE_RECORD_SIZE,
  type ShardIndex,
  shardIndexSize,
} from "../shards/mod.ts";
import {
  assertLinks,
  assertStoreKey,
  describeStore,
  isSameValue,
  readSize,
  readValue,
  recover,
  remove,
  type Store,
  type StoreKey,
  type StoreOptions,
  write,
  writeNew,
} from "../stores/mod.ts";
import { encodeIndexPart, INDEX_SUFFIX } from "./adopted_index.ts";
import type {
  AdoptedArray,
  AdoptionOptions,
  AdoptionReport,
} from "./adoption_options.ts";
import { notesOnGaps } from "./mosaic.ts";

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
    placement: Placement & { readonly encoding: ChunkKeyEncoding },
  ): Promise<ComposedArrays>;
}

/** A file and its grid coordinates. */
export interface PlacedFile {
  readonly key: StoreKey;
  /** The file in messages, such as `File "/c/0/1.tiff"`. */
  readonly name: string;
  readonly coordinates: readonly number[];
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
export interface ComposedArrays {
  /** The arrays, with their paths from the path of the adoption. */
  readonly arrays: readonly ComposedArray[];
  /** The attributes of groups by their paths, the outermost group last. */
  readonly groups?: ReadonlyMap<string, Record<string, unknown>>;
  readonly notes: readonly string[];
}

/** An array of which each file is a shard. */
export interface ComposedArray {
  readonly path: string;
  readonly metadata: ArrayMetadata;
  readonly shards: readonly AdoptedShard[];
}

/** A file as a shard. */
export interface AdoptedShard {
  readonly key: StoreKey;
  readonly coordinates: readonly number[];
  /** The length of the file in bytes. */
  readonly size: number;
  /** The extents of its inner chunks. */
  readonly index: ShardIndex;
  /** The number of the contents that the index describes, such as pages. */
  readonly contents: number;
}

/** Arrays of adopted files, with their paths from the path of the adoption. */
export interface AdoptedArrays {
  readonly arrays: readonly (AdoptedArray & { readonly path: string })[];
  /** The attributes of groups by their paths. */
  readonly groups: NonNullable<ComposedArrays["groups"]>;
  readonly notes: readonly string[];
}

/**
 * Makes arrays of files: reads each file once, places the files, puts them together, writes
 * an index beside each file, and then each `zarr.json`. The files are not changed. After a
 * failure, the new indexes are removed again.
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
  files: FilesToAdopt,
  options: AdoptionOptions,
): Promise<AdoptedArrays> {
  const { signal, dryRun = false, onProgress } = options;
  const storeOptions: StoreOptions = signal ? { signal } : {};
  const { keys, encoding } = files;
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
  const placement = files.place(format.dimensionsOf(read[0]!));
  const placed = read.map((file, i) => ({
    ...file,
    key: keys[i]!,
    name: `File ${describe(keys[i]!)}`,
    coordinates: placement.coordinates[i]!,
  }));
  const { stack, dimensionNames } = placement;
  for (const file of placed) {
    const dimensions = [...stackNames(stack), ...format.dimensionsOf(file)];
    assertCoordinates(file, dimensions);
    if ((dimensionNames ?? dimensions).length !== dimensions.length) {
      throw new RangeError(
        `Expected dimensionNames to have one name for each of the ${dimensions.length} dimensions, found ${
          describe(dimensionNames)
        }`,
      );
    }
  }
  const { arrays, groups = new Map(), notes } = await format
    .compose(placed, { ...placement, encoding });
  if (!dryRun) progress.total = keys.length * (1 + arrays.length);
  const writer = new AdoptionWriter(store, options);
  const reports: (AdoptedArray & { path: string })[] = [];
  const documents: NewDocument[] = [];
  for (const { path, metadata, shards } of arrays) {
    const array = await writer.addArray(root + path, metadata, shards);
    documents.push({
      key: documentAt(root + path),
      bytes: formatZarrJson(array.chunks.metadata),
    });
    reports.push({ path: path.slice(1), ...array });
  }
  for (const [path, attributes] of groups) {
    documents.push({
      key: documentAt(root + path),
      bytes: formatZarrJson({ zarr_format: 3, node_type: "group", attributes }),
    });
  }
  await writer.addDocuments(documents);
  if (!dryRun) await writer.write(root.slice(1), onStep);
  return {
    arrays: reports,
    groups,
    notes: [...placement.notes ?? [], ...notesOnGaps(placed), ...notes],
  };
}

/** Makes one array of files, as {@linkcode adoptFiles} does. */
export async function adoptArray<F>(
  ...args: Parameters<typeof adoptFiles<F>>
): Promise<AdoptedArray> {
  const { arrays: [array], notes } = await adoptFiles(...args);
  const { chunks, report } = array!;
  return { chunks, report: { ...report, notes } };
}

/** The key of the document of a node. */
function documentAt(root: string): StoreKey {
  return `${root}/zarr.json` as StoreKey;
}

/** The names of the new first dimensions of a stack. */
export function stackNames(count: number): string[] {
  return count === 1
    ? ["stack"]
    : Array.from({ length: count }, (_, i) => `stack_${i}`);
}

/** Refuses coordinates of another number than there are dimensions. */
function assertCoordinates(
  { name, coordinates }: PlacedFile,
  dimensions: readonly (string | null)[],
): void {
  if (coordinates.length === dimensions.length) return;
  const mayStack = coordinates.length > dimensions.length &&
    dimensions.includes("y") && !dimensions[0]?.startsWith("stack");
  throw new RangeError(
    `${name} is at ${
      describe(coordinates)
    }, where an array of it has the dimensions ${
      describe(dimensions)
    }: give one coordinate for each${
      mayStack
        ? ", or set stack: true for a new first dimension, or stack to the number of new ones"
        : ""
    }`,
  );
}

/** A document that is written at the end. */
interface NewDocument {
  readonly key: StoreKey;
  readonly bytes: Uint8Array;
}

/** A file with the key of its chunk, and the part that is stored beside the file. */
interface ShardToWrite {
  readonly key: StoreKey;
  readonly chunkKey: StoreKey;
  readonly partKey: StoreKey;
  /** Encodes the part when it is written, since the parts of all files would take much memory. */
  encodePart(): Uint8Array;
}

/** Checks all that is to be written, and writes it then. */
class AdoptionWriter {
  readonly #store: Store;
  readonly #link: boolean;
  readonly #overwrite: boolean;
  readonly #options: StoreOptions;
  readonly #shards: ShardToWrite[] = [];
  readonly #documents: (NewDocument & { readonly exists: boolean })[] = [];
  /** The keys that are new, in the order in which they were written. */
  readonly #added: StoreKey[] = [];

  constructor(
    store: Store,
    { link = false, overwrite = false, signal }: AdoptionOptions,
  ) {
    this.#store = store;
    this.#link = link;
    this.#overwrite = overwrite;
    this.#options = signal ? { signal } : {};
  }

  /** Checks the shards of an array, and reports them. */
  async addArray(
    root: string,
    metadata: ArrayMetadata,
    shards: readonly AdoptedShard[],
  ): Promise<{ chunks: ArrayChunks; report: AdoptionReport }> {
    const array = parseArray(metadata, { isNew: true });
    const chunks = new ArrayChunks(this.#store, root.slice(1), array);
    const { layout } = shardOf(array);
    const indexSize = shardIndexSize(layout);
    const byChunk = new Map<StoreKey, ShardToWrite>();
    for (const { key, coordinates, size, index, contents } of shards) {
      const chunkKey = chunks.key(coordinates);
      this.#assertKey(key, chunkKey, coordinates, byChunk.get(chunkKey)?.key);
      assertExtents(index, layout, size + indexSize, key);
      byChunk.set(chunkKey, {
        key,
        chunkKey,
        partKey: `${chunkKey}${INDEX_SUFFIX}`,
        encodePart: () => encodeIndexPart({ size, contents }, index, layout),
      });
    }
    const toWrite = [...byChunk.values()];
    if (!this.#overwrite) {
      const { signal } = this.#options;
      await runConcurrently(
        toWrite,
        FILES_AT_ONCE,
        (shard) => this.#assertNew(shard),
        signal,
      );
    }
    this.#shards.push(...toWrite);
    const report = {
      files: shards.length,
      missingFiles: countOfGrid(chunks.gridShape) - shards.length,
      innerChunks: shards.reduce(
        (sum, { index }) => sum + index.filter((entry) => entry).length,
        0,
      ),
      indexBytes: shards.length * (FILE_RECORD_SIZE + indexSize),
      notes: [],
    };
    return { chunks, report };
  }

  /**
   * Checks documents. All but the last one may exist with the same bytes, as a killed
   * adoption leaves them.
   */
  async addDocuments(documents: readonly NewDocument[]): Promise<void> {
    for (const document of documents) {
      const { key, bytes } = document;
      const found = await readDocument(this.#store, key, this.#options);
      const isKept = found !== undefined && document !== documents.at(-1) &&
        isSameBytes(found, bytes);
      if (found !== undefined && !isKept && !this.#overwrite) this.#refuse(key);
      if (found && documents.length > 1) this.#assertKind(key, found, bytes);
      this.#documents.push({ ...document, exists: found !== undefined });
    }
  }

  /** Writes the indexes, then the documents. After a failure, what is new is removed again. */
  async write(path: string, onStep: () => void): Promise<void> {
    const { signal } = this.#options;
    const canRecover =
      typeof (this.#store as { recover?: unknown }).recover === "function";
    if (canRecover) await recover(this.#store, { path, ...this.#options });
    try {
      await runConcurrently(this.#shards, FILES_AT_ONCE, async (shard) => {
        await this.#writeIndex(shard);
        onStep();
      }, signal);
      for (const document of this.#documents) {
        await this.#writeDocument(document);
      }
    } catch (error) {
      // Documents are removed before the indexes and files that they need.
      for (const key of this.#added.reverse()) {
        await remove(this.#store, key).catch(() => {});
      }
      throw error;
    }
  }

  /** Links a file and writes its index. A new key is noted before it is written. */
  async #writeIndex(shard: ShardToWrite): Promise<void> {
    const { key, chunkKey, partKey } = shard;
    const store = this.#store;
    if (key !== chunkKey) {
      assertLinks(store);
      if (!await this.#exists(chunkKey)) this.#added.push(chunkKey);
      await store.link(key, chunkKey, this.#options);
    }
    const isNew = !this.#overwrite && !await this.#exists(partKey);
    if (isNew) this.#added.push(partKey);
    if (isNew || this.#overwrite) {
      await write(store, partKey, shard.encodePart(), this.#options);
    }
  }

  async #writeDocument(
    { key, bytes, exists }: NewDocument & { readonly exists: boolean },
  ): Promise<void> {
    if (exists && !this.#overwrite) return;
    if (this.#overwrite) await write(this.#store, key, bytes, this.#options);
    else if (!await writeNew(this.#store, key, bytes, this.#options)) {
      this.#refuse(key);
    }
    if (!exists) this.#added.push(key);
  }

  async #exists(key: StoreKey): Promise<boolean> {
    return await readSize(this.#store, key, this.#options) !== undefined;
  }

  /** Refuses two files of one chunk, and a file with another key than its chunk that may not be linked. */
  #assertKey(
    key: StoreKey,
    chunkKey: StoreKey,
    coordinates: readonly number[],
    other: StoreKey | undefined,
  ): void {
    if (other !== undefined) {
      throw new RangeError(
        `Expected one file for the chunk ${describe(coordinates)}, found ${
          describe(other)
        } and ${describe(key)}`,
      );
    }
    if (key === chunkKey) return;
    if (this.#link) return assertLinks(this.#store);
    throw new RangeError(
      `File ${describe(key)} does not have the key of its chunk ${
        describe(coordinates)
      }, ${
        describe(chunkKey)
      }: set link: true to give it that key too, choose a chunkKeyEncoding for the names as they are, or show the file under the key of its chunk by mapKeys`,
    );
  }

  /** Refuses to replace another file or another index. */
  async #assertNew(shard: ShardToWrite): Promise<void> {
    const { key, chunkKey, partKey } = shard;
    const store = this.#store;
    const found = await readValue(store, partKey, this.#options);
    if (found !== undefined && !isSameBytes(found, shard.encodePart())) {
      this.#refuse(partKey);
    }
    if (key === chunkKey || !await this.#exists(chunkKey)) return;
    const [from, to] = [{ store, key }, { store, key: chunkKey }];
    if (!await isSameValue(from, to, this.#options)) this.#refuse(chunkKey);
  }

  /** Refuses to replace a document by one of another kind of node, which would leave the nodes or chunks below it. */
  #assertKind(key: StoreKey, found: Uint8Array, bytes: Uint8Array): void {
    const store = describeStore(this.#store);
    const isGroup = isGroupDocument(parseZarrJson(bytes));
    const node = inDocument(key, store, () => parseZarrJson(found));
    if (isGroupDocument(node) === isGroup) return;
    throw new MetadataError(
      `Cannot adopt files as a group: ${describe(key)} is not that of ${
        isGroup ? "a group" : "an array"
      }; remove it, or choose another path`,
      "",
      { document: key, store },
    );
  }

  #refuse(key: StoreKey): never {
    throw new MetadataError(
      `Cannot adopt files: ${
        describe(key)
      } is there already; remove it, or set overwrite: true`,
      "",
      { document: key, store: describeStore(this.#store) },
    );
  }
}
