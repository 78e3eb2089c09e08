import { crc32 } from "../checksum/mod.ts";
import { assertSizeLimit, DamageError, sentence } from "../errors/mod.ts";
import { rejectOnAbort } from "../runtime/mod.ts";
import type {
  Backend,
  ReadOptions,
  StoreKey,
  StoreOptions,
  StoreVersion,
} from "../stores/mod.ts";
import {
  assertLocalHeader,
  type EntryTable,
  headerEnd,
  type ListedEntry,
  wholeRange,
} from "./zip_directory.ts";
import { canInflateTo, inflate, inflatePieces } from "./inflate.ts";
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

/** The latest version of the format, times 10; other programs refuse later ones, too. */
const LATEST_VERSION = 63;
/** The flags of encrypted entries; the second is that of strong encryption. */
const ENCRYPTED = 1 | 1 << 6;
/** The flag of entries that are differences to other files. */
const PATCHED = 1 << 5;

/** Whether the bytes of an entry are deflated. */
export function isDeflated({ method }: ListedEntry): boolean {
  return method === DEFLATED;
}

/** Returns the reason why an entry cannot be read; `undefined` if it can. */
export function obstacleOf(
  { version, flags, method }: ListedEntry,
): string | undefined {
  if (version > LATEST_VERSION) {
    return `needs version ${version / 10} of the format`;
  }
  if ((flags & ENCRYPTED) !== 0) return "is encrypted";
  if ((flags & PATCHED) !== 0) return "is a patch of another file";
  if (method === STORED || method === DEFLATED) return undefined;
  const name = METHODS[method];
  return name === undefined
    ? `is compressed by method ${method}`
    : `is compressed by ${name} (method ${method})`;
}

/** The folder of an archive whose entries are shown. */
export interface ArchiveFolder {
  /** The path of the folder with `/` at its end; empty for the root of the archive. */
  readonly path: string;
  /** The folders at the root of the archive that hold a node, if none is at the root. */
  readonly nodes: readonly string[];
}

/** Thrown by reads of an archive if the file has changed. */
export class StateChangedError extends Error {}

/** The bytes of inflated entries that are kept, up to this many in all. */
const MOST_KEPT = 64 * 1024 * 1024;
/** Room after the bytes of an entry, up to which they are read together with the local header. */
const LARGEST_SLACK = 4096;
/** How far into an entry a range may start to be read together with the local header. */
const NEAR_START = 32 * 1024;
/** The length in bytes of the pieces of streams. */
const PIECE = 1024 * 1024;
/** Local headers with at most this many bytes between them are read by one request. */
const LARGEST_GAP = 32 * 1024;
/** The most bytes that are read at once for local headers, unless one is longer. */
const LARGEST_READ = 1024 * 1024;

/** One state of an archive: its directory, and the bytes of its entries. */
export class Archive {
  readonly #backend: Backend;
  readonly key: StoreKey;
  /** The length of the file in bytes. */
  readonly size: number;
  /** The entries by name. */
  readonly entries: EntryTable;
  readonly folder: ArchiveFolder;
  readonly comment: Uint8Array;
  /** A text that no other directory has. */
  readonly digest: string;
  /** The version of the file, if the store has versions and the state is in use. */
  version: StoreVersion | undefined;
  /** Whether the version is released or another one, so that the directory must be compared again. */
  isStale = false;
  /** When the file was last known to have this state, by `Date.now()`. */
  seen: number = Date.now();
  #readers = 0;
  /** Where the bytes of entries begin whose local headers were read, by the numbers of the entries. */
  readonly #offsets = new Map<number, number>();
  /** Inflated entries by their numbers, in the order of their use. */
  readonly #inflated = new Map<
    number,
    { readonly size: number; readonly bytes: Promise<Uint8Array> }
  >();
  #inflatedSize = 0;

  constructor(
    backend: Backend,
    key: StoreKey,
    contents: Pick<
      Archive,
      "size" | "entries" | "folder" | "comment" | "digest"
    >,
  ) {
    this.#backend = backend;
    this.key = key;
    this.size = contents.size;
    this.entries = contents.entries;
    this.folder = contents.folder;
    this.comment = contents.comment;
    this.digest = contents.digest;
  }

  /** Whether reads use the state. */
  get isUsed(): boolean {
    return this.#readers > 0;
  }

