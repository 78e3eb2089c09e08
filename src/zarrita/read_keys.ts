/** The rows of a chunk: the elements at each place of its first dimension that is longer than 1. */
export interface ChunkRows {
  readonly count: number;
  /** How many of them are in the array, from the first one on. */
  readonly inArray: number;
}

/** The codecs after which rows of elements do not lie one after another. */
const REORDERING_CODECS = ["transpose", "numcodecs.shuffle"];

/**
 * The rows of a chunk that extends past the end of the array; `undefined` for another
 * chunk.
 *
 * @param first The place of its first element in the array.
 * @param codecs The names of its codecs.
 */
export function chunkRows(
  chunkShape: readonly number[],
  arrayShape: readonly number[],
  first: readonly number[],
  codecs: readonly string[],
): ChunkRows | undefined {
  const axis = chunkShape.findIndex((length) => length > 1);
  if (axis < 0) return undefined;
  const count = chunkShape[axis]!;
  const inArray = arrayShape[axis]! - first[axis]!;
  const isShort = inArray > 0 && inArray < count &&
    !codecs.some((name) => REORDERING_CODECS.includes(name));
  return isShort ? { count, inArray } : undefined;
}

/** The key under which bytes were read, and the rows that they hold of a chunk at the edge of its array. */
interface Note {
  readonly key: string;
  readonly rows: ChunkRows | undefined;
}

const notes = new WeakMap<Uint8Array, Note>();

/**
 * Notes the key that bytes were read from, for messages of codecs. zarrita gives a
 * codec no key, but the same object that the store has returned.
 *
 * @param rows The rows of a chunk at the end of an array, which may be stored without
 * those that are outside of it.
 */
export function noteKey(
  bytes: Uint8Array,
  key: string,
  rows?: ChunkRows,
): void {
  notes.set(bytes, { key, rows });
}

/** The key noted for bytes, or an empty string. */
export function keyOf(bytes: Uint8Array): string {
  return notes.get(bytes)?.key ?? "";
}

/** The rows noted for bytes. */
export function rowsOf(bytes: Uint8Array): ChunkRows | undefined {
  return notes.get(bytes)?.rows;
}

/** Gives decoded bytes the notes of the encoded ones, for the next codecs. */
export function passNotes(encoded: Uint8Array, decoded: Uint8Array): void {
  const note = notes.get(encoded);
  if (note !== undefined) notes.set(decoded, note);
}
