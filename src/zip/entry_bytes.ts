import { crc32 } from "../checksum/mod.ts";
import { assertSizeLimit, DamageError, describe } from "../errors/mod.ts";
import { rejectOnAbort } from "../runtime/mod.ts";
import type { ReadOptions, StoreKey, StoreOptions } from "../stores/mod.ts";
import {
  canInflateTo,
  inflate,
  InflateError,
  inflatePieces,
} from "./inflate.ts";
import type { ArchiveState } from "./open_archive.ts";
import type { ListedEntry } from "./entry_table.ts";
import { headerEnd, localExtraSize } from "./zip_entries.ts";
import type { Extent } from "./zip_records.ts";

/** The compression methods that are read. */
const STORED = 0;
const DEFLATED = 8;

/** Names of other methods, for messages. Source: APPNOTE.TXT, section 4.4.5. */
const METHODS: Readonly<Record<number, string>> = {
  9: "Deflate64",
  12: "bzip2",
  14: "LZMA",
  93: "zstd",
  95: "XZ",
  98: "PPMd",
  99: "AES encryption",
};

/** The flag of encrypted entries. */
const ENCRYPTED = 1;
/** The flag of entries that are differences to other files. */
const PATCHED = 1 << 5;

/** Whether the bytes of an entry are deflated. */
export function isDeflated({ method }: ListedEntry): boolean {
  return method === DEFLATED;
}

/** Returns the reason why an entry cannot be read; `undefined` if it can. */
export function obstacleOf(
  { flags, method }: ListedEntry,
): string | undefined {
  if ((flags & ENCRYPTED) !== 0) return "is encrypted";
  if ((flags & PATCHED) !== 0) return "is a patch of another file";
  if (method === STORED || method === DEFLATED) return undefined;
  const name = METHODS[method];
  return `is compressed by ${
    name === undefined ? `method ${method}` : `${name} (method ${method})`
  }`;
}

/** The bytes of inflated entries that are kept, up to this many in all. */
const MOST_KEPT = 64 * 1024 * 1024;

/** Room after the bytes of an entry, up to which they are read together with the local header. */
const LARGEST_SLACK = 4096;
/** How far into an entry a range may start to be read together with the local header. */
const NEAR_START = 32 * 1024;

/** Reads the bytes of the entries of an archive in one state. */
export class EntryBytes {
  readonly #state: ArchiveState;
  /** The lengths of the extra fields in local headers that were read, by the places of the entries. */
  readonly #extraSizes = new Map<number, number>();
  /** Inflated entries by their places, in the order of their use. */
  readonly #inflated = new Map<number, Uint8Array>();
  #inflatedSize = 0;
  /** The entries that are being inflated, by their places. */
  readonly #inflating = new Map<number, Promise<Uint8Array>>();

  constructor(state: ArchiveState) {
    this.#state = state;
  }

