import {
  encodeField,
  numberOfTag,
  type TiffFormat,
  type WrittenTag,
} from "./tiff_tags.ts";

/** The values of the tags of a page: texts and numbers. Those of `undefined` are left out. */
export type PageFields = {
  readonly [Name in WrittenTag]?: string | ArrayLike<number> | undefined;
};

/** The size of the header of a TIFF. */
export function headerSize({ isBig }: TiffFormat): number {
  return isBig ? 16 : 8;
}

/**
 * Encodes the header of a TIFF.
 *
 * @param first The offset of the first directory.
 */
export function encodeHeader(format: TiffFormat, first: number): Uint8Array {
  const { isLittleEndian, isBig } = format;
  const bytes = new Uint8Array(headerSize(format));
  const view = new DataView(bytes.buffer);
  view.setUint16(0, isLittleEndian ? 0x4949 : 0x4d4d);
  view.setUint16(2, isBig ? 43 : 42, isLittleEndian);
  if (isBig) view.setUint16(4, 8, isLittleEndian);
  writeOffset(view, isBig ? 8 : 4, first, format);
  return bytes;
}

/** The extents of the tiles of a page in a directory: where their offsets and their lengths are. */
interface TilePlaces {
  readonly offsets: number;
  readonly lengths: number;
}

/**
 * The directories of a TIFF, one for each page, without what depends on their place in the file
 * and on the places of the tiles.
 */
export interface DirectoryLayout {
  readonly format: TiffFormat;
  /** The length of all directories, an even number of bytes. */
  readonly size: number;
  readonly bytes: Uint8Array;
  /** Where offsets are that count from the first directory, and what they are. */
  readonly pointers: readonly (readonly [at: number, target: number])[];
  /** Those of each page. */
  readonly tiles: readonly TilePlaces[];
}

/**
 * Lays out directories.
 *
 * @param pages The fields of each page. The values of the tags of tiles are written later.
 */
export function layOutDirectories(
  pages: readonly PageFields[],
  format: TiffFormat,
): DirectoryLayout {
  const { isLittleEndian, isBig } = format;
  const [countSize, entrySize, offsetSize] = isBig ? [8, 20, 8] : [2, 12, 4];
  const directories = pages.map((fields) => {
    const encoded = Object.entries(fields)
      .flatMap(([name, values]) =>
        values === undefined
          ? []
          : [encodeField(name as WrittenTag, values, format)]
      )
      .sort((a, b) => a.tag - b.tag);
    const tableSize = countSize + entrySize * encoded.length + offsetSize;
    const size = encoded.reduce(
      (sum, { bytes: { length } }) =>
        length > offsetSize ? sum + even(length) : sum,
      tableSize,
    );
    return { encoded, tableSize, size };
  });
  const size = directories.reduce((sum, { size }) => sum + size, 0);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  const pointers: (readonly [number, number])[] = [];
  const tiles: TilePlaces[] = [];
  let start = 0;
  for (const [page, { encoded, tableSize, size }] of directories.entries()) {
    const end = start + size;
    const places = new Map<number, number>();
    if (isBig) view.setBigUint64(start, BigInt(encoded.length), isLittleEndian);
    else view.setUint16(start, encoded.length, isLittleEndian);
    let at = start + countSize;
    let outside = start + tableSize;
    for (const { tag, type, count, bytes: values } of encoded) {
      view.setUint16(at, tag, isLittleEndian);
      view.setUint16(at + 2, type, isLittleEndian);
      writeOffset(view, at + 4, count, format);
      let place = at + 4 + offsetSize;
      if (values.length > offsetSize) {
        pointers.push([place, outside]);
        place = outside;
        outside += even(values.length);
      }
      places.set(tag, place);
      bytes.set(values, place);
      at += entrySize;
    }
    if (page + 1 < pages.length) pointers.push([at, end]);
    tiles.push({
      offsets: places.get(numberOfTag("tileOffsets"))!,
      lengths: places.get(numberOfTag("tileByteCounts"))!,
    });
    start = end;
  }
  return { format, size, bytes, pointers, tiles };
}

/** The extent of a tile in a file; offset and length are 0 for a sparse tile. */
export interface Tile {
  readonly offset: number;
  readonly length: number;
}

/**
 * Encodes directories that lie somewhere in a file.
 *
 * @param start The even offset of the first directory.
 * @param tiles The extents of the tiles of each page.
 */
export function encodeDirectories(
  { format, bytes, pointers, tiles: places }: DirectoryLayout,
  start: number,
  tiles: readonly (readonly Tile[])[],
): Uint8Array {
  const encoded = bytes.slice();
  const view = new DataView(encoded.buffer);
  for (const [at, target] of pointers) {
    writeOffset(view, at, start + target, format);
  }
  const step = format.isBig ? 8 : 4;
  tiles.forEach((page, i) => {
    const { offsets, lengths } = places[i]!;
    page.forEach(({ offset, length }, tile) => {
      writeOffset(view, offsets + tile * step, offset, format);
      writeOffset(view, lengths + tile * step, length, format);
    });
  });
  return encoded;
}

function writeOffset(
  view: DataView,
  at: number,
  offset: number,
  { isLittleEndian, isBig }: TiffFormat,
): void {
  if (isBig) view.setBigUint64(at, BigInt(offset), isLittleEndian);
  else view.setUint32(at, offset, isLittleEndian);
}

/** Rounds up to an even number, as offsets in a TIFF are. */
export function even(size: number): number {
  return size + size % 2;
}
