import { buildTiff, type TiffEntry } from "../tiff/build_tiff.ts";

/** The bytes before the first tile. */
const HEAD = 4096;
const TILE = 16;

/** The element of a level at a place. */
export function elementAt(
  level: number,
  y: number,
  x: number,
  band = 0,
  seed = 0,
): number {
  return (101 * level + 7 * y + 3 * x + 50 * band + 13 * seed) % 256;
}

/** A TIFF of bytes in tiles of 16 × 16: a page and its overviews, which follow it. */
export function pyramidFile(
  sizes: readonly (readonly [height: number, width: number])[],
  {
    bands = 1,
    isPlanar = false,
    entries = [],
    kinds = [],
    sparse = [],
    seed = 0,
    origin = [0, 0],
    start = HEAD,
  }: {
    bands?: number;
    isPlanar?: boolean;
    /** More entries of the first page, or others in place of its own. */
    entries?: readonly TiffEntry[];
    /** The values of NewSubfileType. */
    kinds?: readonly number[];
    /** The levels without tiles. */
    sparse?: readonly number[];
    seed?: number;
    /** The place of the first element of the page itself in a picture of which it is a part. */
    origin?: readonly [y: number, x: number];
    /** Where the tiles start. */
    start?: number;
  } = {},
): Uint8Array<ArrayBuffer> {
  const tiles: Uint8Array[] = [];
  const [top, left] = origin;
  let end = start;
  const directories = sizes.map(([height, width], level) => {
    const offsets: number[] = [];
    const [planes, samples] = isPlanar ? [bands, 1] : [1, bands];
    for (let plane = 0; plane < planes; plane++) {
      for (let y = 0; y < height; y += TILE) {
        for (let x = 0; x < width; x += TILE) {
          if (sparse.includes(level)) {
            offsets.push(0);
            continue;
          }
          const tile = Uint8Array.from(
            { length: TILE * TILE * samples },
            (_, i) => {
              const band = isPlanar ? plane : i % samples;
              const pixel = Math.floor(i / samples);
              const row = top + y + Math.floor(pixel / TILE);
              const column = left + x + pixel % TILE;
              return elementAt(level, row, column, band, seed);
            },
          );
          tiles.push(tile);
          offsets.push(end);
          end += tile.length;
        }
      }
    }
    const size = TILE * TILE * samples;
    const own: TiffEntry[] = [
      [254, "long", [kinds[level] ?? (level === 0 ? 0 : 1)]],
      [256, "long", [width]],
      [257, "long", [height]],
      [258, "short", Array.from({ length: bands }, () => 8)],
      [277, "short", [bands]],
      [284, "short", [isPlanar ? 2 : 1]],
      [322, "short", [TILE]],
      [323, "short", [TILE]],
      [324, "long", offsets],
      [325, "long", offsets.map((offset) => offset === 0 ? 0 : size)],
      ...level === 0 ? entries : [],
    ];
    const changed = new Map(own.map((entry) => [entry[0], entry]));
    return { entries: [...changed.values()] };
  });
  const head = buildTiff({ directories });
  if (head.length > start) throw new RangeError("The directories are too long");
  const file = new Uint8Array(end);
  file.set(head);
  let at = start;
  for (const tile of tiles) {
    file.set(tile, at);
    at += tile.length;
  }
  return file;
}

/** Tags of GeoTIFF: pixels of 10 × 20 m in UTM zone 32N. */
export function geoEntries(
  x: number,
  y: number,
  keys: readonly number[] = [3072, 0, 1, 32632],
): TiffEntry[] {
  return [
    [33550, "double", [10, 20, 0]],
    [33922, "double", [0, 0, 0, x, y, 0]],
    [34735, "short", [1, 1, 0, keys.length / 4, ...keys]],
  ];
}
