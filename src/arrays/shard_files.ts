import { sizeTogether } from "../concat_parts/mod.ts";
import { parseArray } from "./parse_array.ts";
import { isInGrid, type ParsedArray, type ShardLevel } from "./parsed_array.ts";
import {
  describe,
  type OptionRule,
  type OptionRules,
  sentence,
} from "../errors/mod.ts";
import {
  type ArrayMetadata,
  isWhole,
  type NamedConfiguration,
} from "../metadata/mod.ts";
import { joinBytes } from "../runtime/mod.ts";
import {
  encodeFileRecord,
  FILE_RECORD_SIZE,
  type ShardContainer,
  shardIndexSize,
} from "../shards/mod.ts";

/** An array whose shards can be files of another format. All shapes are in elements. */
export interface ShardFiles {
  readonly array: ParsedArray;
  readonly shard: ShardLevel;
  /** The number of bytes of the index that follow the file in the same object. */
  readonly indexAfter: number;
  /** Whether a record of the file lies before the index in the part of the index, as for adopted files. */
  readonly hasRecord: boolean;
}

/** The name of a file format, and of the pieces of its files that are inner chunks. */
interface FileFormat {
  /** Such as `TIFF`. */
  readonly name: string;
  /** Such as `tiles`. */
  readonly pieces: string;
}

/**
 * Parses the metadata of an array whose shards are to be files of another format.
 *
 * @throws {MetadataError} If the metadata is not valid.
 * @throws {RangeError} If shards cannot be whole files: the array has no shards,
 * other codecs after them, an index at the start, or parts that divide the file.
 */
export function parseShardFiles(
  document: unknown,
  format: FileFormat,
): ShardFiles {
  const array = parseArray(document);
  const { codecs, shard } = array.chunk;
  if (shard === undefined || codecs.length > 1) {
    throw new RangeError(
      `Expected an array with "sharding_indexed" as its only codec, since the ${format.pieces} of a ${format.name} are the inner chunks of a shard`,
    );
  }
  const { layout } = shard;
  if (layout.indexLocation === "start") {
    throw new RangeError(
      `Expected the index at the end of shards, since a shard begins with the ${format.name}, found it at the start: set index_location to "end"`,
    );
  }
  return { array, shard, ...indexPlace(array, shard, format) };
}

/** Adds the record of the file to the tail of a container, if the index has one. */
export function withFileRecord(
  container: ShardContainer,
  { hasRecord }: Pick<ShardFiles, "hasRecord">,
): ShardContainer {
  return !hasRecord ? container : {
    ...container,
    tail(index, offset) {
      const tail = container.tail?.(index, offset) ?? new Uint8Array();
      const size = offset + tail.length;
      return joinBytes([tail, encodeFileRecord({ size, contents: 0 })]);
    },
  };
}

/** The place of the index beside the file. Refuses parts that would divide the file. */
function indexPlace(
  { parts }: ParsedArray,
  { layout }: ShardLevel,
  format: FileFormat,
): Pick<ShardFiles, "indexAfter" | "hasRecord"> {
  const after = sizeTogether(parts.slice(1)) ?? Infinity;
  const indexSize = shardIndexSize(layout);
  const hasRecord = parts.length === 2 &&
    after === FILE_RECORD_SIZE + indexSize;
  const isWhole = parts[0]!.size === undefined &&
    (after <= indexSize || hasRecord);
  if (isWhole) return { indexAfter: Math.max(0, indexSize - after), hasRecord };
  throw new RangeError(
    `Expected parts that leave the ${format.name} whole: first the one without a size, and then none, or those of the index of ${indexSize} bytes, found ${
      describe(
        parts.map(({ keySuffix, size }) =>
          size === undefined ? keySuffix : `${keySuffix}:${size}`
        ),
      )
    }: for example parts: ["", ".index"]`,
  );
}

/** Refuses coordinates outside a chunk grid. */
export function assertShardInGrid(
  shard: readonly number[],
  gridShape: readonly number[],
): void {
  if (Array.isArray(shard) && isInGrid(shard, gridShape)) return;
  throw new RangeError(
    sentence`Expected the grid coordinates of a shard in a chunk grid of ${gridShape}, found ${shard}`,
  );
}

/**
 * The codecs and shapes with which shards can be files of another format: a `Recoding` of
 * `convert`, as `fitTiff` and `fitZip` find it.
 *
 * @example
 * ```ts
 * import type { FileRecoding } from "@zarr-parts/zarr-parts/tiff";
 *
 * const tiles = ({ chunks }: FileRecoding) => `tiles of ${chunks?.join(" × ")} elements`;
 * ```
 */
export interface FileRecoding {
  /** The codecs of inner chunks, as `convert` takes them. */
  readonly codecs?:
    | string
    | readonly (string | NamedConfiguration)[]
    | undefined;
  /** The shape of inner chunks: of the tiles of a TIFF, and of the entries of a zip. */
  readonly chunks?: readonly number[] | undefined;
  /** The shape of shards, which are the files. */
  readonly shards?: readonly number[] | undefined;
}

const SHAPE: OptionRule = {
  expected: "a list of whole numbers from 1",
  isValid: (value) =>
    Array.isArray(value) && value.every((length) => isWhole(length, 1)),
};

/** The rules of what a recoding names. */
export const RECODING_RULES: OptionRules<FileRecoding> = {
  codecs: {
    expected: 'a text such as "zstd:5", or a list of codecs',
    isValid: (value) => typeof value === "string" || Array.isArray(value),
  },
  chunks: SHAPE,
  shards: SHAPE,
};

/** The most bytes of a file, without compression, to which the chunks of an array without shards are joined. */
export const LARGEST_FILE = 2 ** 26;

/** How the elements of an array are divided and encoded. */
export interface StoredEncoding {
  /** The shape of the innermost chunks. */
  readonly chunk: readonly number[];
  /** The shape of shards; `undefined` for an array without shards. */
  readonly shard: readonly number[] | undefined;
  /** The codecs of the innermost chunks. */
  readonly codecs: readonly NamedConfiguration[];
}

/** Returns how the elements of an array are divided and encoded. */
export function storedEncoding(
  { chunk, innermost, levels }: ParsedArray,
): StoredEncoding {
  // Behind a codec such as transpose, the lengths may belong to other dimensions.
  const isInOrder = levels.every(({ shard }) => !shard?.before.length);
  return {
    chunk: isInOrder ? innermost.shape : chunk.shape,
    codecs: innermost.codecs,
    shard: chunk.shard && chunk.shape,
  };
}

/** Returns metadata with `default` chunk keys and without storage transformers. */
export function withoutStorage(metadata: ArrayMetadata): ArrayMetadata {
  const { storage_transformers: _, ...rest } = metadata;
  return { ...rest, chunk_key_encoding: { name: "default" } };
}
