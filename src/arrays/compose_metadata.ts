import {
  type ChunkKeyEncoding,
  DefaultChunkKeyEncoding,
  SuffixChunkKeyEncoding,
  toChunkKeyEncoding,
} from "../chunk_key_encoding/mod.ts";
import {
  ANY,
  checkOptions,
  describe,
  objectRule,
  type OptionRule,
  type OptionRules,
  sentence,
} from "../errors/mod.ts";
import {
  type ArrayMetadata,
  checkDataType,
  completeCodecs,
  dataTypeOf,
  type Elements,
  fillValueJson,
  isMembers,
  isWhole,
  type NamedConfiguration,
} from "../metadata/mod.ts";
import type { Part } from "../splitter/mod.ts";
import { parseArray, withParts } from "./parse_array.ts";
import { resolveParts } from "./part_notation.ts";

/**
 * Composes the whole metadata of an array, as every Zarr v3 reader expects it in
 * `zarr.json`: with a fill value, with all codecs written out, and with the
 * sizes of the parts that hold a shard's index or a checksum.
 *
 * Without `suffix` and `parts`, any Zarr v3 reader can open the array; with
 * them, any reader can open what `plainView` shows of it.
 *
 * @param options The array's shape, data type and chunk shape, and what sets the
 * array apart from a plain one.
 * @returns The metadata, for `createArrayChunks` or for a `zarr.json`.
 * @throws {TypeError} If an option is missing, unknown or of a wrong type.
 * @throws {RangeError} If an option is out of range, or options contradict each
 * other: shapes of different ranks, a shard shape that is no multiple of the chunk
 * shape, an unknown data type, a fill value of another type, codecs in a wrong
 * order, or a part `.index` without shards.
 * @throws {MetadataError} If `keyEncoding` is not known, two parts could share a
 * key, or a codec's configuration is not valid.
 *
 * @example Shards with a suffix, a header and an index in files of their own
 * ```ts
 * import { arrayMetadata, createArrayChunks, MemoryStore, parseShardLayout } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const metadata = arrayMetadata({
 *   shape: [10_000, 10_000],
 *   dataType: "uint8",
 *   shardShape: [5000, 5000],
 *   chunkShape: [500, 500],
 *   codecs: ["zstd"],
 *   suffix: ".shard",
 *   parts: [".header:64", "", ".index"],
 * });
 * const chunks = await createArrayChunks(new MemoryStore(), "image", metadata);
 * assertEquals(chunks.key([1, 0]), "/image/c/1/0.shard");
 *
 * const layout = parseShardLayout(metadata.codecs[0], chunks.chunkShape);
 * assertEquals(layout.chunksPerShard, [10, 10]);
 * assertEquals(metadata.storage_transformers, [{
 *   name: "concat-parts",
 *   configuration: {
 *     parts: [
 *       { key_suffix: ".header", size: 64 },
 *       { key_suffix: "" },
 *       { key_suffix: ".index", size: 1604 },
 *     ],
 *   },
 * }]);
 * ```
 */
export function arrayMetadata(options: ArrayMetadataOptions): ArrayMetadata {
  checkOptions(options, OPTIONS, "arrayMetadata", { otherNames: OTHER_NAMES });
  assertShapes(options);
  const { shape, shardShape, chunkShape, attributes, dimensionNames } = options;
  const dataType = parseDataType(options);
  const storage = {
    zarr_format: 3,
    node_type: "array",
    shape: [...shape],
    data_type: dataType.json,
    chunk_grid: {
      name: "regular",
      configuration: { chunk_shape: [...shardShape ?? chunkShape] },
    },
    chunk_key_encoding: keyEncodingOf(options).toJSON(),
    fill_value: dataType.fillValue,
    codecs: codecsOf(options, dataType.elements),
  };
  const others = {
    ...attributes && { attributes },
    ...dimensionNames && { dimension_names: [...dimensionNames] },
  };
  const array = parseArray({ ...storage, ...others });
  return options.parts === undefined
    ? array.metadata
    : withParts(array, resolveParts(options.parts, array.chunk)).metadata;
}

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

