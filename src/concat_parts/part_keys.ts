import { describe, MetadataError, pointer, sentence } from "../errors/mod.ts";
import type { Part } from "../splitter/mod.ts";
import { chunkKeyProblem } from "../stores/mod.ts";

/** The greatest number of parts of a chunk. `assertPartKeys` compares all pairs. */
const MOST_PARTS = 256;

/** The greatest number of storage transformers that divide a chunk. */
const MOST_TRANSFORMERS = 32;

/** The methods of a chunk key encoding that `assertPartKeys` needs. */
interface ChunkKeys {
  encode(coordinates: readonly number[]): string;
  decode(key: string, rank?: number): number[];
}

/** A part of a chunk as a value of the store. */
export interface FlatPart extends Part {
  /** The place of the key suffix, as a JSON pointer below the list of transformers. */
  readonly path: string;
}

/**
 * Returns the parts of a chunk as values of the store: a part that a further storage
 * transformer divides is replaced by its parts.
 *
 * @param transformers The parts of each storage transformer, the first nearest to the
 * array; `undefined` for a transformer that is skipped.
 * @throws {MetadataError} If there are too many parts or transformers, or if a part with a
 * size is divided into parts whose sizes are not known one by one, or do not add up to it.
 */
export function flatParts(
  transformers: readonly (readonly Part[] | undefined)[],
): FlatPart[] {
  let flat: FlatPart[] = [{ keySuffix: "", path: "" }];
  let layers = 0;
  for (const [i, parts] of transformers.entries()) {
    if (parts === undefined) continue;
    layers++;
    const count = flat.length * parts.length;
    if (count > MOST_PARTS) {
      throw new MetadataError(
        `A chunk would be stored in ${count} parts, where at most ${MOST_PARTS} are supported`,
        pointer("", i),
      );
    }
    const path = `/${i}/configuration/parts`;
    flat = flat.flatMap((part) => dividedParts(part, parts, path));
  }
  if (layers <= MOST_TRANSFORMERS) return flat;
  throw new MetadataError(
    `Chunks would be divided into parts by ${layers} storage transformers, where at most ${MOST_TRANSFORMERS} are supported`,
  );
}

/** Returns the parts of a part. One without a size gets the size that the others leave. */
function dividedParts(
  { keySuffix, size }: Part,
  parts: readonly Part[],
  path: string,
): FlatPart[] {
  const divided = parts.map((part, i) => ({
    ...part,
    keySuffix: keySuffix + part.keySuffix,
    path: `${path}/${i}/key_suffix`,
  }));
  if (size === undefined) return divided;
  const unsized = divided.filter((part) => part.size === undefined);
  const rest = parts.reduce((rest, { size = 0 }) => rest - size, size);
  if (unsized.length === 1 && rest >= 0) unsized[0]!.size = rest;
  else if (unsized.length > 0 || rest !== 0) {
    throw new MetadataError(
      sentence`Expected parts whose sizes follow from that of part ${keySuffix}, ${size} bytes, found ${
        parts.map(({ size }) => size ?? "no size")
      }`,
      path,
    );
  }
  return divided;
}

/** What part keys must be. */
interface KeyRules {
  /** Says what is wrong with a key. */
  problemOf?(key: string): string | undefined;
  /** Whether keys that differ only by case count as equal. */
  readonly ignoreCase?: boolean;
}

/**
 * Throws if two parts could share a key, or a part key could leave the array's
 * folder or be the key of a metadata document.
 *
 * @param chunkKeys The array's chunk key encoding.
 * @param rank The array's number of dimensions.
 * @throws {MetadataError} With the place of the suffix.
 */
