import { sentence } from "../errors/mod.ts";
import type { Extent, ReadShardRange } from "../shards/mod.ts";
import {
  ASCII,
  decodeLong8,
  decodeValues,
  nameOfTag,
  numberOfTag,
  PLACE_TAGS,
  sizeOfType,
  type TagName,
  type TagValues,
  TiffError,
  type TiffFormat,
} from "./tiff_tags.ts";

/** The most directories that a file may have. */
const MOST_DIRECTORIES = 2 ** 20;
/** The most entries that a directory may have, as many as classic TIFF can count. */
const MOST_ENTRIES = 2 ** 16 - 1;
/** The most bytes that the values of one tag may have. */
const LONGEST_VALUE = 16 * 1024 * 1024;
/** The most bytes that all values of a file may have. */
const LONGEST_VALUES = 256 * 1024 * 1024;
/** Descriptions that are longer are left out, except that of the first page, which may hold OME-XML for all. */
const LONGEST_DESCRIPTION = 1024 * 1024;

const [LITTLE_ENDIAN, BIG_ENDIAN] = [0x4949, 0x4d4d];
const [CLASSIC, BIG] = [42, 43];

/** A directory of a TIFF. */
export interface Directory {
  readonly offset: number;
  /** The number of planes in a stack of MetaMorph. */
  readonly planes: number | undefined;
  /** The place of the directory of which this one is a sub-directory. */
  readonly parent: number | undefined;
  readonly values: ReadonlyMap<TagName, TagValues>;
  /** Why the values cannot be read. */
  readonly damage?: TiffError;
}

/** The directories of a TIFF. */
interface TiffDirectories extends TiffFormat {
  /** The directories of the chain, and then their sub-directories. */
  readonly directories: readonly Directory[];
  /** Why later directories cannot be found. */
  readonly damage?: TiffError | undefined;
}

/**
 * Reads all directories of a TIFF, up to one that is damaged.
 *
 * @param size The length of the file in bytes, if it is known.
 * @throws {TiffError} If the file is not a TIFF, or its first directory is damaged.
 */
export async function readDirectories(
  read: ReadShardRange,
  size: number | undefined,
): Promise<TiffDirectories> {
  return await new DirectoryReader(read, size).read();
}

/** An entry of a directory. */
interface Entry {
  readonly type: number;
  /** The place of the values in the file. */
  readonly extent: Extent;
}

/** A directory whose values are not read yet. */
type ListedDirectory = Omit<Directory, "values" | "damage"> & {
  /** The entries by their tags. */
  readonly entries: ReadonlyMap<TagName, Entry>;
};

class DirectoryReader {
  #isLittleEndian = true;
  #isBig = false;
  readonly #file: RangeReader;
  /** The offsets of the directories that were read, to find circles. */
  readonly #seen = new Set<number>();
  readonly #listed: ListedDirectory[] = [];
  #valueBytes = 0;

  constructor(read: ReadShardRange, size: number | undefined) {
    this.#file = new RangeReader(read, size);
  }

  /** Reads the header, all directories, and then the values of all of them together. */
  async read(): Promise<TiffDirectories> {
    let damage: TiffError | undefined;
    let next = this.#parseHeader(await this.#file.readFirst());
    try {
      while (next !== 0) next = await this.#list(next, undefined);
      await this.#listSubDirectories();
    } catch (error) {
      const isLater = error instanceof TiffError && this.#listed.length > 0;
      if (!isLater) throw error;
      damage = error;
    }
    await this.#file.load();
    return {
      isLittleEndian: this.#isLittleEndian,
      isBig: this.#isBig,
      directories: this.#listed.map((directory) => this.#valuesOf(directory)),
      damage,
    };
  }

  #valuesOf({ entries, ...directory }: ListedDirectory): Directory {
    try {
      const values = Array.from(
        entries,
        ([tag, entry]) => [tag, this.#decode(entry)] as const,
      );
      return { ...directory, values: new Map(values) };
    } catch (damage) {
      if (!(damage instanceof TiffError)) throw damage;
      return { ...directory, values: new Map(), damage };
    }
  }

