import { type Mosaic, mosaicOf, type PlacedFile } from "../adoption/mosaic.ts";
import type { ShardIndex } from "../shards/shard_index.ts";
import { MOST_TILES } from "./page_tiles.ts";
import type { TiffShard } from "./tiff_shard.ts";

/** A file at its place in the grid. */
export interface PlacedShard extends PlacedFile {
  readonly shard: TiffShard;
}

/**
 * Finds the shape of the array that files make, which agree in all but their shapes.
 *
 * @throws {RangeError} If the files do not fit together.
 */
export function mosaicOfTiffs(files: readonly PlacedShard[]): Mosaic {
  const mosaic = mosaicOf(files, files[0]!.shard.tileShape, "tiles");
  const count = mosaic.chunksPerShard.reduce((product, n) => product * n, 1);
  if (count <= MOST_TILES) return mosaic;
  throw new RangeError(
    `Expected files of at most ${MOST_TILES} tiles, found ${count} in a file: adopt one page at a time by the option "page"`,
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