  /**
   * Returns the number of bytes of an entry.
   *
   * @throws {Error} If the entry cannot be read.
   * @throws {DamageError} If its numbers contradict each other.
   */
  size(entry: ListedEntry): number {
    const { name, method, size, storedSize } = entry;
    const obstacle = obstacleOf(entry);
    if (obstacle !== undefined) {
      throw new Error(
        `Entry ${describe(name)} of archive ${
          describe(this.#state.key)
        } ${obstacle}, which is not supported: unpack the archive, and pack it by zip -0`,
      );
    }
    if (method === STORED && size !== storedSize) {
      throw this.#damaged(
        entry,
        `is stored as it is, with ${storedSize} bytes of ${size}`,
      );
    }
    if (method === DEFLATED && !canInflateTo(size, storedSize)) {
      throw this.#damaged(
        entry,
        `has ${storedSize} deflated bytes, which cannot be those of ${size} bytes`,
      );
    }
    return size;
  }

  /** Reads all bytes of an entry, and checks their CRC-32. */
  async get(
    key: StoreKey,
    entry: ListedEntry,
    { limit, ...options }: StoreOptions & ReadOptions,
  ): Promise<Uint8Array> {
    const size = this.size(entry);
    assertSizeLimit(key, limit, size);
    const kept = this.#inflated.get(entry.place);
    if (kept !== undefined) return kept.slice();
    const stored = await this.#readStored(entry, 0, entry.storedSize, options);
    const bytes = isDeflated(entry)
      ? await this.#inflate(entry, stored)
      : stored;
    this.#check(entry, crc32(bytes));
    return bytes;
  }

  /** Reads the bytes of an entry from `start` to `end`. */
  async getRange(
    entry: ListedEntry,
    start: number,
    end: number,
    options: StoreOptions,
  ): Promise<Uint8Array> {
    const size = this.size(entry);
    if (start === end) return new Uint8Array();
    if (!isDeflated(entry)) {
      return await this.#readStored(entry, start, end, options);
    }
    if (size <= MOST_KEPT) {
      return (await this.#inflateOnce(entry, options)).slice(start, end);
    }
    const bytes = new Uint8Array(end - start);
    let length = 0;
    for await (const piece of this.pieces(entry, start, end, options)) {
      bytes.set(piece, length);
      length += piece.length;
    }
    return bytes;
  }

  /**
   * Reads the bytes of an entry from `start` to `end` piece by piece. If these are all
   * bytes, an error follows the last one if their CRC-32 is wrong.
   */
  async *pieces(
    entry: ListedEntry,
    start: number,
    end: number,
    options: StoreOptions,
  ): AsyncGenerator<Uint8Array, void> {
    const size = this.size(entry);
    const isWhole = start === 0 && end === size;
    let crc = 0;
    let at = 0;
    for await (const piece of this.#piecesFrom(entry, start, end, options)) {
      const first = isDeflated(entry) ? start - at : 0;
      at += piece.length;
      // Before the reader of the piece may change it.
      if (isWhole) crc = crc32(piece, crc);
      const wanted = isDeflated(entry)
        ? piece.subarray(Math.max(first, 0), Math.max(first + end - start, 0))
        : piece;
      if (wanted.length > 0) yield wanted;
      if (!isWhole && isDeflated(entry) && at >= end) return;
    }
    if (isWhole) this.#check(entry, crc);
  }

  /** The stored bytes of a range, or the inflated bytes from the first one. */
  async *#piecesFrom(
    entry: ListedEntry,
    start: number,
    end: number,
    options: StoreOptions,
  ): AsyncGenerator<Uint8Array, void> {
    const offset = await this.#offset(entry, options);
    if (!isDeflated(entry)) {
      const extent = { offset: offset + start, length: end - start };
      yield* this.#state.pieces(extent, options);
      return;
    }
    const source = this.#state.pieces(
      { offset, length: entry.storedSize },
      options,
    );
    try {
      yield* inflatePieces(source, entry.size);
    } catch (error) {
      throw this.#inflateError(entry, error);
    }
  }

  /**
   * Returns where the bytes of a stored entry lie in the file, if this is known without a
   * request.
   */
  knownOffset(entry: ListedEntry): number | undefined {
    const extraSize = entry.slack === 0 ? 0 : this.#extraSizes.get(entry.place);
    return extraSize === undefined ? undefined : headerEnd(entry) + extraSize;
  }

  /** Reads bytes of an entry as they are stored. */
  async #readStored(
    entry: ListedEntry,
    start: number,
    end: number,
    options: StoreOptions,
  ): Promise<Uint8Array> {
    const known = this.knownOffset(entry);
    if (known !== undefined) {
      return await this.#state
        .read({ offset: known + start, length: end - start }, options);
    }
    const nearest = headerEnd(entry);
    if (entry.slack > LARGEST_SLACK) {
      const offset = await this.#offset(entry, options) + start;
      return await this.#state.read({ offset, length: end - start }, options);
    }
    // The bytes begin up to `slack` bytes later.
    const length = end - start + entry.slack;
    if (start <= NEAR_START) {
      const { offset } = entry;
      const read = await this.#state
        .read({ offset, length: nearest - offset + start + length }, options);
      const header = read.subarray(0, nearest - offset);
      const first = header.length + this.#note(entry, header) + start;
      return read.slice(first, first + end - start);
    }
    const [offset, read] = await Promise.all([
      this.#offset(entry, options),
      this.#state.read({ offset: nearest + start, length }, options),
    ]);
    return read.slice(offset - nearest, offset - nearest + end - start);
  }

  /** Finds where the bytes of an entry begin in the file. */
  async #offset(entry: ListedEntry, options: StoreOptions): Promise<number> {
    const known = this.knownOffset(entry);
    if (known !== undefined) return known;
    const { offset } = entry;
    const extent: Extent = { offset, length: headerEnd(entry) - offset };
    const header = await this.#state.read(extent, options);
    return headerEnd(entry) + this.#note(entry, header);
  }

  /** Notes the length of the extra field in a local header. */
  #note(entry: ListedEntry, header: Uint8Array): number {
    const size = localExtraSize(this.#state, entry, header);
    this.#extraSizes.set(entry.place, size);
    return size;
  }

  /** Inflates an entry, once for all that wait, and keeps it for further ranges. */
  async #inflateOnce(
    entry: ListedEntry,
    { signal }: StoreOptions,
  ): Promise<Uint8Array> {
    const kept = this.#inflated.get(entry.place);
    if (kept !== undefined) {
      this.#inflated.delete(entry.place);
      this.#inflated.set(entry.place, kept);
      return kept;
    }
    let inflating = this.#inflating.get(entry.place);
    if (inflating === undefined) {
      inflating = this.#inflateToKeep(entry)
        .finally(() => this.#inflating.delete(entry.place));
      this.#inflating.set(entry.place, inflating);
    }
    return await rejectOnAbort(inflating, signal);
  }

  async #inflateToKeep(entry: ListedEntry): Promise<Uint8Array> {
    const stored = await this.#readStored(entry, 0, entry.storedSize, {});
    const bytes = await this.#inflate(entry, stored);
    this.#check(entry, crc32(bytes));
    this.#inflated.set(entry.place, bytes);
    this.#inflatedSize += bytes.length;
    for (const [oldest, { length }] of this.#inflated) {
      if (this.#inflatedSize <= MOST_KEPT) break;
      this.#inflated.delete(oldest);
      this.#inflatedSize -= length;
    }
    return bytes;
  }

  async #inflate(
    entry: ListedEntry,
    deflated: Uint8Array,
  ): Promise<Uint8Array> {
    try {
      return await inflate(deflated, entry.size);
    } catch (error) {
      throw this.#inflateError(entry, error);
    }
  }

  #inflateError(entry: ListedEntry, error: unknown): unknown {
    if (!(error instanceof InflateError)) return error;
    return this.#damaged(
      entry,
      `has deflated bytes that ${error.message}`,
    );
  }

  #check(entry: ListedEntry, crc: number): void {
    if (crc === entry.checksum) return;
    const hex = (number: number) => number.toString(16).padStart(8, "0");
    throw this.#damaged(
      entry,
      `has the CRC-32 ${hex(crc)}, where the directory says ${
        hex(entry.checksum)
      }: it was changed after it was written; get the archive again`,
    );
  }

  #damaged({ name }: ListedEntry, problem: string): DamageError {
    const { key, folder: { path } } = this.#state;
    return new DamageError(
      `Entry ${describe(name)} of archive ${describe(key)} ${problem}`,
      { key: `/${name.slice(path.length)}` },
    );
  }
}
