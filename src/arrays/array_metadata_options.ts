import type { ChunkKeyEncoding } from "../chunk_key_encoding/chunk_key_encoding.ts";
import type { NamedConfiguration } from "../metadata/array_metadata.ts";
import { describe, describeAll } from "../metadata/describe.ts";
import type { Part } from "../splitter/part.ts";

/**
 * The properties of an array, from which `arrayMetadata` composes its metadata.
 *
 * @example
 * ```ts
 * import { arrayMetadata, type ArrayMetadataOptions } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const options: ArrayMetadataOptions = {
 *   shape: [365, 720],
 *   dataType: "float32",
 *   chunkShape: [73, 720],
 *   dimensionNames: ["day", "longitude"],
 * };
 * assertEquals(arrayMetadata(options).dimension_names, ["day", "longitude"]);
 * ```
 */
export interface ArrayMetadataOptions {
  /** The array's lengths along its dimensions, in elements; 0 or more each. */
  readonly shape: readonly number[];
  /**
   * The type of an element by its Zarr name, such as `"uint8"` or `"float32"`,
   * or as an object with a name for types outside the Zarr core.
   */
  readonly dataType: string | NamedConfiguration;
  /**
   * The shape of a chunk, in elements; 1 or more each. With `shardShape`, the
   * shape of an inner chunk.
   */
  readonly chunkShape: readonly number[];
  /**
   * The shape of a shard, in elements: a multiple of `chunkShape` in every
   * dimension. Without it, chunks are stored one by one.
   */
  readonly shardShape?: readonly number[] | undefined;
  /**
   * The codecs of a chunk, as names or objects; with shards, those of an inner
   * chunk. Missing configuration is filled in with zarr-python's defaults. The
   * codec from array to bytes is added if it is missing: `bytes` in little endian,
   * or `vlen-utf8` for strings. Default: no compression.
   */
  readonly codecs?: readonly (string | NamedConfiguration)[] | undefined;
  /** The codecs of a shard's index. Default: `bytes` in little endian, and `crc32c`. */
  readonly indexCodecs?: readonly (string | NamedConfiguration)[] | undefined;
  /** The place of the index in a shard. Default: `"end"`. */
  readonly indexLocation?: "start" | "end" | undefined;
  /** The value of elements in absent chunks. Default: 0, `false` or `""`. */
  readonly fillValue?: unknown;
  /**
   * The chunk key encoding: a name such as `"v2"`, its metadata, or an instance such
   * as a `TemplateChunkKeyEncoding`. With `suffix`, the base encoding. Default:
   * `"default"`.
   */
  readonly keyEncoding?:
    | string
    | NamedConfiguration
    | ChunkKeyEncoding
    | undefined;
  /** The text at the end of every chunk key, such as `".tiff"`. */
  readonly suffix?: string | undefined;
  /**
   * The parts that each stored chunk is split into, in order:
   *
   * - `".header:64"`: a key suffix, and the size in bytes
   * - `".index"`, or a longer suffix that ends in it: the index of a shard, whose
   *   size is computed
   * - `".crc32c"`, or a longer suffix that ends in it: the 4 bytes that the codec
   *   `crc32c` appends to a chunk
   * - `""` or any other suffix without a colon: the part that takes the rest
   * - `{ keySuffix, size }`: any part
   */
  readonly parts?: readonly (string | Part)[] | undefined;
  /** A name for each dimension, or `null`. */
  readonly dimensionNames?: readonly (string | null)[] | undefined;
  /** The user's own metadata. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
}

const REQUIRED = ["shape", "dataType", "chunkShape"] as const;
const KNOWN: readonly string[] = [
  "shape",
  "dataType",
  "chunkShape",
  "shardShape",
  "codecs",
  "indexCodecs",
  "indexLocation",
  "fillValue",
  "keyEncoding",
  "suffix",
  "parts",
  "dimensionNames",
  "attributes",
];

/** The options that other programs call by other names. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  dtype: "dataType",
  chunks: "chunkShape",
  shards: "shardShape",
  chunkKeyEncoding: "keyEncoding",
};

/** Refuses options that are missing or unknown, or of an obviously wrong type. */
export function assertOptions(options: ArrayMetadataOptions): void {
  if (!isObject(options)) {
    throw new TypeError(
      `Expected options with a shape, a dataType and a chunkShape, found ${
        describe(options)
      }`,
    );
  }
  for (const name of Object.keys(options)) {
    if (KNOWN.includes(name)) continue;
    const camelCase = name.replace(
      /_(\w)/g,
      (_, letter: string) => letter.toUpperCase(),
    );
    const meant = OTHER_NAMES[camelCase] ?? camelCase;
    throw new TypeError(
      `Unknown option ${describe(name)}; ${
        KNOWN.includes(meant)
          ? `expected ${describe(meant)}`
          : `known are ${describeAll(KNOWN)}`
      }`,
    );
  }
  for (const name of REQUIRED) {
    if (options[name] !== undefined) continue;
    throw new TypeError(
      `Missing option ${
        describe(name)
      }; expected at least a shape, a dataType and a chunkShape`,
    );
  }
  const { dataType, attributes } = options;
  if (typeof dataType !== "string" && !isObject(dataType)) {
    throw new TypeError(
      `Expected dataType to be a name, such as "uint8", or an object with a name, found ${
        describe(dataType)
      }`,
    );
  }
  if (attributes !== undefined && !isObject(attributes)) {
    throw new TypeError(
      `Expected attributes to be an object, found ${describe(attributes)}`,
    );
  }
}

/**
 * Refuses a shape with lengths below `least` or of another rank.
 *
 * @returns The shape's rank.
 */
export function assertShape(
  option: string,
  shape: readonly number[],
  least: number,
  rank?: number,
): number {
  const isShape = Array.isArray(shape) &&
    shape.every((length) => typeof length === "number");
  if (!isShape) {
    throw new TypeError(
      `Expected ${option} to be a list of numbers, found ${describe(shape)}`,
    );
  }
  if (
    !shape.every((length) => Number.isSafeInteger(length) && length >= least)
  ) {
    throw new RangeError(
      `Expected the lengths in ${option} to be whole numbers from ${least} to 2^53−1, found ${
        describe(shape)
      }`,
    );
  }
  if (rank === undefined || shape.length === rank) return shape.length;
  throw new RangeError(
    `Expected ${option} to have as many dimensions as shape, ${rank}, found ${
      describe(shape)
    }`,
  );
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