  /** Begins a use of the state, and returns what ends it. The last use closes a file that is held open. */
  keep(): () => void {
    this.#readers++;
    let isKept = true;
    return () => {
      if (!isKept) return;
      isKept = false;
      const isLasting = this.version?.isLasting === true && !this.isStale;
      if (--this.#readers === 0 && !isLasting) this.release();
    };
  }

  /** Ends the use of the version of the file. */
  release(): void {
    if (this.version === undefined) return;
    this.version.release();
    this.version = undefined;
    this.isStale = true;
  }

  /** Finds the entry of a key of the folder that is shown. */
  find(key: StoreKey): ListedEntry | undefined {
    return this.entries.get(this.folder.path + key.slice(1));
  }

  /** The key of an entry in the folder that is shown. */
  keyOf({ name }: Pick<ListedEntry, "name">): StoreKey {
    return `/${name.slice(this.folder.path.length)}`;
  }

  /** Whether the file still has this state, as far as the store can detect it. */
  async isCurrent(options: StoreOptions): Promise<boolean> {
    if (this.version === undefined) return true;
    const nothing = { offset: 0, length: 0 };
    const found = await this.#backend
      .readOf!(this.version, this.key, nothing, options);
    if (found !== undefined) this.seen = Date.now();
    return found !== undefined;
  }

  /**
   * Returns the number of bytes of an entry.
   *
   * @throws {Error} If the entry cannot be read.
   * @throws {DamageError} If its numbers contradict each other.
   */
  sizeOf(entry: ListedEntry): number {
    const { name, method, size, storedSize } = entry;
    const obstacle = obstacleOf(entry);
    if (obstacle !== undefined) {
      throw new Error(
        sentence`Entry ${name} of archive ${this.key} ` +
          `${obstacle}, which is not supported: unpack the archive, and pack it by zip -0`,
      );
    }
    if (method === STORED && size !== storedSize) {
      throw this.damaged(
        entry,
        `is stored as it is, with ${storedSize} bytes of ${size}`,
      );
    }
    if (method === DEFLATED && !canInflateTo(size, storedSize)) {
      throw this.damaged(
        entry,
        `has ${storedSize} deflated bytes, which cannot be those of ${size} bytes`,
      );
    }
    return size;
  }

  /**
   * Refuses an entry whose bytes are not in the file as they are.
   *
   * @throws {RangeError} If the entry is compressed or encrypted, or one of several of one
   * name.
   */
  assertStored(entry: ListedEntry): void {
    const { name } = entry;
    const obstacle = obstacleOf(entry) ??
      (isDeflated(entry) ? "is compressed by deflate" : undefined);
    const problem = this.entries.isTwice(name)
      ? "is there twice: write the file again, with each entry once"
      : obstacle &&
        `${obstacle}: unpack the file, and pack it by zip -0, since only bytes that are stored as they are can be inner chunks`;
    if (problem !== undefined) {
      throw new RangeError(
        sentence`File ${this.key} has the entry ${name}, which ` + problem,
      );
    }
    this.sizeOf(entry);
  }

  /** Reads all bytes of an entry, and checks their CRC-32. */
  async get(
    entry: ListedEntry,
    { limit, ...options }: StoreOptions & ReadOptions,
  ): Promise<Uint8Array> {
    assertSizeLimit(this.keyOf(entry), limit, this.sizeOf(entry));
    const kept = this.#inflated.get(entry.index);
    if (kept !== undefined) {
      return (await rejectOnAbort(kept.bytes, options.signal)).slice();
    }
    return await this.#readWhole(entry, options);
  }

  /** Reads the bytes of an entry from `start` to `end`. */
  async getRange(
    entry: ListedEntry,
    start: number,
    end: number,
    options: StoreOptions,
  ): Promise<Uint8Array> {
    const size = this.sizeOf(entry);
    if (start === end) return new Uint8Array();
    if (!isDeflated(entry)) {
      return await this.#readStored(entry, start, end, options);
    }
    if (size <= MOST_KEPT) {
      const { bytes } = this.#inflateToKeep(entry);
      return (await rejectOnAbort(bytes, options.signal)).slice(start, end);
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
    const size = this.sizeOf(entry);
    const isWhole = start === 0 && end === size;
    let crc = 0;
    let at = isDeflated(entry) ? 0 : start;
    for await (const piece of this.#piecesFrom(entry, start, end, options)) {
      // Before the reader of the piece may change it.
      if (isWhole) crc = crc32(piece, crc);
      const wanted = piece.subarray(
        Math.max(start - at, 0),
        Math.max(end - at, 0),
      );
      at += piece.length;
      if (wanted.length > 0) yield wanted;
      if (!isWhole && at >= end) return;
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
      yield* this.#filePieces(offset + start, offset + end, options);
      return;
    }
    const stored = offset + entry.storedSize;
    const source = this.#filePieces(offset, stored, options);
    yield* inflatePieces(source, entry.size, this.#damageOf(entry));
  }

  async *#filePieces(
    start: number,
    end: number,
    options: StoreOptions,
  ): AsyncGenerator<Uint8Array, void> {
    for (let offset = start; offset < end; offset += PIECE) {
      const length = Math.min(PIECE, end - offset);
      yield await this.#read({ offset, length }, options);
    }
  }

  /** Reads the local headers of entries in the order of the file, neighbouring ones by one request. */
  async *headers(
    entries: readonly ListedEntry[],
    options: StoreOptions,
  ): AsyncGenerator<{ entry: ListedEntry; header: Uint8Array }, void> {
    for (const run of runsOf(entries)) {
      const { offset } = run[0]!;
      const length = headerEnd(run.at(-1)!) - offset;
      const bytes = await this.#read({ offset, length }, options);
      for (const entry of run) {
        const [start, end] = [entry.offset, headerEnd(entry)];
        yield { entry, header: bytes.subarray(start - offset, end - offset) };
      }
    }
  }

  /**
   * Reads a range of the file.
   *
   * @throws {StateChangedError} If the file has another version by now.
   * @throws {DamageError} If the file is shorter than it was.
   */
  async #read(range: Extent, options: StoreOptions): Promise<Uint8Array> {
    if (range.length === 0) return new Uint8Array();
    const { key, version } = this;
    const bytes = version === undefined
      ? await this.#backend.read(
        [key],
        (values) => values.read(key, range),
        options,
      )
      : await this.#backend.readOf!(version, key, range, options);
    if (bytes === undefined) throw new StateChangedError();
    this.seen = Date.now();
    return wholeRange(this, range, bytes);
  }

