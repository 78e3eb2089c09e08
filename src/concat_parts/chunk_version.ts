import { assertPartSize } from "../errors/mod.ts";
import type { Part } from "../splitter/mod.ts";
import {
  assertByteRange,
  type ByteRange,
  type GroupValues,
  hasGroups,
  resolveByteRange,
  type Store,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "../stores/mod.ts";
import { appliedParts } from "./flat_parts.ts";
import { Composition, READ_WHOLE, type StoredChunk } from "./stored_chunk.ts";

/** The parts of a chunk with their lengths and versions, all of one write. */
export class ChunkVersion {
  /** The length of the chunk in bytes. */
  readonly size: number;
  /** A text that no other version of the chunk has; `undefined` if a part has none. */
  readonly tag: string | undefined;
  /** When the chunk was stored, in milliseconds since 1970, if the store knows it. */
  readonly modified: number | undefined;
  /** Whether the version may be kept for long. */
  readonly isLasting: boolean;
  readonly #store: Store;
  readonly #parts: readonly PartVersion[];
  /** The part that is stored last, and that writers remove first. */
  readonly #last: PartVersion;

  /**
   * @param store The store of the parts.
   * @param parts In the order in which they make up the chunk; at least one.
   * @param last The key of the part that is stored last.
   */
  constructor(store: Store, parts: readonly PartVersion[], last: StoreKey) {
    this.#store = store;
    this.#parts = parts;
    this.#last = parts.find(({ key }) => key === last)!;
    this.size = parts.reduce((sum, { size }) => sum + size, 0);
    this.isLasting = parts.every(({ version }) => version.isLasting);
    const tags = parts.map(({ size, version: { tag } }) =>
      tag === undefined ? undefined : `${tag}-${size}`
    );
    this.tag = tags.includes(undefined) ? undefined : tags.join(".");
    const times = parts.map(({ version: { modified } }) => modified)
      .filter((time) => time !== undefined);
    this.modified = times.length > 0 ? Math.max(...times) : undefined;
  }

  /** Fills memory with bytes of the chunk at once; returns `false` if `getRange` must be called. */
  readNow(start: number, memory: Uint8Array): boolean {
    let filled = 0;
    return overlaps(this.#parts, start, start + memory.length)
      .every(({ part: { version }, offset, length }) => {
        const piece = memory.subarray(filled, filled += length);
        return version.readNow?.(offset, piece) ?? false;
      });
  }

  /**
   * Reads bytes of the chunk.
   *
   * @param start The first byte.
   * @param end The byte after the last one, at most `size`.
   * @returns The bytes in pieces, or `undefined` if the chunk now has another version.
   */
  async getRange(
    start: number,
    end: number,
    options: StoreOptions,
  ): Promise<Uint8Array[] | undefined> {
    const read = await Promise.all(
      overlaps(this.#parts, start, end).map(({ part, offset, length }) =>
        this.#read(part, offset, length, options)
      ),
    );
    return read.every((bytes) => bytes !== undefined) ? read : undefined;
  }

  /** Whether the store can stream a range of a version. */
  get hasStreams(): boolean {
    return typeof this.#store.streamRangeOf === "function";
  }

  /**
   * Opens bytes of the chunk as `getRange` reads them, with a stream for each long piece.
   *
   * @param options `signal` aborts the opening, but does not end the streams. Cancel the
   * streams instead, which costs less for each of their chunks.
   */
  async open(
    start: number,
    end: number,
    options: StoreOptions,
  ): Promise<(Uint8Array | ReadableStream<Uint8Array>)[] | undefined> {
    const opening = overlaps(this.#parts, start, end).map((piece) =>
      piece.length > SHORT_PIECE
        ? this.#stream(piece)
        : this.#read(piece.part, piece.offset, piece.length, options)
    );
    const opened = await Promise.allSettled(opening);
    const found = opened.map((each) =>
      each.status === "fulfilled" ? each.value : undefined
    );
    if (found.every((piece) => piece !== undefined)) return found;
    for (const piece of found) {
      if (piece && "getReader" in piece) await piece.cancel();
    }
    const failed = opened.find(({ status }) => status === "rejected");
    if (failed) throw (failed as PromiseRejectedResult).reason;
  }

  /** Returns whether the chunk still has this version, as its last part says. */
  async isCurrent(options: StoreOptions): Promise<boolean> {
    return await this.#read(this.#last, 0, 0, options) !== undefined;
  }

  /** Ends the use of the version. Must be called once the version is no longer needed. */
  release(): void {
    for (const { version } of this.#parts) version.release();
  }

  async #stream(
    { part: { key, version }, offset, length }: Piece,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const range = { offset, length };
    return await this.#store.streamRangeOf!(version, key, range);
  }

  async #read(
    { key, version }: PartVersion,
    offset: number,
    length: number,
    options: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    const memory = length <= SHORT_PIECE ? new Uint8Array(length) : undefined;
    if (memory && version.readNow?.(offset, memory)) return memory;
    const range = { offset, length };
    const bytes = await this.#store.getRangeOf!(version, key, range, options);
    // This version has all of these bytes: if fewer were read, they are of another version.
    return bytes?.length === length ? bytes : undefined;
  }
}

/** A part of one version of a chunk. */
interface PartVersion {
  readonly key: StoreKey;
  /** The length of the part in bytes. */
  readonly size: number;
  readonly version: StoreVersion;
}

/** The length in bytes up to which a piece is read whole although the store has streams. */
const SHORT_PIECE = 64 * 1024;

/** A range of bytes of a part. */
interface Piece {
  readonly part: PartVersion;
  readonly offset: number;
  readonly length: number;
}

/** Returns the pieces of parts in which the bytes of a chunk from `start` to `end` lie. */
function overlaps<P extends { readonly size: number }>(
  parts: readonly P[],
  start: number,
  end: number,
): { part: P; offset: number; length: number }[] {
  const pieces: { part: P; offset: number; length: number }[] = [];
  let first = 0;
  for (const part of parts) {
    const offset = Math.max(start - first, 0);
    const length = Math.min(end - first, part.size) - offset;
    if (length > 0) pieces.push({ part, offset, length });
    first += part.size;
  }
  return pieces;
}

/** The version of a chunk, and bytes of it that were read with it. */
interface FoundVersion {
  readonly version: ChunkVersion;
  /** The bytes of the range that was asked for, if one was. */
  readonly pieces: readonly Uint8Array[] | undefined;
}

/** Caches the composition of each store, which flattens the parts of its chunks. */
const compositions = /* @__PURE__ */ new WeakMap<Store, Composition>();

/**
 * Finds the parts of a value; a value that is not a chunk of a composed store is its only
 * part. Returns `undefined` if the store does not tell versions.
 */
export function versionedChunk(
  store: Store,
  key: StoreKey,
  options: StoreOptions,
): StoredChunk | undefined {
  let composition = compositions.get(store);
  if (composition === undefined) {
    composition = new Composition(
      appliedParts(store) ??
        { layers: [], below: store, isChunkKey: () => false },
    );
    compositions.set(store, composition);
  }
  const below = composition.store;
  return hasGroups(below) && typeof below.getRangeOf === "function"
    ? composition.valueAt(key, options)
    : undefined;
}

/**
 * Looks up the lengths and the versions of a chunk's parts, all of one write. The bytes
 * of a range are read with the same requests, where that is possible.
 *
 * @param range The bytes to read into memory.
 * @param needsAll Whether all bytes after the range are read later: short parts behind the
 * range are then read, too.
 * @returns The version; `undefined` for an absent chunk, and `"unknown"` if the store
 * cannot tell a later version from this one.
 */
export function findChunkVersion(
  chunk: StoredChunk,
  range?: ByteRange,
  needsAll = false,
): Promise<FoundVersion | "unknown" | undefined> {
  if (range) assertByteRange(range);
  const { parts, store, options } = chunk;
  const asked = range && chunk.flat.sums.length === 0
    ? knownPieces(parts, range, needsAll)
    : [];
  return chunk.group()!.read(async (values) => {
    const over = chunk.over(values);
    const lookedUp = await Promise.all(
      parts.map((part, i) => lookUp(over, values, part, asked[i])),
    );
    const found = await over.allOrAbsent(parts, lookedUp);
    if (found === undefined) return undefined;
    chunk.assertSums(found.map(({ size }) => size));
    const versioned = found.filter(hasVersion);
    if (versioned.length < found.length) {
      for (const { version } of versioned) version.release();
      return "unknown";
    }
    const last = chunk.keyOf(chunk.flat.storingOrder.at(-1)!);
    const version = new ChunkVersion(store, versioned, last);
    if (range === undefined) return { version, pieces: undefined };
    const { start, end } = resolveByteRange(range, version.size);
    const pieces = await Promise.all(
      overlaps(found, start, end).map(({ part, offset, length }) =>
        pieceOf(part, offset, length, values, options)
      ),
    );
    return { version, pieces };
  }, options);
}

/** The length and the version of a part, and the bytes that were read from the part. */
interface LookedUp {
  readonly key: StoreKey;
  readonly size: number;
  readonly version: StoreVersion | undefined;
  /** The offset of the bytes in the part. */
  readonly offset: number;
  readonly bytes: Uint8Array | undefined;
}

function hasVersion(
  part: LookedUp,
): part is LookedUp & { readonly version: StoreVersion } {
  return part.version !== undefined;
}

async function lookUp(
  chunk: StoredChunk,
  values: GroupValues,
  part: Part,
  piece: ByteRange | undefined,
): Promise<LookedUp | undefined> {
  const key = chunk.keyOf(part);
  const { options } = chunk;
  if (piece !== undefined && (part.size ?? Infinity) <= READ_WHOLE) {
    const bytes = await chunk.get(part);
    const size = bytes?.length;
    return size === undefined
      ? undefined
      : { key, size, version: values.version(key), offset: 0, bytes };
  }
  const bytes = piece && await values.getRange(key, piece, options);
  if (piece !== undefined && bytes === undefined) return undefined;
  const size = bytes && values.version(key)?.size ||
    await values.size(key, options);
  if (size === undefined) return undefined;
  assertPartSize(key, part.size, size);
  const version = values.version(key);
  const offset = piece ? resolveByteRange(piece, size).start : 0;
  return { key, size, version, offset, bytes };
}

/** Returns bytes of a part, and reads them unless they have been read. */
async function pieceOf(
  part: LookedUp,
  offset: number,
  length: number,
  values: GroupValues,
  options: StoreOptions,
): Promise<Uint8Array> {
  const { key, bytes } = part;
  const skip = offset - part.offset;
  if (bytes && skip >= 0 && skip + length <= bytes.length) {
    return bytes.subarray(skip, skip + length);
  }
  const range = { offset, length };
  const read = await values.getRange(key, range, options);
  assertPartSize(key, length, read?.length ?? 0);
  return read!;
}

/**
 * Returns the piece of each part that a range certainly overlaps, and `undefined` for other
 * parts. The places of the parts behind the first one without a size are unknown, or
 * those before the last one, if the range counts from the end. Short parts behind it are
 * read whole if more bytes are needed up to the end of the chunk.
 */
function knownPieces(
  parts: readonly Part[],
  range: ByteRange,
  needsAll: boolean,
): (ByteRange | undefined)[] {
  const pieces = new Array<ByteRange | undefined>(parts.length).fill(undefined);
  if ("suffixLength" in range) {
    let needed = range.suffixLength;
    for (let i = parts.length; i-- > 0 && needed > 0;) {
      const { size } = parts[i]!;
      if (size !== 0) {
        pieces[i] = { suffixLength: Math.min(needed, size ?? needed) };
      }
      if (size === undefined) break;
      needed -= size;
    }
    return pieces;
  }
  let first = 0;
  const end = range.offset + range.length;
  parts.forEach(({ size = Infinity }, i) => {
    if (first < end) {
      const offset = Math.max(range.offset - first, 0);
      const length = Math.min(end - first, size) - offset;
      if (length > 0) pieces[i] = { offset, length };
    } else if (needsAll && size <= READ_WHOLE) {
      pieces[i] = { offset: 0, length: size };
    }
    first += size;
  });
  return pieces;
}
