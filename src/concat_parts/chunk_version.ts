import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import type { StoreVersion } from "../stores/store_group.ts";

/** A part of one version of a chunk. */
export interface PartVersion {
  readonly key: StoreKey;
  /** The length of the part in bytes. */
  readonly size: number;
  readonly version: StoreVersion;
}

/** The longest piece in bytes that is read at once where streams can be had. */
const SHORT = 64 * 1024;

/** Bytes of a part. */
interface Piece {
  readonly part: PartVersion;
  readonly offset: number;
  readonly length: number;
}

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
   * @returns The bytes in pieces, or `undefined` if the chunk has another version by
   * now.
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

  /** Whether the store has streams of versions. */
  get hasStreams(): boolean {
    return typeof this.#store.streamRangeOf === "function";
  }

  /**
   * Opens bytes of the chunk, as `getRange` reads them: those of long pieces as streams,
   * all of this version.
   *
   * @param options `signal` aborts the opening, but does not end the streams: cancel
   * these, which takes less time for each of their chunks.
   */
  async open(
    start: number,
    end: number,
    options: StoreOptions,
  ): Promise<(Uint8Array | ReadableStream<Uint8Array>)[] | undefined> {
    const opening = overlaps(this.#parts, start, end).map((piece) =>
      piece.length > SHORT
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

  /** Whether the chunk still has this version, so far as its last part tells. */
  async isCurrent(options: StoreOptions): Promise<boolean> {
    return await this.#read(this.#last, 0, 0, options) !== undefined;
  }

  /** Ends the use of the version. Must be called once it is not needed any more. */
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
    const memory = length <= SHORT ? new Uint8Array(length) : undefined;
    if (memory && version.readNow?.(offset, memory)) return memory;
    const range = { offset, length };
    const bytes = await this.#store.getRangeOf!(version, key, range, options);
    // The version had these bytes, so that other ones are of another version.
    return bytes?.length === length ? bytes : undefined;
  }
}

/** Returns the pieces of parts that bytes of a chunk lie in. */
export function overlaps<P extends { readonly size: number }>(
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
