import type { NamedConfiguration } from "../../mod.ts";
import { type ElementType, SIZES } from "./fixtures_elements.ts";

/** An array that this test makes, of a kind that zarrita's own fixtures have, or near it. */
export interface MadeArray {
  readonly path: string;
  readonly dataType: ElementType;
  readonly shape: readonly number[];
  /** The shape of a chunk, or of a shard. */
  readonly chunkShape: readonly number[];
  /** The shape of an inner chunk, if the array is in shards. */
  readonly innerShape?: readonly number[];
  /** Codecs of the chunks, or of the inner chunks. */
  readonly codecs: readonly (NamedConfiguration | string)[];
  readonly indexLocation?: "start" | "end";
  readonly fill?: number | bigint | boolean | string;
  /** The fill value in JSON, where it is not the same. */
  readonly fillJson?: unknown;
  /** How much is written along the first dimension; all without it. */
  readonly rows?: number;
  /** The bytes of the first chunk, to write only this chunk. */
  readonly rawChunk?: readonly number[];
  /** Other members of the document. */
  readonly members?: Readonly<Record<string, unknown>>;
}

/** The differences of an array from a small one of two dimensions. */
export type Options = Partial<Omit<MadeArray, "path">>;

export const GZIP = { name: "gzip", configuration: { level: 5 } };
export const ZSTD = {
  name: "zstd",
  configuration: { level: 0, checksum: false },
};
export const BLOSC = {
  name: "blosc",
  configuration: {
    typesize: 4,
    cname: "zstd",
    clevel: 5,
    shuffle: "noshuffle",
    blocksize: 0,
  },
};
export const CRC32C = { name: "crc32c", configuration: {} };
export const STRINGS = { name: "vlen-utf8", configuration: {} };
export const DELTA = {
  name: "numcodecs.delta",
  configuration: { dtype: "<i2" },
};

/** An array of 3 × 3 elements in chunks of 2 × 2, if nothing else is said. */
export function array(path: string, options: Options = {}): MadeArray {
  const { shape = [3, 3], dataType = "int16" } = options;
  return {
    path,
    dataType,
    shape,
    chunkShape: shape.map(() => 2),
    codecs: [bytes(dataType)],
    fill: 0,
    ...options,
  };
}

export function bytes(
  dataType: ElementType,
  endian = "little",
): NamedConfiguration {
  return {
    name: "bytes",
    configuration: SIZES[dataType] === 1 ? {} : { endian },
  };
}

export function transpose(...order: number[]): NamedConfiguration {
  return { name: "transpose", configuration: { order } };
}

/** The bytes of small numbers, as most arrays here have them. */
export const LITTLE = bytes("int16");
