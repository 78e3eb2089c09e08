import {
  type ChunkKeyEncoding,
  isOwnEncoding,
} from "../chunk_key_encoding/mod.ts";
import {
  type FlatPart,
  partsBackend,
  sizeTogether,
} from "../concat_parts/mod.ts";
import {
  ChunkKeyError,
  DamageError,
  MetadataError,
  sentence,
  SizeLimitError,
} from "../errors/mod.ts";
import type { ArrayMetadata, NamedConfiguration } from "../metadata/mod.ts";
import {
  mayHaveRecords,
  type ShardForm,
  type ShardLayout,
} from "../shards/mod.ts";
import type { Part } from "../splitter/mod.ts";
import {
  assertStoreKey,
  type Backend,
  type ByteRange,
  type Snapshot,
  type StoreKey,
} from "../stores/mod.ts";

/** How chunks are encoded: those of an array, or the inner chunks of a shard. */
export interface ChunkLevel {
  /** The shape that the codecs get, in elements; of a shard where chunks are shards. */
  readonly shape: readonly number[];
  /** All codecs, in the order of encoding. */
  readonly codecs: readonly NamedConfiguration[];
  /** The JSON pointer of the codecs in the metadata. */
  readonly path: string;
  /** The shards, if chunks are: if `sharding_indexed` is the codec from array to bytes. */
  readonly shard?: ShardLevel;
}

/** How shards are encoded. */
export interface ShardLevel {
  /** The codecs from array to array before `sharding_indexed`, such as `transpose`. */
  readonly before: readonly NamedConfiguration[];
  /** The dimension of the chunk that each dimension of the shard is, behind these codecs. */
  readonly order: readonly number[];
  readonly layout: ShardLayout;
  /** The inner chunks, which may be shards themselves. */
  readonly inner: ChunkLevel;
  /** The codecs that encode whole shards, behind `sharding_indexed`. */
  readonly after: readonly NamedConfiguration[];
}

/** The data type of an array. */
interface ParsedDataType {
  readonly name: string;
  /** The size of an element in bits; `undefined` where it is not known, or elements differ in length. */
  readonly bits: number | undefined;
}

type ArrayFields = Pick<
  ParsedArray,
  "metadata" | "dataType" | "gridShape" | "keys" | "parts"
>;

/** The checked description of an array by its metadata, made by `parseArray`. */
export class ParsedArray {
  /** The metadata; complete if the array is new. */
  readonly metadata: ArrayMetadata;
  readonly dataType: ParsedDataType;
  /** The number of chunks along each dimension. */
  readonly gridShape: readonly number[];
  /** The encoding of chunk keys, relative to the array. */
  readonly keys: ChunkKeyEncoding;
  /**
   * The parts that a chunk is stored in, in the order in which they make up the chunk; one
   * part without suffix and size if a chunk is one object.
   */
  readonly parts: readonly FlatPart[];
  /** How chunks are encoded: the stored ones, the inner chunks in these, and so on. */
  readonly levels: readonly ChunkLevel[];
  /** Whether all keys are valid, since some were checked; registered encodings may return any text. */
  readonly #areKeysValid: boolean;

  constructor(fields: ArrayFields, chunk: ChunkLevel) {
    this.metadata = fields.metadata;
    this.dataType = fields.dataType;
    this.gridShape = fields.gridShape;
    this.keys = fields.keys;
    this.#areKeysValid = isOwnEncoding(fields.keys);
    this.parts = fields.parts;
    const levels = [chunk];
    for (let level = chunk; level.shard; level = level.shard.inner) {
      levels.push(level.shard.inner);
    }
    this.levels = levels;
  }

  /** The length of each dimension, in elements. */
  get shape(): readonly number[] {
    return this.metadata.shape;
  }

  /** How stored chunks are encoded. */
  get chunk(): ChunkLevel {
    return this.levels[0]!;
  }

  /** How the innermost chunks are encoded: the inner chunks of shards, or the stored chunks where there are no shards. */
  get innermost(): ChunkLevel {
    return this.levels.at(-1)!;
  }

  /** The shape of the inner chunks of a shard in the order of the array's dimensions; `undefined` without shards. */
  get innerChunkShape(): readonly number[] | undefined {
    const { shard } = this.chunk;
    return shard?.order.map((_, axis) =>
      shard.inner.shape[shard.order.indexOf(axis)]!
    );
  }

  /** The most bytes that an encoded chunk of a level can have, so that no more are read. */
  mostBytesOf({ shape, shard }: ChunkLevel): number {
    // The inner chunks of shards are read by their places in the index.
    if (shard?.after.length === 0) return Infinity;
    return mostBytes(shape, shard ? undefined : this.dataType.bits);
  }

  /** Whether a chunk is stored in parts, and not as one object under its key. */
  get hasParts(): boolean {
    return this.parts.some(({ keySuffix, size }) =>
      keySuffix !== "" || size !== undefined
    );
  }

