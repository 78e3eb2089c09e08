import {
  type ChunkLevel,
  chunksOf,
  type ParsedArray,
  shardFormOf,
} from "../arrays/mod.ts";
import { type ChunkRows, chunkRows, noteKey } from "../codecs/mod.ts";
import { describe, MetadataError, sentence } from "../errors/mod.ts";
import { ceilDivide } from "../metadata/mod.ts";
import { mapConcurrently } from "../runtime/mod.ts";
import {
  type InnerPath,
  type ShardForm,
  type ShardLayout,
  ShardReader,
  ShardWriter,
} from "../shards/mod.ts";
import type { Backend, StoreKey, StoreOptions } from "../stores/mod.ts";

const SHARDING = "sharding_indexed";
/** The greatest number of inner chunks in a shard, whose index takes 16 MiB. */
const MOST_CHUNKS = 2 ** 20;
/** The codecs that refuse no bytes, so that no message names the key of a chunk. */
const SILENT_CODECS = ["bytes", "transpose"];
/** How many chunks that are stored one by one are read at the same time. */
const READS = 8;

/** The chunks of an array that are read and written one by one: the innermost ones of its shards, or whole ones. */
export interface ChunkDivision {
  /** The layouts of the shards, of the shards nested in them, and so on; none for whole chunks. */
  readonly layouts: readonly ShardLayout[];
  /** The shape and the codecs of the chunks. */
  readonly level: ChunkLevel;
  /** The number of chunks along each dimension of the array. */
  readonly gridShape: readonly number[];
}

/**
 * Divides an array into the innermost chunks of its shards, or into its chunks if it has no
 * shards.
 *
 * @throws {MetadataError} If other codecs stand beside those of shards, or an index would
 * need too much memory.
 */
export function innermostChunks(array: ParsedArray): ChunkDivision {
  const shards = array.levels.slice(0, -1);
  if (shards.length === 0) return wholeChunks(array);
  shards.forEach(assertReadable);
  const level = array.innermost;
  return {
    layouts: shards.map(({ shard }) => shard!.layout),
    level,
    gridShape: array.shape.map((n, i) => ceilDivide(n, level.shape[i]!)),
  };
}

/** Divides an array into its stored chunks, also if they are shards. */
export function wholeChunks({ chunk, gridShape }: ParsedArray): ChunkDivision {
  return { layouts: [], level: chunk, gridShape };
}

/** Refuses shards with further codecs, whose inner chunks could not be read by ranges, and those whose index would need too much memory. */
function assertReadable({ codecs, path, shard }: ChunkLevel): void {
  if (codecs.length > 1) {
    throw new MetadataError(
      `Expected "${SHARDING}" to be the only codec of the shards, as inner chunks cannot be read otherwise, found ${
        describe(codecs.map(({ name }) => name))
      }`,
      path,
    );
  }
  const { chunksPerShard } = shard!.layout;
  const count = chunksPerShard.reduce((product, n) => product * n, 1);
  if (count <= MOST_CHUNKS) return;
  throw new MetadataError(
    sentence`Expected at most ${MOST_CHUNKS} inner chunks in a shard, found ${chunksPerShard}`,
    `${path}/0/configuration/chunk_shape`,
  );
}

/** A chunk that was read, by its place in the list of those that were asked for. */
export interface ReadChunk {
  readonly place: number;
  readonly bytes: Uint8Array;
  /** The rows of a chunk that extends past the end of the array. */
  readonly rows: ChunkRows | undefined;
}

/** Where a chunk is stored: the key of its shard, and its path in the shard. */
interface ChunkPlace {
  readonly key: StoreKey;
  readonly path: InnerPath;
}

/** What reads and writes the shards of an array. */
interface Shards {
  readonly form: ShardForm;
  readonly reader: ShardReader;
  readonly writer: ShardWriter;
}

/** The encoded chunks of an array. */
export class EncodedChunks {
  readonly root: string;
  readonly array: ParsedArray;
  readonly division: ChunkDivision;
  /** Whole stored chunks. */
  readonly backend: Backend;
  /** The shards; `undefined` if chunks are stored one by one. */
  readonly shards: Shards | undefined;
  readonly #codecs: readonly string[];
  readonly #needsNotes: boolean;
  /** The stored chunk whose key was made last. */
  #latest:
    | { readonly stored: readonly number[]; readonly key: StoreKey }
    | undefined;

  /**
   * @param backend The store.
   * @param root The prefix of the array's keys, without a last `/`.
   */
  constructor(
    backend: Backend,
    root: string,
    array: ParsedArray,
    division: ChunkDivision,
  ) {
    this.root = root;
    this.array = array;
    this.division = division;
    this.backend = chunksOf(backend, root, array);
    if (division.layouts.length > 0) {
      const form = shardFormOf(array)!;
      this.shards = {
        form,
        reader: new ShardReader(this.backend, form),
        writer: new ShardWriter(this.backend, form),
      };
    }
    this.#codecs = division.level.codecs.map(({ name }) => name);
    this.#needsNotes = this.#codecs
      .some((name) => !SILENT_CODECS.includes(name));
  }