export function assertPartKeys(
  parts: readonly FlatPart[],
  chunkKeys: ChunkKeys,
  rank: number,
  { problemOf = chunkKeyProblem, ignoreCase = false }: KeyRules = {},
): void {
  const samples = sampleKeys(chunkKeys, rank);
  const fold = (text: string) => ignoreCase ? text.toLowerCase() : text;
  for (const [i, { keySuffix, path }] of parts.entries()) {
    for (const sample of samples) {
      const key = sample + keySuffix;
      const problem = problemOf(key);
      if (problem === undefined) continue;
      throw new MetadataError(
        `The part key ${describe(key)} ${problem}`,
        path,
      );
    }
    for (const other of parts.slice(0, i)) {
      const [longer, shorter] = [keySuffix, other.keySuffix]
        .sort((a, b) => b.length - a.length) as [string, string];
      if (!fold(longer).endsWith(fold(shorter))) continue;
      // They share a key if a chunk key followed by the rest is a chunk key.
      const rest = longer.slice(0, longer.length - shorter.length);
      const sample = samples.find((key) =>
        isDecodable(chunkKeys, key + rest, rank)
      );
      if (sample === undefined) continue;
      throw new MetadataError(
        `Two parts could be stored under the key ${describe(sample + longer)}${
          ignoreCase
            ? " where case does not matter, as on Windows and macOS"
            : ""
        }, with the suffixes ${describe(other.keySuffix)} and ${
          describe(keySuffix)
        }, where each part needs a key of its own`,
        path,
      );
    }
  }
}

/**
 * Returns chunk keys that represent all others in checks: a text that extends any chunk
 * key to another chunk key, such as a digit, also extends one of these. Their coordinates
 * are 0, 1, as long as padding allows, or the last ones of an encoding that counts down
 * or has no further keys. Keys that a registered encoding refuses are left out.
 */
export function sampleKeys(chunkKeys: ChunkKeys, rank: number): string[] {
  const zeros = new Array<number>(rank).fill(0);
  const last = zeros.map((_, dimension) =>
    lastCoordinate(chunkKeys, zeros, dimension)
  );
  const ones = last.map((coordinate) => Math.min(coordinate, 1));
  const ends = last.some((coordinate) => coordinate < Number.MAX_SAFE_INTEGER)
    ? [0, 1].map((before) =>
      last.map((coordinate) =>
        coordinate < Number.MAX_SAFE_INTEGER
          ? Math.max(coordinate - before, 0)
          : 1
      )
    )
    : [];
  const keys = [zeros, ones, widest(chunkKeys, ones), ...ends]
    .map((coordinates) => encodeIfAble(chunkKeys, coordinates));
  return [...new Set(keys)].filter((key) => key !== undefined);
}

/** The greatest coordinate of a dimension that has keys, where those with keys follow one another from 0 on. */
function lastCoordinate(
  chunkKeys: ChunkKeys,
  zeros: readonly number[],
  dimension: number,
): number {
  let [most, least] = [Number.MAX_SAFE_INTEGER, 0];
  let middle = most;
  while (least < most) {
    const key = encodeIfAble(chunkKeys, zeros.with(dimension, middle));
    if (key === undefined) most = middle - 1;
    else least = middle;
    middle = least + Math.ceil((most - least) / 2);
  }
  return least;
}

/** Raises each coordinate to the greatest power of ten that does not make the key longer. */
function widest(
  chunkKeys: ChunkKeys,
  ones: readonly number[],
): readonly number[] {
  const length = encodeIfAble(chunkKeys, ones)?.length;
  const coordinates = [...ones];
  for (const dimension of ones.keys()) {
    for (let power = 10; Number.isSafeInteger(power); power *= 10) {
      const narrower = coordinates[dimension]!;
      coordinates[dimension] = power;
      if (encodeIfAble(chunkKeys, coordinates)?.length === length) continue;
      coordinates[dimension] = narrower;
      break;
    }
  }
  return coordinates;
}

function encodeIfAble(
  chunkKeys: ChunkKeys,
  coordinates: readonly number[],
): string | undefined {
  try {
    return chunkKeys.encode(coordinates);
  } catch {
    return undefined;
  }
}

function isDecodable(chunkKeys: ChunkKeys, key: string, rank: number): boolean {
  try {
    chunkKeys.decode(key, rank);
    return true;
  } catch (error) {
    // Decoding throws a SyntaxError for other keys than those of chunks.
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
