import { assertPartSize } from "../errors/mod.ts";
import { copyBytes, joinBytes } from "../runtime/mod.ts";
import {
  type ByteSource,
  JoinedSource,
  joinedStream,
  openNative,
  type Part,
  settingsOf,
  sourceOf,
} from "../splitter/mod.ts";
import {
  assertByteRange,
  type ByteRange,
  readRange,
  readStream,
  toStream,
} from "../stores/mod.ts";
import { READ_WHOLE, type StoredChunk } from "./stored_chunk.ts";

/** Reads a whole chunk, all parts at once. */
export function readChunk(
  chunk: StoredChunk,
): Promise<Uint8Array | undefined> {
  return chunk.read(async (chunk) => {
    const pieces = await readAtOnce(
      chunk,
      chunk.parts,
      (chunk, part) => chunk.get(part),
    );
    if (pieces === undefined) return undefined;
    chunk.assertSums(pieces.map(({ length }) => length));
    return pieces.length === 1 ? pieces[0] : joinBytes(pieces);
  });
}

/** Reads the length of a chunk: the sum of the lengths of its parts. */
export function readChunkSize(
  chunk: StoredChunk,
): Promise<number | undefined> {
  return chunk.read(async (chunk) => {
    const read = await Promise.all(chunk.parts.map((part) => chunk.size(part)));
    const sizes = await chunk.allOrAbsent(chunk.parts, read);
    if (sizes === undefined) return undefined;
    chunk.assertSums(sizes);
    return sizes.reduce((sum, size) => sum + size, 0);
  });
}

/**
 * The time in milliseconds after a missing part was noticed until the sizes of the parts
 * that are still being read are looked up. By then, most reads have ended, also those of
 * an absent chunk.
 */
const PATIENCE = 100;

/**
 * Reads parts of a chunk at the same time. If the chunk turns out to be damaged or
 * incomplete, the remaining reads are aborted.
 *
 * @param read Reads one part of the given chunk, with the options of that chunk.
 * @returns The bytes in the order of `parts`, or `undefined` if no part is stored.
 * @throws {MissingPartError} If some parts are stored and others are not.
 */
