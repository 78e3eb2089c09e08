import { describe } from "../errors/mod.ts";
import { greatestDivisor } from "../tiff/mod.ts";

/** A file at its place in the grid. */
export interface MosaicFile {
  /** The name of the file in messages, such as `File "/c/0/1.tiff"`. */
  readonly name: string;
  readonly coordinates: readonly number[];
  /** The shape of the array in the file. */
  readonly shape: readonly number[];
}

/** The shapes of an array of files. */
export interface Mosaic {
  readonly shape: readonly number[];
  readonly shardShape: readonly number[];
  readonly chunksPerShard: readonly number[];
}

/**
 * Finds the shape of the array that files make. Files have the same length along a
 * dimension, except those at its end, which may be shorter.
 *
 * @param files At least one file, all of the rank of `chunkShape`.
 * @param chunkShape The shape of inner chunks.
 * @param pieces What inner chunks are in the files, for messages, such as `tiles`.
 * @throws {RangeError} If the files do not fit together.
 */
export function mosaicOf(
  files: readonly MosaicFile[],
  chunkShape: readonly number[],
  pieces: string,
): Mosaic {
  const lengths = chunkShape.map((chunk, dimension) =>
    lengthsOf(files, dimension, { chunk, pieces })
  );
  return {
    shape: lengths.map(({ array }) => array),
    shardShape: lengths.map(({ shard }) => shard),
    chunksPerShard: lengths.map(({ shard }, i) => shard / chunkShape[i]!),
  };
}

/** The lengths of the array and of a shard along a dimension. */
function lengthsOf(
  files: readonly MosaicFile[],
  dimension: number,
  { chunk, pieces }: { chunk: number; pieces: string },
): { array: number; shard: number } {
  const lengthOf = ({ shape }: MosaicFile) => shape[dimension]!;
  const placeOf = ({ coordinates }: MosaicFile) => coordinates[dimension]!;
  const last = files.reduce((most, file) => Math.max(most, placeOf(file)), 0);
  const edge = files.filter((file) => placeOf(file) === last);
  const inner = files.filter((file) => placeOf(file) < last);
  assertEqual(edge, dimension, lengthOf);
  const edgeLength = lengthOf(edge[0]!);
  if (last === 0) {
    const count = Math.max(1, Math.ceil(edgeLength / chunk));
    return { array: edgeLength, shard: count * chunk };
  }
  const [first = edge[0]!] = inner;
  assertEqual(inner, dimension, lengthOf);
  const length = lengthOf(first);
  if (length === 0 || length % chunk !== 0) {
    throw new RangeError(
      `${first.name} has ${length} elements along dimension ${dimension}, which its ${pieces} of ${chunk} do not divide, and other files follow it there: Zarr has no padding between shards; convert the files to ${pieces} that divide them, or adopt each as an array of its own`,
    );
  }
  if (edgeLength > length) {
    throw new RangeError(
      `${
        edge[0]!.name
      } has ${edgeLength} elements along dimension ${dimension}, where those before it have ${length}: only a shorter file can be the last one`,
    );
  }
  return { array: last * length + edgeLength, shard: length };
}

function assertEqual(
  files: readonly MosaicFile[],
  dimension: number,
  lengthOf: (file: MosaicFile) => number,
): void {
  const [first] = files;
  const other = files.find((file) => lengthOf(file) !== lengthOf(first!));
  if (other === undefined) return;
  throw new RangeError(
    `${first!.name} has ${
      lengthOf(first!)
    } elements along dimension ${dimension}, and ${other.name} has ${
      lengthOf(other)
    }, at ${describe(first!.coordinates)} and ${
      describe(other.coordinates)
    }: files of one array have the same length, except those at its end`,
  );
}

/**
 * Returns notes on dimensions along which no file has the grid coordinate 0, or all files
 * leave the same gaps.
 */
export function notesOnGaps(
  files: readonly Pick<MosaicFile, "coordinates">[],
): string[] {
  return files[0]!.coordinates.flatMap((_, dimension) => {
    const all = files.map(({ coordinates }) => coordinates[dimension]!);
    const places = [...new Set(all)].sort((a, b) => a - b);
    const [first = 0] = places;
    const gap = places.length < 3
      ? 1
      : places.reduce((sum, c) => greatestDivisor(sum, c - first), 0);
    return [
      ...first > 0
        ? [
          `The first file along dimension ${dimension} has the grid coordinate ${first}: elements before it have the fill value`,
        ]
        : [],
      ...gap > 1
        ? [
          `The files along dimension ${dimension} are ${gap} grid coordinates apart: elements between them have the fill value`,
        ]
        : [],
    ];
  });
}
