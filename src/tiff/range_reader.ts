import type { Extent, ReadShardRange } from "../shards/mod.ts";

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
export class RangeReader {
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
    const start = { offset: 0, length: FIRST_READ };
    await this.load([start]);
    return this.find(this.#clamp(start)) ?? new Uint8Array();
  }

  /** Returns bytes that were read before; `undefined` if some of them were not. */
  find(extent: Extent): Uint8Array<ArrayBuffer> | undefined {
    const piece = this.#pieceOf(extent);
    if (piece === undefined) return undefined;
    const start = extent.offset - piece.offset;
    return piece.bytes.subarray(start, start + extent.length);
  }

  /** Announces a range that is needed later, so that it is read with the next one. */
  announce(extent: Extent): void {
    this.#announced.push(extent);
  }

  /** Reads the announced ranges and others, up to the end of the file, unless they were read before. */
  async load(extents: readonly Extent[] = []): Promise<void> {
    const all = [...extents, ...this.#announced];
    this.#announced = [];
    const missing = all.map((extent) => this.#clamp(extent))
      .filter((extent) => extent.length > 0 && !this.#pieceOf(extent));
    await Promise.all(merged(missing).map((extent) => this.#request(extent)));
  }

  /**
   * Reads a directory and some bytes after it, the more the closer it is to the one before.
   *
   * @param least The number of bytes that are needed.
   */
  async loadDirectory(offset: number, least: number): Promise<void> {
    if (this.#pieceOf(this.#clamp({ offset, length: least }))) return;
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
    const bytes = await this.#read({ offset, length });
    if (bytes === undefined) throw new MissingFileError();
    const end = offset + bytes.length;
    if (bytes.length < length) this.#end = Math.min(this.#end, end);
    const piece = { offset, bytes: bytes as Uint8Array<ArrayBuffer> };
    this.#pieces.splice(this.#countUpTo(offset), 0, piece);
  }

  #pieceOf({ offset, length }: Extent): Piece | undefined {
    const covers = (piece: Piece | undefined) =>
      piece !== undefined && piece.offset <= offset &&
      offset + length <= piece.offset + piece.bytes.length;
    const nearest = this.#pieces[this.#countUpTo(offset) - 1];
    return covers(nearest) ? nearest : this.#pieces.find(covers);
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

  #clamp({ offset, length }: Extent): Extent {
    return {
      offset,
      length: Math.max(0, Math.min(length, this.#end - offset)),
    };
  }
}

/** Thrown if there is no file. */
export class MissingFileError extends Error {}

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
