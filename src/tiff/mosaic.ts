import { describe } from "../metadata/describe.ts";
import type { ShardIndex } from "../shards/shard_index.ts";
import { MOST_TILES } from "./page_tiles.ts";
import type { TiffShard } from "./tiff_shard.ts";

/** A file at its place in the grid. */
export interface PlacedShard {
  /** The file, for messages. */
  readonly name: string;
  readonly coordinates: readonly number[];
  readonly shard: TiffShard;
}

/** The shapes of an array of files. */
export interface Mosaic {
  readonly shape: readonly number[];
  readonly shardShape: readonly number[];
  readonly chunksPerShard: readonly number[];
}

/**
 * Finds the shape of the array that files make, which agree in all but their shapes.
 * Files have the same length along a dimension, except those at its end.
 *
 * @throws {RangeError} If the files do not fit together.
 */
export function mosaicOf(files: readonly PlacedShard[]): Mosaic {
  const { tileShape, shape: { length: rank } } = files[0]!.shard;
  const lengths = Array.from(
    { length: rank },
    (_, dimension) => lengthsOf(files, dimension, tileShape[dimension]!),
  );
  const chunksPerShard = lengths.map(({ shard }, i) => shard / tileShape[i]!);
  const count = chunksPerShard.reduce((product, n) => product * n, 1);
  if (count > MOST_TILES) {
    throw new RangeError(
      `Expected files of at most ${MOST_TILES} tiles, found ${count} in a file: adopt one page at a time by the option "page"`,
    );
  }
  return {
    shape: lengths.map(({ array }) => array),
    shardShape: lengths.map(({ shard }) => shard),
    chunksPerShard,
  };
}

/** The lengths of the array and of a shard along a dimension. */
function lengthsOf(
  files: readonly PlacedShard[],
  dimension: number,
  tile: number,
): { array: number; shard: number } {
  const lengthOf = ({ shard }: PlacedShard) => shard.shape[dimension]!;
  const placeOf = ({ coordinates }: PlacedShard) => coordinates[dimension]!;
  const last = files.reduce((most, file) => Math.max(most, placeOf(file)), 0);
  const edge = files.filter((file) => placeOf(file) === last);
  const inner = files.filter((file) => placeOf(file) < last);
  assertEqual(edge, dimension, lengthOf);
  const edgeLength = lengthOf(edge[0]!);
  if (last === 0) {
    return { array: edgeLength, shard: Math.ceil(edgeLength / tile) * tile };
  }
  const [first = edge[0]!] = inner;
  assertEqual(inner, dimension, lengthOf);
  const length = lengthOf(first);
  if (length % tile !== 0) {
    throw new RangeError(
      `${first.name} has ${length} elements along dimension ${dimension}, which its tiles of ${tile} do not divide, and other files follow it there: Zarr has no padding between shards; convert the files to tiles that divide them, or adopt each as an array of its own`,
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
  files: readonly PlacedShard[],
  dimension: number,
  lengthOf: (file: PlacedShard) => number,
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

/** The index of a file as a shard, which may be larger than the file. */
export function indexOf(
  { shape, tileShape, tiles }: TiffShard,
  chunksPerShard: readonly number[],
): ShardIndex {
  const counts = shape.map((length, i) => Math.ceil(length / tileShape[i]!));
  if (counts.every((count, i) => count === chunksPerShard[i])) return tiles;
  const size = chunksPerShard.reduce((product, n) => product * n, 1);
  const index: ShardIndex[number][] = new Array(size).fill(undefined);
  tiles.forEach((tile, n) => {
    let place = 0;
    let step = 1;
    for (let i = counts.length - 1; i >= 0; i--) {
      place += (n % counts[i]!) * step;
      n = Math.floor(n / counts[i]!);
      step *= chunksPerShard[i]!;
    }
    index[place] = tile;
  });
  return index;
}
