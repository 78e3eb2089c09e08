import { describe } from "../metadata/describe.ts";
import { MetadataError, pointer } from "../metadata/metadata_error.ts";
import { chunkKeyProblem } from "../stores/store_key.ts";
import type { Part } from "../splitter/part.ts";

/** More parts than this make no sensible chunk, and would make the check slow. */
const MOST_PARTS = 256;

/** What the check of part keys needs of a chunk key encoding. */
interface ChunkKeys {
  encode(coordinates: readonly number[]): string;
  decode(key: string, rank?: number): number[];
}

/** What all transformers together append to a chunk key. */
interface Suffix {
  readonly text: string;
  /** Where its last piece stands in the list of storage transformers. */
  readonly path: string;
}

/**
 * Refuses storage transformers under which two parts could share a key, or a
 * part's key could leave the array's folder or be taken for metadata.
 *
 * @param transformers The storage transformers in the order of the metadata:
 * the parts of one that is `concat-parts`, `undefined` for one that is skipped.
 * @param chunkKeys The array's chunk key encoding.
 * @param rank The array's number of dimensions.
 */
export function assertPartKeys(
  transformers: readonly (readonly Part[] | undefined)[],
  chunkKeys: ChunkKeys,
  rank: number,
): void {
  const suffixes = suffixesOf(transformers);
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
 * A few keys that stand for all: what may follow a chunk key to make another one
 * (a digit) may follow any key that ends in a small coordinate. An encoding that
 * was registered may know no such coordinates.
 */
export function sampleKeys(chunkKeys: ChunkKeys, rank: number): string[] {
  return [0, 1].flatMap((coordinate) => {
    try {
      return chunkKeys.encode(new Array(rank).fill(coordinate));
    } catch {
      return [];
    }
  });
}

function suffixesOf(
  transformers: readonly (readonly Part[] | undefined)[],
): Suffix[] {
  let suffixes: Suffix[] = [{ text: "", path: "" }];
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
  return suffixes;
}

function assertUsable(key: string, path: string): void {
  const problem = chunkKeyProblem(key);
  if (problem === undefined) return;
  throw new MetadataError(`The part key ${describe(key)} ${problem}`, path);
}

/**
 * A key that one chunk has with the suffix `a` and a chunk, the same or
 * another, with the suffix `b`: for the longer suffix to be `rest + shorter`,
 * a chunk key followed by `rest` must be a chunk key too.
 */
function sharedKey(
  a: string,
  b: string,
  samples: readonly string[],
  chunkKeys: ChunkKeys,
  rank: number,
): string | undefined {
  const [longer, shorter] = a.length >= b.length ? [a, b] : [b, a];
  if (!longer.endsWith(shorter)) return undefined;
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
    // A key that is no chunk's is text that does not parse.
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}
