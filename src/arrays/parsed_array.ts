import type { ChunkKeyEncoding } from "../chunk_key_encoding/mod.ts";
import { ChunkKeyError, describe, MetadataError } from "../errors/mod.ts";
import type { ArrayMetadata, NamedConfiguration } from "../metadata/mod.ts";
import type { ShardLayout } from "../shards/mod.ts";
import type { Part } from "../splitter/mod.ts";

/** How chunks are encoded: those of an array, or the inner chunks of a shard. */
export interface ChunkLevel {
  /** The shape of a chunk, in elements; of a shard where chunks are shards. */
  readonly shape: readonly number[];
  /** All codecs, in the order of encoding. */
  readonly codecs: readonly NamedConfiguration[];
  /** The shards, if chunks are: if `sharding_indexed` is the first codec. */
  readonly shard?: ShardLevel;
}

/** How shards are encoded. */
export interface ShardLevel {
  readonly layout: ShardLayout;
  /** The inner chunks, which may be shards themselves. */
  readonly inner: ChunkLevel;
  /** The codecs that encode whole shards, behind `sharding_indexed`. */
  readonly after: readonly NamedConfiguration[];
}

type ArrayFields = Pick<
  ParsedArray,
  "metadata" | "gridShape" | "keys" | "parts" | "suffixPaths" | "chunk"
>;

/** The checked description of an array by its metadata, made by `parseArray`. */
export class ParsedArray {
  /** The metadata; complete if the array is new. */
  readonly metadata: ArrayMetadata;
  /** The number of chunks along each dimension. */
  readonly gridShape: readonly number[];
  /** The encoding of chunk keys, relative to the array. */
  readonly keys: ChunkKeyEncoding;
  /**
   * The parts that a chunk is stored in, in the order in which they make up the chunk; one
   * part without suffix and size if a chunk is one object.
   */
  readonly parts: readonly Part[];
  /** The place of each part's key suffix in the metadata, as a JSON pointer. */
  readonly suffixPaths: readonly string[];
  /** How chunks are encoded. */
  readonly chunk: ChunkLevel;

  constructor(fields: ArrayFields) {
    this.metadata = fields.metadata;
    this.gridShape = fields.gridShape;
    this.keys = fields.keys;
    this.parts = fields.parts;
    this.suffixPaths = fields.suffixPaths;
    this.chunk = fields.chunk;
  }

  /** The length of each dimension, in elements. */
  get shape(): readonly number[] {
    return this.metadata.shape;
  }

  /** Whether a chunk is stored in parts, and not as one object under its key. */
  get hasParts(): boolean {
    const [{ keySuffix, size }, ...others] = this.parts as [Part, ...Part[]];
    return keySuffix !== "" || size !== undefined || others.length > 0;
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
 * The shards of an array.
 *
 * @throws {MetadataError} If its chunks are no shards.
 */
export function shardOf({ chunk: { codecs, shard } }: ParsedArray): ShardLevel {
  if (shard !== undefined) return shard;
  throw new MetadataError(
    `Expected the codec "sharding_indexed", found ${describe(codecs[0]?.name)}`,
    "/codecs/0",
  );
}

/** The part of a chunk that has no size. */
export interface UnsizedPart {
  readonly keySuffix: string;
  /** Where the part begins in the chunk: the size of all head parts in bytes. */
  readonly offset: number;
  /** The size of all parts after it in bytes; `undefined` if one of them has no size. */
  readonly tailSize: number | undefined;
}

/** Finds the first unsized part of a chunk; `undefined` if every part has a size. */
export function unsizedPart(parts: readonly Part[]): UnsizedPart | undefined {
  const place = parts.findIndex(({ size }) => size === undefined);
  if (place < 0) return undefined;
  const { keySuffix } = parts[place]!;
  const offset = sizeTogether(parts.slice(0, place))!;
  return { keySuffix, offset, tailSize: sizeTogether(parts.slice(place + 1)) };
}

/** Returns the size of parts together; `undefined` if one of them has no size. */
export function sizeTogether(parts: readonly Part[]): number | undefined {
  return parts.reduce<number | undefined>(
    (sum, { size }) =>
      size === undefined || sum === undefined ? undefined : sum + size,
    0,
  );
}