  /**
   * The key of a chunk in a store.
   *
   * @param root The prefix of the array's keys, without a last `/`.
   */
  keyOf(root: string, coordinates: readonly number[]): StoreKey {
    const key = `${root as StoreKey}/${this.keys.encode(coordinates)}` as const;
    if (!this.#areKeysValid) assertStoreKey(key);
    return key;
  }

  /** Decodes the key of a chunk in the grid; returns `undefined` for any other key. */
  coordinatesOf(key: string): number[] | undefined {
    const { gridShape, keys } = this;
    try {
      const coordinates = keys.decode(key, gridShape.length);
      return coordinates.every((c, i) => c < gridShape[i]!)
        ? coordinates
        : undefined;
    } catch (error) {
      if (error instanceof ChunkKeyError) return undefined;
      throw error;
    }
  }
}

/**
 * Returns the backend of whole chunks that are to be decoded, over the one that holds the
 * array. All keys that it reads and writes are those of chunks; it lists other keys, too.
 * Chunks that are longer than their elements can make them are damaged, and not read into
 * memory.
 *
 * @param root The prefix of the array's keys, without a last `/`.
 */
export function chunksOf(
  backend: Backend,
  root: string,
  array: ParsedArray,
): Backend {
  const whole = wholeChunks(backend, root, array);
  const most = array.mostBytesOf(array.chunk);
  if (most === Infinity) return whole;
  const { readOf, prepare, remove, update, list } = whole;
  return {
    read: (keys, task, options) =>
      whole.read(keys, (values) => task(limited(values, most)), options),
    ...readOf && { readOf: readOf.bind(whole) },
    ...prepare && { prepare: prepare.bind(whole) },
    ...remove && { remove: remove.bind(whole) },
    ...update && {
      update: (keys, change, options) =>
        update.call(
          whole,
          keys,
          (values) => change(limited(values, most)),
          options,
        ),
    },
    ...list && { list: list.bind(whole) },
  };
}

/** The chunks of a snapshot, of which no more than `most` bytes are read into memory. */
function limited(values: Snapshot, most: number): Snapshot {
  const tooLong = (key: StoreKey) =>
    new DamageError(
      sentence`Chunk ${key} has more than ${most} bytes, the most that its elements can take once they are encoded`,
      { key },
    );
  return {
    size: (key) => values.size(key),
    async read(key, range, options) {
      if (range !== undefined) {
        const read = await values.read(key, cut(range, most + 1), options);
        if (read !== undefined && read.length > most) throw tooLong(key);
        return read;
      }
      const { limit = Infinity } = options ?? {};
      if (limit < most) return await values.read(key, range, options);
      try {
        return await values.read(key, range, { ...options, limit: most });
      } catch (error) {
        throw error instanceof SizeLimitError ? tooLong(key) : error;
      }
    },
    stream: (key, range) => values.stream(key, range),
    version: (key) => values.version(key),
  };
}

/** A range of at most `length` bytes. */
function cut(range: ByteRange, length: number): ByteRange {
  return "suffixLength" in range
    ? { suffixLength: Math.min(range.suffixLength, length) }
    : { offset: range.offset, length: Math.min(range.length, length) };
}

/** The backend of whole chunks: that of the array, unless chunks are stored in parts. */
export function wholeChunks(
  backend: Backend,
  root: string,
  array: ParsedArray,
): Backend {
  if (!array.hasParts) return backend;
  const { list } = partsBackend(
    backend,
    array.parts,
    (key) =>
      key.startsWith(`${root}/`) &&
      array.coordinatesOf(key.slice(root.length + 1)) !== undefined,
  );
  return {
    ...partsBackend(backend, array.parts),
    ...list && { list },
  };
}

/** Returns how shards are stored; `undefined` if inner chunks do not lie in them as they are. */
export function shardFormOf(array: ParsedArray): ShardForm | undefined {
  const { chunk: { shard }, levels, parts } = array;
  if (shard === undefined || shard.after.length > 0) return undefined;
  const part = unsizedPart(parts);
  return {
    layouts: levels.flatMap(({ shard }) => shard ? [shard.layout] : []),
    headSize: part?.offset,
    mayHaveRecords: mayHaveRecords(part?.tailSize, shard.layout),
    mostBytes: array.mostBytesOf(array.innermost),
  };
}

/** Whether coordinates are those of a chunk of a grid. */
export function isInGrid(
  coordinates: readonly number[],
  gridShape: readonly number[],
): boolean {
  return coordinates.length === gridShape.length &&
    coordinates.every((c, i) =>
      Number.isInteger(c) && c >= 0 && c < gridShape[i]!
    );
}

/**
 * The most bytes that an encoded chunk can have: far more than any codec makes, since also text
 * takes at most 24 bytes for a number of two, and headers and tables less than a megabyte.
 *
 * @param bits The size of an element in bits; `undefined` where it is not known.
 */
export function mostBytes(
  shape: readonly number[],
  bits: number | undefined,
): number {
  if (bits === undefined) return 2 ** 31;
  return shape.reduce((product, n) => product * n, 2 * bits) + 2 ** 20;
}

/**
 * The shards of an array.
 *
 * @throws {MetadataError} If its chunks are no shards.
 */
export function shardOf({ chunk: { codecs, shard } }: ParsedArray): ShardLevel {
  if (shard !== undefined) return shard;
  throw new MetadataError(
    sentence`Expected the codec "sharding_indexed", found ${codecs[0]?.name}`,
    "/codecs/0",
  );
}

/** The part of a chunk that has no size. */
interface UnsizedPart {
  readonly keySuffix: string;
  /** Where the part begins in the chunk: the size of all head parts in bytes. */
  readonly offset: number;
  /** The size of all parts after it in bytes; `undefined` if one of them has no size. */
  readonly tailSize: number | undefined;
}

/** Finds the first unsized part of a chunk; `undefined` if every part has a size. */
export function unsizedPart(parts: readonly Part[]): UnsizedPart | undefined {
  const index = parts.findIndex(({ size }) => size === undefined);
  if (index < 0) return undefined;
  const { keySuffix } = parts[index]!;
  const offset = sizeTogether(parts.slice(0, index))!;
  return { keySuffix, offset, tailSize: sizeTogether(parts.slice(index + 1)) };
}
