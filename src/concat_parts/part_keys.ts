import { describe, MetadataError, pointer } from "../errors/mod.ts";
import type { Part } from "../splitter/mod.ts";
import { chunkKeyProblem } from "../stores/mod.ts";

/** The greatest number of parts of a chunk. `assertPartKeys` compares all pairs. */
export const MOST_PARTS = 256;

/** The greatest number of storage transformers that divide a chunk. */
const MOST_TRANSFORMERS = 32;

/** The methods of a chunk key encoding that `assertPartKeys` needs. */
interface ChunkKeys {
  encode(coordinates: readonly number[]): string;
  decode(key: string, rank?: number): number[];
}

/** The text that all transformers together append to a chunk key for one part. */
interface KeySuffix {
  readonly text: string;
  /** The place of the last transformer's suffix, as a JSON pointer below the list. */
  readonly path: string;
}

/**
 * Throws if two parts could share a key, or a part key could leave the array's
 * folder or be the key of a metadata document.
 *
 * @param transformers The parts of each storage transformer, in the order of the
 * metadata; `undefined` for a transformer that is skipped.
 * @param chunkKeys The array's chunk key encoding.
 * @param rank The array's number of dimensions.
 * @throws {MetadataError} With the place of the suffix.
 */
export function assertPartKeys(
  transformers: readonly (readonly Part[] | undefined)[],
  chunkKeys: ChunkKeys,
  rank: number,
): void {
  const suffixes = keySuffixes(transformers);
  const samples = sampleKeys(chunkKeys, rank);
  suffixes.forEach((suffix, i) => {
    for (const key of samples) assertUsable(key + suffix.text, suffix.path);
    for (const other of suffixes.slice(0, i)) {
      const shared = sharedKey(
        suffix.text,
        other.text,
        samples,
        chunkKeys,
        rank,
      );
      if (shared === undefined) continue;
      throw new MetadataError(
        `Two parts could be stored under the key ${
          describe(shared)
        }, with the suffixes ${describe(other.text)} and ${
          describe(suffix.text)
        }, where each part needs a key of its own`,
        suffix.path,
      );
    }
  });
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

/**
 * Returns the texts that transformers append to a chunk key, one for each part.
 *
 * @throws {MetadataError} If there are too many parts or transformers.
 */
export function keySuffixes(
  transformers: readonly (readonly Part[] | undefined)[],
): KeySuffix[] {
  let suffixes: KeySuffix[] = [{ text: "", path: "" }];
  transformers.forEach((parts, t) => {
    if (parts === undefined) return;
    const count = suffixes.length * parts.length;
    if (count > MOST_PARTS) {
      throw new MetadataError(
        `A chunk would be stored in ${count} parts, where at most ${MOST_PARTS} are supported`,
        pointer("", t),
      );
    }
    suffixes = suffixes.flatMap((outer) =>
      parts.map(({ keySuffix }, p) => ({
        text: outer.text + keySuffix,
        path: `/${t}/configuration/parts/${p}/key_suffix`,
      }))
    );
  });
  const count = transformers.filter((parts) => parts !== undefined).length;
  if (count > MOST_TRANSFORMERS) {
    throw new MetadataError(
      `Chunks would be divided into parts by ${count} storage transformers, where at most ${MOST_TRANSFORMERS} are supported`,
    );
  }
  return suffixes;
}

function assertUsable(key: string, path: string): void {
  const problem = chunkKeyProblem(key);
  if (problem === undefined) return;
  throw new MetadataError(`The part key ${describe(key)} ${problem}`, path);
}

/**
 * Returns a key that two parts could share, one with the suffix `a` and one with the
 * suffix `b`, of the same chunk or of two chunks. Such a key exists if the longer
 * suffix is `rest + shorter` and a chunk key followed by `rest` is a chunk key.
 *
 * @param options `ignoreCase`: whether keys that differ only by case count as equal.
 */
export function sharedKey(
  a: string,
  b: string,
  samples: readonly string[],
  chunkKeys: ChunkKeys,
  rank: number,
  { ignoreCase = false }: { ignoreCase?: boolean } = {},
): string | undefined {
  const [longer, shorter] = a.length >= b.length ? [a, b] : [b, a];
  const isEnd = ignoreCase
    ? longer.toLowerCase().endsWith(shorter.toLowerCase())
    : longer.endsWith(shorter);
  if (!isEnd) return undefined;
  const rest = longer.slice(0, longer.length - shorter.length);
  const sample = samples.find((key) =>
    isDecodable(chunkKeys, key + rest, rank)
  );
  return sample === undefined ? undefined : sample + longer;
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