async function readAtOnce(
  chunk: StoredChunk,
  parts: readonly Part[],
  read: (
    chunk: StoredChunk,
    part: Part,
    index: number,
  ) => Promise<Uint8Array | undefined>,
): Promise<Uint8Array[] | undefined> {
  if (parts.length === 0) return [];
  if (parts.length === 1) {
    const bytes = await read(chunk, parts[0]!, 0);
    return bytes === undefined
      ? await chunk.allOrAbsent<Uint8Array>(parts, [bytes])
      : [bytes];
  }
  const controller = new AbortController();
  const { signal } = chunk.options;
  const abort = () => controller.abort(signal!.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort);
  const reading = chunk.over(chunk.store, {
    ...chunk.options,
    signal: controller.signal,
  });
  try {
    const reads = parts.map((part, i) => read(reading, part, i));
    return await chunk.allOrAbsent(parts, await results(chunk, parts, reads));
  } catch (error) {
    controller.abort(error);
    throw error;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

/** Waits for all reads, or until it is certain that a part is missing. */
function results(
  chunk: StoredChunk,
  parts: readonly Part[],
  reads: readonly Promise<Uint8Array | undefined>[],
): Promise<(Uint8Array | undefined)[]> {
  return new Promise((resolve, reject) => {
    const found = new Map<Part, Uint8Array | undefined>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const findMissing = () => {
      chunk.allOrAbsent([...found.keys()], [...found.values()]).catch(reject);
    };
    reads.forEach((each, i) =>
      each.then((result) => {
        found.set(parts[i]!, result);
        if (found.size === reads.length) {
          clearTimeout(timer);
          resolve(parts.map((part) => found.get(part)));
        } else if (result === undefined) {
          timer ??= setTimeout(findMissing, PATIENCE);
        }
      }).catch((error) => {
        clearTimeout(timer);
        reject(error);
      })
    );
  });
}

/**
 * Reads a range of a chunk from the parts that it overlaps. The length of an
 * unsized part is not looked up: the part returns fewer bytes than requested if it
 * ends within the range.
 *
 * In a store with groups, a range of one part alone is read without the group, since
 * the bytes of one part always belong to one write.
 */
export async function readChunkRange(
  chunk: StoredChunk,
  range: ByteRange,
): Promise<Uint8Array | undefined> {
  assertByteRange(range);
  if (chunk.needsGroup && chunk.flat.sums.length === 0) {
    const only = onlyPiece(chunk.parts, range);
    const bytes = only && await readPiece(chunk, only);
    if (bytes !== undefined && bytes.length >= only!.least) return bytes;
  }
  return await chunk.read(async (chunk) => {
    if (chunk.flat.sums.length > 0) await readChunkSize(chunk);
    return "suffixLength" in range
      ? await readBackwards(chunk, range.suffixLength)
      : await readForwards(chunk, range.offset, endOf(range));
  });
}

/** The bytes of one part that lie in a requested range. */
interface Piece {
  readonly part: Part;
  readonly range: ByteRange;
}

/** A piece that may be all of a requested range. */
interface OnlyPiece extends Piece {
  /** The number of bytes from which on the bytes of the piece are the whole range. */
  readonly least: number;
}

/** Returns the end of a range, at most 2^53−1. */
function endOf(
  { offset, length }: { offset: number; length: number },
): number {
  return offset + Math.min(length, Number.MAX_SAFE_INTEGER - offset);
}

/** Returns the piece of the only part that a range needs, if there may be such a part. */
function onlyPiece(
  parts: readonly Part[],
  range: ByteRange,
): OnlyPiece | undefined {
  return "suffixLength" in range
    ? lastPiece(parts, range.suffixLength)
    : pieceFrom(parts, range.offset, endOf(range));
}

function pieceFrom(
  parts: readonly Part[],
  start: number,
  end: number,
): OnlyPiece | undefined {
  if (start >= end) return undefined;
  const last = parts.length - 1;
  for (let i = 0, offset = 0; i <= last; offset += parts[i++]!.size!) {
    const part = parts[i]!;
    const { size = Infinity } = part;
    if (start >= offset + size) continue;
    if (end > offset + size && i < last) return undefined;
    const length = Math.min(end, offset + size) - start;
    const range = { offset: start - offset, length };
    // The last part may end within the range, which then ends with it.
    const least = part.size === undefined && i === last ? 0 : length;
    return { part, range, least };
  }
}

function lastPiece(
  parts: readonly Part[],
  suffixLength: number,
): OnlyPiece | undefined {
  if (suffixLength === 0) return undefined;
  const last = parts.findLastIndex(({ size }) => size !== 0);
  if (last < 0) return undefined;
  const part = parts[last]!;
  if (part.size === undefined) {
    const least = last === 0 ? 0 : suffixLength;
    return { part, range: { suffixLength }, least };
  }
  if (suffixLength > part.size && last > 0) return undefined;
  const length = Math.min(suffixLength, part.size);
  return { part, range: { offset: part.size - length, length }, least: length };
}

/** Returns the bytes of a range from those of the parts that it overlaps. */
async function joined(
  chunk: StoredChunk,
  found: readonly Uint8Array[],
): Promise<Uint8Array | undefined> {
  if (found.length > 0) return joinBytes(found);
  // The range is empty, or starts after the last part.
  const size = await readChunkSize(chunk);
  return size === undefined ? undefined : new Uint8Array(0);
}

/** Reads the bytes from `start` to `end`. */
async function readForwards(
  chunk: StoredChunk,
  start: number,
  end: number,
): Promise<Uint8Array | undefined> {
  const { parts } = chunk;
  const found: Uint8Array[] = [];
  let next = 0;
  let offset = 0; // The offset of the next part in the chunk.
  while (start < end && offset < end && next < parts.length) {
    // The parts up to the next unsized one are read at once.
    const pieces: Piece[] = [];
    let last: Part;
    do {
      last = parts[next++]!;
      const from = Math.max(start - offset, 0);
      const to = Math.min(end - offset, last.size ?? Infinity);
      if (from < to) {
        pieces.push({ part: last, range: { offset: from, length: to - from } });
      }
      offset += last.size ?? 0;
    } while (last.size !== undefined && next < parts.length);
    const read = await readPieces(chunk, pieces);
    if (read === undefined) return undefined;
    found.push(...read);
    if (last.size !== undefined || offset >= end || next === parts.length) {
      break;
    }
    // The unsized part ends after the last byte that it returned, unless it filled
    // the range, and then `offset` reaches `end`. If it returned no byte and the range
    // starts after its first byte, its size is looked up.
    const from = Math.max(start - offset, 0);
    const { length } = read.at(-1)!;
    if (offset + from + length === end) break;
    const size = length > 0 || from === 0
      ? from + length
      : await chunk.size(last);
    if (await chunk.allOrAbsent([last], [size]) === undefined) return undefined;
    offset += size!;
  }
  return found.length === 1 ? found[0] : await joined(chunk, found);
}

/** Reads the last bytes. */
async function readBackwards(
  chunk: StoredChunk,
  suffixLength: number,
): Promise<Uint8Array | undefined> {
  const found: Uint8Array[] = [];
  const { parts } = chunk;
  let next = parts.length;
  let needed = suffixLength;
  while (needed > 0 && next > 0) {
    // The parts back to the previous unsized one are read at once.
    const pieces: Piece[] = [];
    let part: Part;
    do {
      part = parts[--next]!;
      if (part.size === undefined) {
        pieces.unshift({ part, range: { suffixLength: needed } });
      } else if (part.size > 0) {
        const length = Math.min(needed, part.size);
        const offset = part.size - length;
        pieces.unshift({ part, range: { offset, length } });
        needed -= length;
      }
    } while (part.size !== undefined && needed > 0 && next > 0);
    const read = await readPieces(chunk, pieces);
    if (read === undefined) return undefined;
    found.unshift(...read);
    // An unsized part that returned fewer bytes than needed was read whole.
    if (pieces[0]?.part.size === undefined) needed -= read[0]?.length ?? 0;
  }
  return found.length === 1 ? found[0] : await joined(chunk, found);
}

function readPieces(
  chunk: StoredChunk,
  pieces: readonly Piece[],
): Promise<Uint8Array[] | undefined> {
  return readAtOnce(
    chunk,
    pieces.map(({ part }) => part),
    (chunk, _, i) => readPiece(chunk, pieces[i]!),
  );
}

function readPiece(
  chunk: StoredChunk,
  { part, range }: Piece,
): Promise<Uint8Array | undefined> {
  if (part.size !== undefined) return readSizedPiece(chunk, part, range);
  return readRange(chunk.store, chunk.keyOf(part), range, chunk.options);
}

async function readSizedPiece(
  chunk: StoredChunk,
  part: Part,
  range: ByteRange,
): Promise<Uint8Array | undefined> {
  const { store, options } = chunk;
  const key = chunk.keyOf(part);
  const { offset, length } = range as { offset: number; length: number };
  const readWhole = part.size! <= READ_WHOLE || length === part.size ||
    store.getRange === undefined || store.size === undefined;
  if (readWhole) {
    const whole = await chunk.get(part);
    // A view of a few bytes would keep the whole part in memory.
    return length === part.size
      ? whole
      : whole && copyBytes(whole, offset, offset + length);
  }
  const [bytes, size] = await Promise.all([
    readRange(store, key, range, options),
    chunk.size(part),
  ]);
  if (bytes === undefined || size === undefined) return undefined;
  assertPartSize(key, length, bytes.length);
  return bytes;
}

/**
 * Opens a chunk as a stream. All parts are opened at once, so that a missing part
 * is an error here and not in the middle of the stream. Small parts are read and
 * checked before the stream starts.
 */
export function streamChunk(
  chunk: StoredChunk,
): Promise<ReadableStream<Uint8Array> | undefined> {
  return chunk.read(openParts);
}

async function openParts(
  chunk: StoredChunk,
): Promise<ReadableStream<Uint8Array> | undefined> {
  if (chunk.flat.sums.length > 0) await readChunkSize(chunk);
  const opening = chunk.parts.map((part) => openPart(chunk, part));
  try {
    const opened = await Promise.all(opening);
    const sources = await chunk.allOrAbsent(chunk.parts, opened);
    return sources && concatenated(chunk, sources);
  } catch (error) {
    // Close the parts that are open, and those that open later.
    for (const part of opening) {
      part.then((source) => source?.cancel(error)).catch(() => {});
    }
    throw error;
  }
}

async function openPart(
  chunk: StoredChunk,
  part: Part,
): Promise<ByteSource | undefined> {
  if (part.size !== undefined && part.size <= READ_WHOLE) {
    const bytes = await chunk.get(part);
    return bytes && sourceOf(toStream(bytes));
  }
  const key = chunk.keyOf(part);
  const stream = await readStream(chunk.store, key, chunk.options);
  return stream && sourceOf(stream);
}

function concatenated(
  { parts, key, options }: StoredChunk,
  sources: readonly ByteSource[],
): ReadableStream<Uint8Array> {
  const settings = settingsOf(parts, [], { key, signal: options.signal });
  return joinedStream(
    new JoinedSource(settings, openNative, {
      open: (part) => sources[part]!,
      cancel(reason) {
        for (const source of sources) source.cancel(reason);
      },
    }),
  );
}
