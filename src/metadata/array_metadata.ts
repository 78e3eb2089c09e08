import {
  atPath,
  below,
  describe,
  MetadataError,
  pointer,
} from "../errors/mod.ts";
import { coreDataType, fillValueJson } from "./data_type.ts";
import { isMembers, type Members, numberOf } from "./json.ts";
import {
  assertMember,
  checkLengths,
  checkList,
  checkMembers,
  checkNode,
  checkOneOf,
  type NamedConfiguration,
  parseExtension,
  refuse,
} from "./schema.ts";

/**
 * A chunk grid whose chunks all have the same shape.
 *
 * @example
 * ```ts
 * import type { RegularChunkGrid } from "@zarr-parts/zarr-parts";
 *
 * const grid: RegularChunkGrid = { name: "regular", configuration: { chunk_shape: [500, 500] } };
 * ```
 */
export interface RegularChunkGrid extends NamedConfiguration {
  /** The configuration. */
  readonly configuration: {
    /** The shape of a chunk, in elements; of a shard where the array has shards. */
    readonly chunk_shape: readonly number[];
  };
}

/**
 * The metadata of a Zarr v3 array, as in its `zarr.json`. This package checks the form of
 * all members. Unknown data types and codecs are allowed, since chunks stay encoded.
 * `arrayMetadata` composes metadata.
 *
 * Source: "Array metadata" in https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html
 *
 * @example
 * ```ts
 * import type { ArrayMetadata } from "@zarr-parts/zarr-parts";
 *
 * const metadata: ArrayMetadata = {
 *   zarr_format: 3,
 *   node_type: "array",
 *   shape: [1000, 1000],
 *   data_type: "uint8",
 *   chunk_grid: { name: "regular", configuration: { chunk_shape: [500, 500] } },
 *   chunk_key_encoding: { name: "suffix", configuration: { suffix: ".raw" } },
 *   fill_value: 0,
 *   codecs: [{ name: "bytes" }],
 * };
 * ```
 */
export interface ArrayMetadata {
  /** The version of Zarr: 3. The type is wider, so that an object in a variable fits. */
  readonly zarr_format: number;
  /** The type of node: `"array"`. */
  readonly node_type: string;
  /** The length of each dimension, in elements. */
  readonly shape: readonly number[];
  /** The type of an element. */
  readonly data_type: string | NamedConfiguration;
  /** The division of the array into chunks. */
  readonly chunk_grid: RegularChunkGrid;
  /** The encoding of chunk keys. */
  readonly chunk_key_encoding: string | NamedConfiguration;
  /** The value of elements in absent chunks; a `bigint` if a `number` is not exact. */
  readonly fill_value?: unknown;
  /** The codecs that encode chunks, in the order of encoding. */
  readonly codecs: readonly (string | NamedConfiguration)[];
  /** The storage transformers between the array and the store, the nearest to the array first. */
  readonly storage_transformers?:
    | readonly (string | NamedConfiguration)[]
    | undefined;
  /** The user's own metadata. */
  readonly attributes?: Readonly<Record<string, unknown>> | undefined;
  /** A name for each dimension. */
  readonly dimension_names?: readonly (string | null)[] | undefined;
}

/** Array metadata that was checked, with the shapes that follow from it. */
interface ParsedArrayMetadata {
  readonly metadata: ArrayMetadata;
  /** The shape of a stored chunk, in elements. */
  readonly chunkShape: readonly number[];
  /** The number of chunks along each dimension. */
  readonly gridShape: readonly number[];
}

/**
 * Checks array metadata. Chunk key encodings, storage transformers and shards are checked
 * elsewhere. The fill value and the codec from array to bytes may be missing.
 *
 * @param complete Completes the data type, the fill value and the codecs before they are
 * checked. By default, they stay as they are.
 * @throws {MetadataError} If a member is missing, unknown or not valid.
 */
export function parseArrayMetadata(
  document: unknown,
  complete: (document: Members) => Members = (document) => document,
): ParsedArrayMetadata {
  const what = "array metadata";
  const { members } = checkNode(document, what, { array: MEMBERS });
  for (const name of ["shape", "chunk_grid", "chunk_key_encoding"]) {
    assertMember(members, name, what);
  }
  const shape = checkLengths(members.shape, "shape", 0);
  if (members.storage_transformers !== undefined) {
    checkList(members.storage_transformers, "storage_transformers");
  }
  const chunkShape = below(
    "/chunk_grid",
    () => parseChunkShape(members.chunk_grid, shape.length),
  );
  const gridShape = shape.map((length, i) =>
    ceilDivide(length, chunkShape[i]!)
  );
  checkAttributes(members.attributes);
  checkDimensionNames(members.dimension_names, shape.length);
  const metadata = checkElements(complete(members), shape.length);
  return { metadata, chunkShape, gridShape };
}