  /** Returns the offset of the first directory. */
  #parseHeader(bytes: Uint8Array): number {
    if (bytes.length < 8) {
      throw new TiffError(
        `has ${bytes.length} bytes, where the header alone has 8`,
      );
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const order = view.getUint16(0);
    this.#isLittleEndian = order === LITTLE_ENDIAN;
    const version = view.getUint16(2, this.#isLittleEndian);
    const isTiff = (this.#isLittleEndian || order === BIG_ENDIAN) &&
      (version === CLASSIC || version === BIG);
    if (!isTiff) {
      const found = Array.from(
        bytes.subarray(0, 4),
        (byte) => byte.toString(16).padStart(2, "0"),
      ).join(" ");
      throw new TiffError(
        `starts with the bytes ${found}, where a TIFF starts with 49 49 2a 00 or 4d 4d 00 2a, and a BigTIFF with 2b in place of 2a`,
      );
    }
    if (version === CLASSIC) return view.getUint32(4, this.#isLittleEndian);
    const [size, zero] = [4, 6].map((at) =>
      bytes.length < 16 ? 0 : view.getUint16(at, this.#isLittleEndian)
    );
    if (size !== 8 || zero !== 0) {
      throw new TiffError(
        `is a BigTIFF with offsets of ${size} bytes, expected 8`,
      );
    }
    this.#isBig = true;
    return this.#offset(view, 8);
  }

  /** Lists a directory, and returns the offset of the next one. */
  async #list(offset: number, parent: number | undefined): Promise<number> {
    if (this.#seen.has(offset)) {
      throw new TiffError(`has a circle of directories, from ${offset} on`);
    }
    this.#seen.add(offset);
    if (this.#seen.size > MOST_DIRECTORIES) {
      throw new TiffError(`has more than ${MOST_DIRECTORIES} directories`);
    }
    const [countSize, entrySize] = this.#isBig ? [8, 20] : [2, 12];
    const head = await this.#bytesOf(offset, countSize);
    const count = this.#isBig
      ? this.#offset(head, 0)
      : head.getUint16(0, this.#isLittleEndian);
    if (count > MOST_ENTRIES) {
      throw new TiffError(
        `has a directory of ${count} entries at ${offset}, where ${MOST_ENTRIES} are the most`,
      );
    }
    const end = countSize + count * entrySize;
    const view = await this.#bytesOf(offset, end);
    const entries = new Map<TagName, Entry>();
    let planes: number | undefined;
    for (let at = countSize; at < end; at += entrySize) {
      const tag = nameOfTag(view.getUint16(at, this.#isLittleEndian));
      const type = view.getUint16(at + 2, this.#isLittleEndian);
      if (tag === undefined || sizeOfType(type) === 0) continue;
      // Some programs write the numbers of GeoTIFF as texts, which no program reads.
      if ((PLACE_TAGS as readonly string[]).includes(tag) && type === ASCII) {
        continue;
      }
      const values = this.#offset(view, at + 4);
      if (tag === "uic2") { // Each plane has six numbers, which count as one value.
        planes = values;
        continue;
      }
      const length = values * sizeOfType(type);
      const longest = this.#listed.length === 0
        ? LONGEST_VALUE
        : LONGEST_DESCRIPTION;
      const isText = tag === "description" || tag === "gdalMetadata";
      const isLeftOut = isText && length > longest;
      if (length === 0 || isLeftOut) continue;
      const extent = this.#extentOf(tag, length, view, at, offset);
      entries.set(tag, { type, extent });
    }
    this.#listed.push({ offset, parent, planes, entries });
    const pointerSize = this.#isBig ? 8 : 4;
    return this.#offset(await this.#bytesOf(offset, end + pointerSize), end);
  }

  async #bytesOf(offset: number, length: number): Promise<DataView> {
    await this.#file.loadDirectory(offset, length);
    const bytes = this.#file.find({ offset, length });
    if (bytes === undefined) {
      throw new TiffError(
        `ends before ${offset + length}, where a directory at ${offset} ends`,
      );
    }
    return new DataView(bytes.buffer, bytes.byteOffset, length);
  }

  /**
   * Returns the place of values in the file: in their entry if they fit in there.
   *
   * @param length The length of the values in bytes.
   * @param at The place of the entry in the directory.
   */
  #extentOf(
    tag: TagName,
    length: number,
    view: DataView,
    at: number,
    directory: number,
  ): Extent {
    this.#valueBytes += length;
    if (length > LONGEST_VALUE || this.#valueBytes > LONGEST_VALUES) {
      const number = numberOfTag(tag);
      throw new TiffError(
        `has ${length} bytes for the tag ${number}, where a value may take ${LONGEST_VALUE} bytes, and all values of a file ${LONGEST_VALUES}`,
      );
    }
    const pointerSize = this.#isBig ? 8 : 4;
    const pointerAt = at + 4 + pointerSize;
    if (length <= pointerSize) return { offset: directory + pointerAt, length };
    const extent = { offset: this.#offset(view, pointerAt), length };
    this.#file.announce(extent);
    return extent;
  }

  async #listSubDirectories(): Promise<void> {
    const parents = this.#listed
      .flatMap(({ entries }, parent) => {
        const entry = entries.get("subDirectories");
        return entry ? [{ parent, entry }] : [];
      });
    if (parents.length === 0) return;
    await this.#file.load();
    for (const { parent, entry } of parents) {
      for (const offset of Array.from(this.#decode(entry))) {
        // Types other than unsigned integers have other values, too.
        if (!Number.isSafeInteger(offset) || offset < 0) {
          throw new TiffError(
            sentence`has ${offset} for the tag 330, expected the offset of a directory`,
          );
        }
        if (offset !== 0) await this.#list(offset, parent);
      }
    }
  }

  /** Decodes values that were loaded. */
  #decode({ type, extent }: Entry): TagValues {
    const bytes = this.#file.find(extent);
    const { offset, length } = extent;
    if (bytes !== undefined) {
      return decodeValues(bytes, type, this.#isLittleEndian);
    }
    throw new TiffError(
      `ends before ${offset + length}, where a value of ${length} bytes ends`,
    );
  }

  /** Decodes an offset or a count. */
  #offset(view: DataView, at: number): number {
    return this.#isBig
      ? decodeLong8(view, at, this.#isLittleEndian)
      : view.getUint32(at, this.#isLittleEndian);
  }
}

/** The number of bytes that are read first, and with the first directory that is not among them. */
const FIRST_READ = 64 * 1024;
/** The number of bytes that are read with each directory that is far from the one before. */
const SMALL_READ = 16 * 1024;
/** The most bytes that are read with a directory. */
const LARGEST_READ = 1024 * 1024;
/** The most bytes from the first directory to the end of the file that are read at once. */
const LARGEST_REST = 2 * 1024 * 1024;
/** Ranges with at most this many bytes between them are read by one request. */
const LARGEST_GAP = 32 * 1024;

/** Bytes that were read, which end where the file ends. */
interface Piece {
  readonly offset: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Reads ranges of a file by few requests, and keeps all bytes that were read. */
class RangeReader {
  readonly #read: ReadShardRange;
  /** In the order of their offsets. */
  readonly #pieces: Piece[] = [];
  /** The ranges that are read with the next request. */
  #announced: Extent[] = [];
  /** The end of the file; `Infinity` until a request has shown it. */
  #end: number;
  /** The number of bytes to read with the next directory. */
  #ahead = FIRST_READ;
  /** The end of the bytes that were read with the last directory. */
  #endOfDirectory = 0;

  /** @param size The length of the file in bytes, if it is known. */
  constructor(read: ReadShardRange, size = Infinity) {
    this.#read = read;
    this.#end = size;
  }

  /** Reads the start of the file, which is at most {@linkcode FIRST_READ} bytes. */
  async readFirst(): Promise<Uint8Array> {
    await this.load([{ offset: 0, length: FIRST_READ }]);
    return this.#pieces[0]?.bytes ?? new Uint8Array();
  }

  /** Returns bytes that were read before; `undefined` if some of them were not. */
  find({ offset, length }: Extent): Uint8Array<ArrayBuffer> | undefined {
    const covers = (piece: Piece | undefined) =>
      piece !== undefined && piece.offset <= offset &&
      offset + length <= piece.offset + piece.bytes.length;
    const nearest = this.#pieces[this.#countUpTo(offset) - 1];
    const piece = covers(nearest) ? nearest : this.#pieces.find(covers);
    const start = offset - (piece?.offset ?? 0);
    return piece?.bytes.subarray(start, start + length);
  }

  /** Announces a range that is needed later, so that it is read with the next one. */
  announce(extent: Extent): void {
    this.#announced.push(extent);
  }

  /** Reads the announced ranges and others, up to the end of the file, unless they were read before. */
  async load(extents: readonly Extent[] = []): Promise<void> {
    const all = [...extents, ...this.#announced];
    this.#announced = [];
    const missing = all.flatMap(({ offset, length }) => {
      const left = Math.min(length, this.#end - offset);
      const extent = { offset, length: left };
      return left <= 0 || this.find(extent) ? [] : [extent];
    });
    await Promise.all(merged(missing).map((extent) => this.#request(extent)));
  }

  /**
   * Reads a directory and some bytes after it, the more the closer it is to the one before.
   *
   * @param least The number of bytes that are needed.
   */
  async loadDirectory(offset: number, least: number): Promise<void> {
    if (this.find({ offset, length: least })) return;
    const distance = offset - this.#endOfDirectory;
    const between = this.#announced
      .reduce((sum, { length }) => sum + length, 0);
    const isNear = distance >= 0 && distance <= LARGEST_GAP + between;
    if (this.#ahead > FIRST_READ || this.#pieces.length > 1) {
      this.#ahead = isNear
        ? Math.min(this.#ahead * 4, LARGEST_READ)
        : SMALL_READ;
    }
    // A first directory that is not at the start of the file is at its end, with its values.
    const rest = this.#pieces.length === 1 ? this.#end - offset : Infinity;
    const length = Math.max(
      least,
      rest <= LARGEST_REST ? rest : this.#ahead,
    );
    this.#endOfDirectory = offset + length;
    await this.load([{ offset, length }]);
  }

  async #request({ offset, length }: Extent): Promise<void> {
    const bytes = await this.#read({ offset, length }) ?? new Uint8Array();
    if (bytes.length < length) {
      this.#end = Math.min(this.#end, offset + bytes.length);
    }
    const piece = { offset, bytes: bytes as Uint8Array<ArrayBuffer> };
    this.#pieces.splice(this.#countUpTo(offset), 0, piece);
  }

  /** The number of pieces that start at an offset or before. */
  #countUpTo(offset: number): number {
    let [low, high] = [0, this.#pieces.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#pieces[middle]!.offset <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Joins ranges that are close to each other. */
function merged(extents: readonly Extent[]): Extent[] {
  const joined: { offset: number; length: number }[] = [];
  for (const extent of extents.toSorted((a, b) => a.offset - b.offset)) {
    const last = joined.at(-1);
    const end = last && last.offset + last.length;
    if (end === undefined || extent.offset - end > LARGEST_GAP) {
      joined.push({ ...extent });
      continue;
    }
    const newEnd = Math.max(end, extent.offset + extent.length);
    last!.length = newEnd - last!.offset;
  }
  return joined;
}
