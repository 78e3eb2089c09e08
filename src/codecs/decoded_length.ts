import { CHECKSUM_SIZE } from "../checksum/mod.ts";
import { DamageError, describe, MetadataError } from "../errors/mod.ts";
import { coreDataType, isWhole, refuse } from "../metadata/mod.ts";
import {
  chunkAt,
  type ChunkMetadata,
  keyOf,
  parseCodecConfiguration,
  passNotes,
  rowsOf,
} from "./codec.ts";

/** The bytes that each of these codecs adds to what it encodes. */
const ADDED_BYTES: Readonly<Record<string, number>> = {
  transpose: 0,
  bytes: 0,
  bitround: 0,
  "numcodecs.bitround": 0,
  "numcodecs.shuffle": 0,
  "numcodecs.delta": 0,
  cast_value: 0,
  scale_offset: 0,
  imagecodecs_delta: 0,
  imagecodecs_floatpred: 0,
  crc32c: CHECKSUM_SIZE,
};

/** Whether a codec is known to keep the number of bytes, or to add some. */
export function isSized(name: string): boolean {
  return Object.hasOwn(ADDED_BYTES, name);
}

/** The codecs whose output is never much longer than their input. */
const COMPRESSORS: ReadonlySet<string> = new Set([
  ...["gzip", "zlib", "zstd", "blosc", "lz4"].flatMap((name) => [
    name,
    `numcodecs.${name}`,
  ]),
  "imagecodecs_deflate",
  "imagecodecs_zlib",
  "imagecodecs_zstd",
  "imagecodecs_lzw",
  "imagecodecs_packbits",
]);

/** The length of a chunk that a codec has decoded, in bytes, as far as it is known. */
export interface DecodedLength {
  /** The length; `undefined` if codecs before that codec decide it. */
  readonly exact: number | undefined;
  /**
   * The most bytes to decode. Somewhat longer chunks are decoded, so that errors say by
   * how much they are too long.
   */
  readonly limit: number;
  /** Whether elements are changed by a predictor, which needs all of them. */
  readonly isPredicted: boolean;
}

const PREDICTORS = ["imagecodecs_delta", "imagecodecs_floatpred"];

/**
 * Finds the length of a decoded chunk.
 *
 * @param name The name of the codec in the metadata of the array.
 */
export function decodedLength(
  name: string,
  { dataType, shape, codecs = [] }: ChunkMetadata,
): DecodedLength {
  const bits = coreDataType(dataType)?.bits;
  const places = codecs.flatMap((codec, i) => codec.name === name ? [i] : []);
  if (bits === undefined || places.length === 0) return UNKNOWN;
  let length = shape.reduce((product, n) => product * n, bits / 8);
  let isExact = places.length === 1;
  for (const codec of codecs.slice(0, places.at(-1))) {
    if (codec.name === PACKINTS) {
      length = packedLength(codec.configuration, { dataType, shape });
    } else if (isSized(codec.name)) {
      length += ADDED_BYTES[codec.name]!;
    } else if (COMPRESSORS.has(codec.name)) {
      isExact = false;
      length = limitOf(length);
    } else return UNKNOWN;
  }
  return {
    exact: isExact ? length : undefined,
    limit: limitOf(length),
    isPredicted: codecs.some((codec) => PREDICTORS.includes(codec.name)),
  };
}

const UNKNOWN: DecodedLength = {
  exact: undefined,
  limit: Infinity,
  isPredicted: false,
};

/** More than compressors make of this many bytes. */
function limitOf(length: number): number {
  return 2 * length + 1024;
}

/**
 * Refuses decoded bytes of another length than expected, and passes their notes on. A
 * chunk at the end of an array may lack rows that are outside of the array, as the last
 * strip of a TIFF does: these become zeros. Chunks of `withZarrParts`, whose keys are
 * known, are left to `checkChunks`, which names their coordinates, if no predictor needs
 * all elements.
 */
export function wholeChunk(
  encoded: Uint8Array,
  decoded: Uint8Array,
  { exact, limit, isPredicted }: DecodedLength,
  name: string,
): Uint8Array {
  let whole = decoded;
  if (exact !== undefined && decoded.length !== exact) {
    const needed = neededLength(encoded, exact);
    if (needed <= decoded.length && decoded.length < exact) {
      whole = new Uint8Array(exact);
      whole.set(decoded);
    } else if (
      isPredicted || keyOf(encoded) === "" || decoded.length > limit
    ) {
      throw damaged(
        encoded,
        `decodes to ${decoded.length} bytes by ${name}, where its elements take ${exact}`,
      );
    }
  }
  passNotes(encoded, whole);
  return whole;
}

/** The least number of decoded bytes that hold all elements of a chunk in the array. */
export function neededLength(encoded: Uint8Array, exact: number): number {
  const rows = rowsOf(encoded);
  return rows === undefined ? exact : exact / rows.count * rows.inArray;
}

/** The error for encoded bytes that are longer than the limit once decoded. */
export function tooLong(
  encoded: Uint8Array,
  { exact, limit }: DecodedLength,
  name: string,
  cause?: unknown,
): DamageError {
  return damaged(
    encoded,
    exact === undefined
      ? `decodes to more than ${limit} bytes by ${name}, where its elements take less`
      : `decodes to more than ${exact} bytes by ${name}, where its elements take ${exact}`,
    cause,
  );
}

/** The error for encoded bytes that are damaged. `message` says what the chunk does or is. */
export function damaged(
  encoded: Uint8Array,
  message: string,
  cause?: unknown,
): DamageError {
  return new DamageError(`The ${chunkAt(encoded)} ${message}`, {
    key: keyOf(encoded),
    ...(cause === undefined ? {} : { cause }),
  });
}

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