  /** Reads bytes of an entry as they are stored. */
  async #readStored(
    entry: ListedEntry,
    start: number,
    end: number,
    options: StoreOptions,
  ): Promise<Uint8Array> {
    const isNear = start <= NEAR_START && entry.slack <= LARGEST_SLACK;
    if (this.#offsets.has(entry.index) || !isNear) {
      // Without room for more than a name, the bytes begin after it.
      const first = entry.slack === 0
        ? headerEnd(entry)
        : await this.#offset(entry, options);
      const extent = { offset: first + start, length: end - start };
      return await this.#read(extent, options);
    }
    // Together with the header, after which the bytes begin up to `slack` bytes later.
    const { offset, slack } = entry;
    const nearest = headerEnd(entry) - offset;
    const read = await this.#read(
      { offset, length: nearest + end + slack },
      options,
    );
    const first = this.startOf(entry, read.subarray(0, nearest)) - offset;
    return read.slice(first + start, first + end);
  }

  /** Finds where the bytes of an entry begin in the file. */
  async #offset(entry: ListedEntry, options: StoreOptions): Promise<number> {
    const known = this.#offsets.get(entry.index);
    if (known !== undefined) return known;
    const { offset } = entry;
    const extent = { offset, length: headerEnd(entry) - offset };
    return this.startOf(entry, await this.#read(extent, options));
  }

  /**
   * Finds where the bytes of an entry begin in the file.
   *
   * @throws {DamageError} If its local header contradicts the directory.
   */
  startOf(entry: ListedEntry, header: Uint8Array): number {
    const offset = headerEnd(entry) + assertLocalHeader(this, entry, header);
    this.#offsets.set(entry.index, offset);
    return offset;
  }

  async #readWhole(
    entry: ListedEntry,
    options: StoreOptions,
  ): Promise<Uint8Array> {
    const stored = await this.#readStored(entry, 0, entry.storedSize, options);
    const bytes = isDeflated(entry)
      ? await inflate(stored, entry.size, this.#damageOf(entry))
      : stored;
    this.#check(entry, crc32(bytes));
    return bytes;
  }

  /** Inflates an entry, once for all that wait, and keeps it for further ranges. */
  #inflateToKeep(entry: ListedEntry): { readonly bytes: Promise<Uint8Array> } {
    const { index, size } = entry;
    let kept = this.#inflated.get(index);
    if (kept === undefined) {
      kept = { size, bytes: this.#readWhole(entry, {}) };
      kept.bytes.catch(() => this.#drop(index, kept!.bytes));
      this.#inflatedSize += size;
    }
    this.#inflated.delete(index);
    this.#inflated.set(index, kept);
    for (const [oldest, { bytes }] of this.#inflated) {
      if (this.#inflatedSize <= MOST_KEPT) break;
      this.#drop(oldest, bytes);
    }
    return kept;
  }

  #drop(index: number, bytes: Promise<Uint8Array>): void {
    const kept = this.#inflated.get(index);
    if (kept?.bytes !== bytes) return;
    this.#inflated.delete(index);
    this.#inflatedSize -= kept.size;
  }

  #damageOf(entry: ListedEntry): (problem: string) => DamageError {
    return (problem) =>
      this.damaged(entry, `has deflated bytes that ${problem}`);
  }

  #check(entry: ListedEntry, crc: number): void {
    if (crc === entry.checksum) return;
    const [found, expected] = [crc, entry.checksum]
      .map((number) => number.toString(16).padStart(8, "0"));
    throw this.damaged(
      entry,
      `has the CRC-32 ${found}, where the directory says ${expected}: it was changed after it was written; get the archive again`,
    );
  }

  /** An error about an entry. */
  damaged(entry: ListedEntry, problem: string): DamageError {
    return new DamageError(
      sentence`Entry ${entry.name} of archive ${this.key} ` + problem,
      { key: this.keyOf(entry) },
    );
  }
}

/** Puts entries together whose local headers are close to each other. */
function runsOf(entries: readonly ListedEntry[]): ListedEntry[][] {
  const runs: ListedEntry[][] = [];
  for (const entry of [...entries].sort((a, b) => a.offset - b.offset)) {
    const run = runs.at(-1);
    const isClose = run !== undefined &&
      entry.offset - headerEnd(run.at(-1)!) <= LARGEST_GAP &&
      headerEnd(entry) - run[0]!.offset <= LARGEST_READ;
    if (isClose) run.push(entry);
    else runs.push([entry]);
  }
  return runs;
}