const OPTIONS: OptionRules<ArrayMetadataOptions> = {
  shape: { ...lengthsFrom(0), isRequired: true },
  dataType: {
    expected: 'a name, such as "uint8", or an object with a name',
    isValid: (value) =>
      typeof value === "string" || isMembers(value) &&
        typeof value.name === "string" && value.name !== "",
    isRequired: true,
  },
  chunkShape: { ...lengthsFrom(1), isRequired: true },
  shardShape: lengthsFrom(1),
  codecs: ANY,
  indexCodecs: ANY,
  indexLocation: ANY,
  fillValue: ANY,
  keyEncoding: ANY,
  suffix: ANY,
  parts: ANY,
  dimensionNames: {
    expected: "a list of names, with null for a dimension without one",
    isValid: (value) =>
      Array.isArray(value) &&
      value.every((name) => name === null || typeof name === "string"),
  },
  attributes: objectRule(),
};

/** A rule for lengths along dimensions. */
function lengthsFrom(least: number): OptionRule {
  return {
    expected: `a list of whole numbers from ${least} to 2^53−1`,
    isValid: (value) =>
      Array.isArray(value) && value.every((length) => isWhole(length, least)),
    outOfRange: "lists of numbers",
  };
}

/** The names of options, by the names that other programs use for them. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  dtype: "dataType",
  chunks: "chunkShape",
  shards: "shardShape",
  chunkKeyEncoding: "keyEncoding",
};

/** Refuses options for different numbers of dimensions, and shards that are not made of whole chunks. */
function assertShapes(options: ArrayMetadataOptions): void {
  const { shape, shardShape, chunkShape } = options;
  for (const name of ["chunkShape", "shardShape", "dimensionNames"] as const) {
    const { length } = options[name] ?? shape;
    if (length === shape.length) continue;
    throw new RangeError(
      `Expected ${name} to have as many dimensions as shape, ${shape.length}, found ${
        describe(options[name])
      }`,
    );
  }
  const isMultiple = shardShape?.every((n, i) => n % chunkShape[i]! === 0);
  if (isMultiple !== false) return;
  throw new RangeError(
    sentence`Expected shardShape to be a multiple of chunkShape in every dimension, found ${shardShape} and ${chunkShape}`,
  );
}

/** Returns the data type and the fill value as JSON, and what codecs need to know of the elements. */
function parseDataType({ dataType, fillValue }: ArrayMetadataOptions): {
  json: ArrayMetadata["data_type"];
  fillValue: unknown;
  elements: Elements;
} {
  if (typeof dataType === "string") {
    const elements = dataTypeOf(dataType);
    return {
      json: dataType,
      fillValue: fillValue === undefined
        ? elements.defaultFill
        : fillValueJson(elements, fillValue),
      elements,
    };
  }
  const { name, configuration } = dataType;
  if (fillValue === undefined) {
    throw new TypeError(
      sentence`Missing option "fillValue", which the data type ${name} needs: only the data types of the Zarr core have a default`,
    );
  }
  const { json, known } = checkDataType(dataType);
  return {
    json: configuration === undefined ? json : dataType,
    fillValue,
    elements: known ?? { bits: undefined, toBytes: "bytes" },
  };
}

function codecsOf(
  { shardShape, chunkShape, codecs = [], indexCodecs, indexLocation }:
    ArrayMetadataOptions,
  elements: Elements,
): NamedConfiguration[] {
  const completed = completeCodecs(codecs, elements, "codecs");
  if (shardShape === undefined) {
    for (
      const [name, value] of Object.entries({ indexCodecs, indexLocation })
    ) {
      if (value === undefined) continue;
      throw new RangeError(
        sentence`Option ${name} is for shards; expected a shardShape beside it`,
      );
    }
    return completed;
  }
  return [{
    name: "sharding_indexed",
    configuration: {
      chunk_shape: [...chunkShape],
      codecs: completed,
      index_codecs: completeCodecs(
        indexCodecs ?? ["crc32c"],
        { bits: 64, toBytes: "bytes" },
        "indexCodecs",
      ),
      index_location: indexLocation ?? "end",
    },
  }];
}

function keyEncodingOf(
  { keyEncoding = new DefaultChunkKeyEncoding(), suffix }: ArrayMetadataOptions,
): ChunkKeyEncoding {
  const base = toChunkKeyEncoding(keyEncoding);
  return suffix === undefined ? base : new SuffixChunkKeyEncoding(suffix, base);
}