  /** The shape of a chunk in elements. */
  get chunkShape(): readonly number[] {
    return this.division.level.shape;
  }

  /** The shape of a stored chunk in elements: of a shard, or of a chunk without shards. */
  get storedShape(): readonly number[] {
    return this.array.chunk.shape;
  }

  /** Whether the chunks lie in shards. */
  get isSharded(): boolean {
    return this.shards !== undefined;
  }

  /** Finds the key of a chunk, and its path in the shard. */
  placeOf(coordinates: readonly number[]): ChunkPlace {
    const { layouts } = this.division;
    const stored = [...coordinates];
    const path: number[][] = new Array(layouts.length);
    for (let level = layouts.length - 1; level >= 0; level--) {
      const { chunksPerShard } = layouts[level]!;
      path[level] = stored.map((c, i) => c % chunksPerShard[i]!);
      for (let i = 0; i < stored.length; i++) {
        stored[i] = Math.floor(stored[i]! / chunksPerShard[i]!);
      }
    }
    return { key: this.keyOf(stored), path };
  }

  /** The key of a stored chunk. The last key is kept, since neighbouring chunks are often in one shard. */
  keyOf(stored: readonly number[]): StoreKey {
    const latest = this.#latest;
    let isLatest = latest !== undefined;
    for (let i = 0; isLatest && i < stored.length; i++) {
      isLatest = latest!.stored[i] === stored[i];
    }
    if (isLatest) return latest!.key;
    const key = this.array.keyOf(this.root, stored);
    this.#latest = { stored, key };
    return key;
  }

  /** The key of a chunk, or of its shard, and the name of the chunk at the start of a sentence. */
  nameOf(coordinates: readonly number[]): { what: string; key: StoreKey } {
    const { key, path } = this.placeOf(coordinates);
    const [inner] = path;
    const what = inner === undefined
      ? sentence`Chunk ${key}`
      : sentence`Inner chunk ${path.length > 1 ? path : inner} of shard ${key}`;
    return { what, key };
  }

  /**
   * Reads a chunk of shards. The bytes fill their memory, since zarrita encodes all of the
   * memory that elements lie in.
   */
  async readInner(
    coordinates: readonly number[],
    options: StoreOptions | undefined,
  ): Promise<Uint8Array | undefined> {
    const { key, path } = this.placeOf(coordinates);
    const bytes = await this.shards!.reader.read(key, path, options);
    if (bytes && this.#needsNotes) {
      noteKey(
        bytes,
        key,
        this.#rowsAt(coordinates),
        () => this.nameOf(coordinates).what,
      );
    }
    return bytes;
  }

  /**
   * Reads chunks: some of one shard, which are read in one state, or any without shards.
   *
   * @returns The chunks that are there. Those of one list share memory, which belongs to the
   * caller.
   */
  async read(
    chunks: readonly (readonly number[])[],
    options: StoreOptions,
  ): Promise<ReadChunk[][]> {
    if (this.shards === undefined) {
      const reads = chunks.map((coordinates, place) => ({
        coordinates,
        place,
      }));
      return await mapConcurrently(reads, READS, async (read) => {
        const { coordinates, place } = read;
        const key = this.keyOf(coordinates);
        const bytes = await this.backend
          .read([key], (values) => values.read(key), options);
        return bytes === undefined
          ? []
          : [{ place, bytes, rows: this.#rowsAt(coordinates) }];
      });
    }
    // The array may have become smaller since the caller has opened it.
    const { gridShape } = this.division;
    const places = chunks.flatMap((coordinates, place) =>
      coordinates.every((c, i) => c < gridShape[i]!)
        ? { place, ...this.placeOf(coordinates) }
        : []
    );
    if (places.length === 0) return [];
    const reads = await this.shards.reader.readTogether(
      places[0]!.key,
      places.map(({ path }) => path),
      options,
    );
    return reads.map((read) =>
      read.map(({ place: i, bytes }) => {
        const { place } = places[i]!;
        return { place, bytes, rows: this.#rowsAt(chunks[place]!) };
      })
    );
  }

  /** The rows of a chunk that extends past the end of the array; `undefined` for another chunk. */
  #rowsAt(coordinates: readonly number[]): ChunkRows | undefined {
    const { chunkShape } = this;
    const first = coordinates.map((c, i) => c * chunkShape[i]!);
    return chunkRows(chunkShape, this.array.shape, first, this.#codecs);
  }
}
