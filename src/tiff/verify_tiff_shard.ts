import { sentence } from "../errors/mod.ts";
import type { ArrayMetadata } from "../metadata/mod.ts";
import type { ReadShardRange, ShardIndex } from "../shards/mod.ts";
import { readDirectories } from "./directory_reader.ts";
import {
  pictureFields,
  pictureOf,
  type TiffArray,
  tilePlaces,
  tryTiffArray,
} from "./tiff_array.ts";
import { PageTags, TiffError } from "./tiff_tags.ts";

/** A shard that may be a TIFF. */
interface StoredShard {
  /** The grid coordinates. */
  readonly coordinates: readonly number[];
  readonly index: ShardIndex;
  /** The length in bytes, without the index. */
  readonly size: number;
  /** Whether the shard must be a TIFF, and not only may be one. */
  readonly isExpected: boolean;
  readonly read: ReadShardRange;
}

/** Whether a file starts as each TIFF does. */
export async function isTiff(read: ReadShardRange): Promise<boolean> {
  const start = await read({ offset: 0, length: 4 });
  return /^(?:II[*+]\0|MM\0[*+])$/.test(String.fromCharCode(...start ?? []));
}

/**
 * Compares the directories of a shard that `tiffContainer` wrote with those that it would
 * write: the pages, the tags that other programs decode tiles by, and the places of the tiles.
 *
 * @returns The difference, as the end of a sentence that starts with the name of the shard;
 * `undefined` if there is none, or the shard is no TIFF.
 */
export async function tiffShardProblem(
  metadata: ArrayMetadata,
  shard: StoredShard,
): Promise<string | undefined> {
  const { index, coordinates, size, isExpected, read } = shard;
  if (!isExpected && !await isTiff(read)) return undefined;
  // The place of the bands is in no metadata.
  const arrays = ([undefined, "last", "first"] as const).flatMap((bands) =>
    tryTiffArray(metadata, { bands }) ?? []
  );
  if (arrays.length === 0) return undefined;
  let file: Awaited<ReturnType<typeof readDirectories>>;
  try {
    file = await readDirectories(read, size);
  } catch (error) {
    if (error instanceof TiffError) return error.message;
    throw error;
  }
  const damage = file.damage ??
    file.directories.find(({ damage }) => damage)?.damage;
  if (damage !== undefined) return damage.message;
  const pages = file.directories.map(({ values }) => new PageTags(values));
  const problems = arrays.map((array) =>
    problemOf(array, coordinates, index, pages)
  );
  if (!problems.includes(undefined)) return problems[0];
  const [first] = file.directories;
  const end = index.reduce(
    (end, tile) => tile ? Math.max(end, tile.offset + tile.length) : end,
    0,
  );
  const isAtStart = index.every((tile) =>
    tile === undefined || tile.offset > first!.offset
  );
  return isAtStart && end > 0 && end !== size
    ? `has ${size} bytes, where its last tile ends at ${end}`
    : undefined;
}

/** The tags by which other programs decode tiles; the colors of the bands are in no metadata. */
const DECODING = [
  "width",
  "height",
  "bitsPerSample",
  "compression",
  "samplesPerPixel",
  "planarConfiguration",
  "predictor",
  "tileWidth",
  "tileHeight",
  "sampleFormat",
] as const;

function problemOf(
  array: TiffArray,
  coordinates: readonly number[],
  index: ShardIndex,
  pages: readonly PageTags[],
): string | undefined {
  const picture = pictureOf(array, coordinates);
  const places = tilePlaces(array, picture);
  // Files of other programs may have strips, and pages of other pictures.
  if (pages.some((tags) => tags.list("stripOffsets"))) return undefined;
  if (pages.length < places.length) {
    return `has ${pages.length} pages, expected ${places.length}`;
  }
  const fields = pictureFields(array, picture);
  for (const [page, tiles] of places.entries()) {
    const tags = pages[page]!;
    for (const name of DECODING) {
      const [expected = 1] = fields[name] ?? [];
      const found = tags.same(name, 1);
      if (found === expected) continue;
      return `has ${name} ` +
        sentence`${found} in page ${page}, expected ${expected}`;
    }
    const offsets = tags.list("tileOffsets") ?? [];
    const lengths = tags.list("tileByteCounts") ?? [];
    const wrong = tiles.findIndex((place, i) => {
      const tile = index[place];
      return tile !== undefined &&
        (tile.offset !== offsets[i] || tile.length !== lengths[i]);
    });
    if (wrong >= 0) {
      const { offset, length } = index[tiles[wrong]!]!;
      return sentence`has ${lengths[wrong]} bytes at ${
        offsets[wrong]
      } as the tile ${wrong} of page ${page}, where the index has ${length} bytes at ${offset}`;
    }
  }
  return undefined;
}