/** Checks the data type, the fill value and the codecs, and returns the metadata with the fill value to use. */
function checkElements(document: Members, rank: number): ArrayMetadata {
  const what = "array metadata";
  assertMember(document, "data_type", what);
  const { name } = below(
    "/data_type",
    () => parseExtension(document.data_type, "data type"),
  );
  const fill_value = checkFillValue(document.fill_value, name);
  assertMember(document, "codecs", what);
  checkCodecs(document.codecs, rank);
  const isSame = fill_value === document.fill_value;
  const checked: unknown = isSame ? document : { ...document, fill_value };
  return checked as ArrayMetadata;
}

/**
 * Checks the fill value of a data type of the Zarr core, and returns the fill value to use:
 * a whole number of a float type is a `number`. A fill value may be missing, or `null`, as
 * some programs write a missing one. For `bool`, it may also be 0 or 1.
 */
function checkFillValue(value: unknown, dataType: string): unknown {
  const known = coreDataType(dataType);
  const isLeft = value === undefined || value === null ||
    known === undefined || dataType === "bool" && (value === 0 || value === 1);
  if (isLeft) return value;
  const number = numberOf(value);
  const used = /^(?:float|complex)/.test(dataType)
    ? floats(number)
    : /^u?int/.test(dataType)
    ? integer(number)
    : number;
  atPath("/fill_value", () => fillValueJson(known, used, "fill_value"));
  return typeof number === "bigint" ? used : value;
}

/** Converts digits in a string to a number; a store of `withZarrParts` shows such strings to zarrita. */
function integer(value: unknown): unknown {
  const isDigits = typeof value === "string" && /^-?\d{1,40}$/.test(value);
  return isDigits ? BigInt(value) : value;
}

/** Converts whole numbers beyond 2^53 to floats. */
function floats(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(numberOf).map(floats);
  return typeof value === "bigint" ? Number(value) : value;
}

/** Checks the members of codecs that would make values wrong. */
function checkCodecs(codecs: unknown, rank: number): void {
  for (const [i, codec] of checkList(codecs, "codecs").entries()) {
    below(pointer("/codecs", i), () => {
      const { name, configuration } = parseExtension(codec, "codec");
      below("/configuration", () => checkCodec(name, configuration, rank));
    });
  }
}

function checkCodec(
  name: string,
  { endian, order, codecs }: Members,
  rank: number,
): void {
  if (name === "bytes" && endian !== undefined) {
    checkOneOf(endian, ["little", "big"], '"little" or "big"', "/endian");
  }
  if (name === "transpose" && order !== "C" && order !== "F") {
    const isOrder = Array.isArray(order) && order.length === rank &&
      order.every((_, i) => order.includes(i));
    if (!isOrder) {
      refuse(`a list of the ${rank} dimensions, each once`, order, "/order");
    }
  }
  if (name === "sharding_indexed" && codecs !== undefined) {
    checkCodecs(codecs, rank);
  }
}

/** Checks the user's metadata of a node. `null`, which zarr-python accepts, counts as absent. */
export function checkAttributes(attributes: unknown): void {
  if (isMembers(attributes ?? {})) return;
  refuse("attributes to be an object", attributes, "/attributes");
}

function checkDimensionNames(names: unknown, rank: number): void {
  const isNames = (names ?? null) === null ||
    Array.isArray(names) && names.length === rank &&
      names.every((name) => name === null || typeof name === "string");
  if (isNames) return;
  refuse(
    `dimension_names to be a list of ${rank} names, with null for a dimension without one`,
    names,
    "/dimension_names",
  );
}

const MEMBERS: readonly string[] = [
  "zarr_format",
  "node_type",
  "shape",
  "data_type",
  "chunk_grid",
  "chunk_key_encoding",
  "fill_value",
  "codecs",
  "storage_transformers",
  "attributes",
  "dimension_names",
];

function parseChunkShape(chunkGrid: unknown, rank: number): readonly number[] {
  const { name, configuration } = parseExtension(chunkGrid, "chunk grid");
  if (name !== "regular") {
    throw new MetadataError(
      `Unknown chunk grid ${describe(name)}; known is "regular"`,
      typeof chunkGrid === "string" ? "" : "/name",
    );
  }
  return below("/configuration", () => {
    const { chunk_shape } = checkMembers(
      configuration,
      "the configuration of a regular chunk grid",
      ["chunk_shape"],
    );
    const chunkShape = checkLengths(chunk_shape, "chunk_shape", 1);
    if (chunkShape.length === rank) return chunkShape;
    refuse(
      `a chunk_shape of as many dimensions as the array, ${rank}`,
      chunkShape,
      "/chunk_shape",
    );
  });
}

/** Returns codecs as objects, also those that metadata gives as names. */
export function namedCodecs(
  codecs: readonly (string | NamedConfiguration)[],
): NamedConfiguration[] {
  return codecs.map((codec) =>
    typeof codec === "string" ? { name: codec } : codec
  );
}

/** Divides and rounds up. The result is exact even if the quotient in floating point is not. */
export function ceilDivide(length: number, chunkLength: number): number {
  const rest = length % chunkLength;
  return (length - rest) / chunkLength + (rest > 0 ? 1 : 0);
}
