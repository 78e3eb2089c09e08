import { coreDataType } from "../../metadata/data_type.ts";
import { DamageError } from "../../errors/damage_error.ts";
import { CHECKSUM_SIZE } from "../../checksum/stored_checksum.ts";
import { keyOf } from "../read_keys.ts";
import { chunkAt } from "./chunk_at.ts";
import type { ChunkMetadata } from "./codec.ts";

/** The bytes that each of these codecs adds to what it encodes. */
const ADDED_BYTES: Readonly<Record<string, number>> = {
  transpose: 0,
  bytes: 0,
  bitround: 0,
  "numcodecs.bitround": 0,
  "numcodecs.shuffle": 0,
  cast_value: 0,
  scale_offset: 0,
  imagecodecs_delta: 0,
  imagecodecs_floatpred: 0,
  crc32c: CHECKSUM_SIZE,
};

/**
 * The length that a chunk has when the codec of this name has decoded it, in bytes.
 *
 * @param name The name of the codec in the metadata of the array.
 * @returns `undefined` if the codecs before it may produce any length.
 */
export function decodedLength(
  name: string,
  { dataType, shape, codecs = [] }: ChunkMetadata,
): number | undefined {
  const bits = coreDataType(dataType)?.bits;
  const place = codecs.findIndex((codec) => codec.name === name);
  const isOnly = !codecs.some((codec, i) => i > place && codec.name === name);
  if (bits === undefined || place < 0 || !isOnly) return undefined;
  let length = shape.reduce((product, n) => product * n, bits / 8);
  for (const codec of codecs.slice(0, place)) {
    if (!Object.hasOwn(ADDED_BYTES, codec.name)) return undefined;
    length += ADDED_BYTES[codec.name]!;
  }
  return length;
}

/**
 * The most bytes that a codec decodes where a chunk has this length. Somewhat longer
 * chunks are decoded, so that errors say by how much they are too long.
 */
export function decodedLimit(expected: number | undefined): number {
  return expected === undefined ? Infinity : 2 * expected + 64;
}

/**
 * Refuses decoded bytes of another length than expected. Chunks of `withZarrParts`,
 * whose keys are known, are left to `checkChunks`, which names their coordinates.
 */
export function assertDecodedLength(
  encoded: Uint8Array,
  found: number,
  expected: number | undefined,
  name: string,
): void {
  if (expected === undefined || found === expected) return;
  if (keyOf(encoded) !== "" && found <= decodedLimit(expected)) return;
  throw damaged(
    encoded,
    `decodes to ${found} bytes by ${name}, where its elements take ${expected}`,
  );
}

/** The error for encoded bytes that are longer than expected once decoded. */
export function tooLong(
  encoded: Uint8Array,
  expected: number,
  name: string,
  cause?: unknown,
): DamageError {
  return damaged(
    encoded,
    `decodes to more than ${expected} bytes by ${name}, where its elements take ${expected}`,
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
