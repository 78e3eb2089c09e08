import { assertByteRange } from "../stores/byte_range.ts";
import { readRange } from "../stores/capabilities.ts";
import type { ByteRange } from "../stores/store.ts";
import { joinBytes } from "./join_bytes.ts";
import type { Part } from "./part.ts";
import { assertPartSize, PartSizeError } from "./part_size_error.ts";
import { readChunkSize } from "./read_chunk.ts";
import type { StoredChunk } from "./stored_chunk.ts";

/**
 * Up to this size a sized part is read whole even if a piece of it would do:
 * its length is then checked without a second request.
 */
const READ_WHOLE = 64 * 1024;

/** A range of bytes of one part that the range asked for touches. */
interface Piece {
  readonly part: Part;
  readonly range: ByteRange;
}

/**
 * A range of the chunk, from the parts it touches. The length of an unsized
 * part is not asked for: the part itself shows where it ends, by giving fewer
 * bytes than it was asked for.
 */
export async function readChunkRange(
  chunk: StoredChunk,
  range: ByteRange,
): Promise<Uint8Array | undefined> {
  assertByteRange(range);
  const pieces = "suffixLength" in range
    ? await readBackwards(chunk, range.suffixLength)
    : range.length > 0
    ? await readForwards(chunk, range.offset, range.length)
    : [];
  if (pieces === undefined) return undefined;
  if (pieces.length === 1) return pieces[0];
  if (pieces.length > 1) return joinBytes(pieces);
  // Nothing was touched: an empty range, or one past the end of sized parts.
  const size = await readChunkSize(chunk);
  return size === undefined ? undefined : new Uint8Array(0);
}

async function readForwards(
  chunk: StoredChunk,
  start: number,
  length: number,
): Promise<Uint8Array[] | undefined> {
  const end = Math.min(start + length, Number.MAX_SAFE_INTEGER);
  const found: Uint8Array[] = [];
  const rest = [...chunk.parts];
  let offset = 0; // of the first part of `rest`, in the chunk
  while (rest.length > 0 && offset < end) {
    const run: Piece[] = [];
    let unsized: { part: Part; from: number; to: number } | undefined;
    while (rest.length > 0 && offset < end && unsized === undefined) {
      const part = rest.shift()!;
      const from = Math.max(start - offset, 0);
      const to = Math.min(end - offset, part.size ?? Infinity);
      if (from < to) {
        run.push({ part, range: { offset: from, length: to - from } });
      }
      if (part.size === undefined) unsized = { part, from, to };
      else offset += part.size;
    }
    const read = await readPieces(chunk, run);
    if (read === undefined) return undefined;
    found.push(...read);
    if (unsized === undefined || rest.length === 0) continue;
    const { part, from, to } = unsized;
    const { length } = read.at(-1)!;
    if (length === to - from) break;
    // It was shorter than asked for, and so ends behind the last byte it gave.
    // Without one it ends somewhere before `from`: only its size tells where.
    const size = length > 0 || from === 0
      ? from + length
      : await chunk.size(part);
    if (await chunk.allOrAbsent([part], [size]) === undefined) return undefined;
    offset += size!;
  }
  return found;
}

async function readBackwards(
  chunk: StoredChunk,
  suffixLength: number,
): Promise<Uint8Array[] | undefined> {
  const found: Uint8Array[] = [];
  const rest = [...chunk.parts];
  let needed = suffixLength;
  while (rest.length > 0 && needed > 0) {
    const run: Piece[] = [];
    let unsized = false;
    while (rest.length > 0 && needed > 0 && !unsized) {
      const part = rest.pop()!;
      unsized = part.size === undefined;
      if (part.size === undefined) {
        run.unshift({ part, range: { suffixLength: needed } });
      } else if (part.size > 0) {
        const length = Math.min(needed, part.size);
        run.unshift({ part, range: { offset: part.size - length, length } });
        needed -= length;
      }
    }
    const read = await readPieces(chunk, run);
    if (read === undefined) return undefined;
    found.unshift(...read);
    if (unsized) needed -= read[0]!.length;
  }
  return found;
}

async function readPieces(
  chunk: StoredChunk,
  run: readonly Piece[],
): Promise<Uint8Array[] | undefined> {
  const read = await Promise.all(run.map((piece) => readPiece(chunk, piece)));
  return await chunk.allOrAbsent(run.map((piece) => piece.part), read);
}

async function readPiece(
  chunk: StoredChunk,
  { part, range }: Piece,
): Promise<Uint8Array | undefined> {
  const { store, options } = chunk;
  const key = chunk.keyOf(part);
  const length = "offset" in range ? range.length : range.suffixLength;
  if (part.size === undefined) {
    const bytes = await readRange(store, key, range, options);
    if (bytes !== undefined && bytes.length > length) {
      throw new PartSizeError(
        `The store gave ${bytes.length} bytes of ${
          JSON.stringify(key)
        }, where ${length} were asked for`,
        { key, expected: length, actual: bytes.length },
      );
    }
    return bytes;
  }
  const { offset } = range as { offset: number };
  const readWhole = part.size <= READ_WHOLE || length === part.size ||
    store.getRange === undefined || store.size === undefined;
  if (readWhole) {
    return (await chunk.get(part))?.subarray(offset, offset + length);
  }
  const [bytes, size] = await Promise.all([
    readRange(store, key, range, options),
    chunk.size(part),
  ]);
  if (bytes === undefined || size === undefined) return undefined;
  assertPartSize(key, length, bytes.length);
  return bytes;
}
