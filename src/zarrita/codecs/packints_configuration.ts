import { isWhole, refuse } from "../../metadata/check.ts";
import { coreDataType } from "../../metadata/data_type.ts";
import { describe } from "../../metadata/describe.ts";
import { MetadataError } from "../../metadata/metadata_error.ts";
import type { ChunkMetadata } from "./codec.ts";
import { parseCodecConfiguration } from "./codec_configuration.ts";

/** The name of the codec. */
export const PACKINTS = "imagecodecs_packints";

const ARRAYS = { 8: Uint8Array, 16: Uint16Array, 32: Uint32Array } as const;

/** How integers are packed. */
export interface Packing {
  readonly ElementArray: typeof ARRAYS[keyof typeof ARRAYS];
  /** The number of bits of an integer. */
  readonly bits: number;
  /** The number of integers in a row, which ends with a byte. */
  readonly row: number;
  /** The number of rows of a chunk. */
  readonly count: number;
  /** The length of a row in bytes. */
  readonly rowSize: number;
}

/** Parses the configuration of `imagecodecs_packints`, for chunks of a data type and a shape. */
export function parsePacking(
  configuration: unknown,
  { dataType, shape }: ChunkMetadata,
): Packing {
  const { bitspersample = 8, bitorder, runlen = 0 } = parseCodecConfiguration(
    PACKINTS,
    ["bitspersample", "bitorder", "runlen"],
    configuration,
  );
  const size = coreDataType(dataType)?.bits as keyof typeof ARRAYS | undefined;
  if (!dataType.startsWith("uint") || !(size! in ARRAYS)) {
    throw new MetadataError(
      `Expected the data type "uint8", "uint16" or "uint32" for ${PACKINTS}, found ${
        describe(dataType)
      }`,
    );
  }
  if (!isWhole(bitspersample, 1) || bitspersample > size!) {
    refuse(
      `bitspersample of ${PACKINTS} to be from 1 to ${size}`,
      bitspersample,
      "/configuration/bitspersample",
    );
  }
  if (bitorder !== undefined && bitorder !== null && bitorder !== ">") {
    refuse(
      `bitorder of ${PACKINTS} to be ">", the highest bit first`,
      bitorder,
      "/configuration/bitorder",
    );
  }
  const elements = shape.reduce((product, n) => product * n, 1);
  if (!isWhole(runlen) || runlen > 0 && elements % runlen !== 0) {
    refuse(
      `runlen of ${PACKINTS} to be 0 or to divide the ${elements} elements of a chunk`,
      runlen,
      "/configuration/runlen",
    );
  }
  const row = runlen || elements;
  return {
    ElementArray: ARRAYS[size!],
    bits: bitspersample,
    row,
    count: elements / row,
    rowSize: Math.ceil(row * bitspersample / 8),
  };
}

/** The length of the chunks that `imagecodecs_packints` encodes, in bytes. */
export function packedLength(
  configuration: unknown,
  metadata: ChunkMetadata,
): number {
  const { count, rowSize } = parsePacking(configuration, metadata);
  return count * rowSize;
}
