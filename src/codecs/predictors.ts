/** The predictors of TIFF. Rows are the elements from an axis on, in memory order. */
export interface Rows {
  /** The length of an element in bytes. */
  readonly size: number;
  /** The number of elements in a row. */
  readonly count: number;
  /** The distance between elements that are subtracted, in elements. */
  readonly distance: number;
}

/** Subtracts from each element of a row the one before it, as unsigned integers, in place. */
export function subtractElements(bytes: Uint8Array, rows: Rows): void {
  const elements = unsigned(bytes, rows.size);
  const { count, distance } = rows;
  for (let end = elements.length; end > 0; end -= count) {
    const first = end - count + distance;
    for (let i = end - 1; i >= first; i--) {
      (elements[i] as number) -= elements[i - distance] as number;
    }
  }
}

/** Reverses {@linkcode subtractElements}. */
export function addElements(bytes: Uint8Array, rows: Rows): void {
  const elements = unsigned(bytes, rows.size);
  const { count, distance } = rows;
  for (let start = 0; start < elements.length; start += count) {
    for (let i = start + distance; i < start + count; i++) {
      (elements[i] as number) += elements[i - distance] as number;
    }
  }
}

/**
 * Sorts the bytes of each row by their significance, the highest first, and subtracts
 * from each byte the one before it. Source: TIFF Technical Note 3
 */
export function shuffleBytes(bytes: Uint8Array, rows: Rows): Uint8Array {
  const { size, count } = rows;
  const shuffled = new Uint8Array(bytes.length);
  const row = size * count;
  for (let start = 0; start < bytes.length; start += row) {
    for (let byte = 0; byte < size; byte++) {
      const from = start + size - 1 - byte;
      const to = start + byte * count;
      for (let i = 0; i < count; i++) {
        shuffled[to + i] = bytes[from + i * size]!;
      }
    }
  }
  subtractElements(shuffled, { ...rows, size: 1, count: row });
  return shuffled;
}

/** Reverses {@linkcode shuffleBytes}. Changes `shuffled`. */
export function unshuffleBytes(shuffled: Uint8Array, rows: Rows): Uint8Array {
  const { size, count } = rows;
  const row = size * count;
  addElements(shuffled, { ...rows, size: 1, count: row });
  const bytes = new Uint8Array(shuffled.length);
  for (let start = 0; start < bytes.length; start += row) {
    for (let byte = 0; byte < size; byte++) {
      const to = start + size - 1 - byte;
      const from = start + byte * count;
      for (let i = 0; i < count; i++) {
        bytes[to + i * size] = shuffled[from + i]!;
      }
    }
  }
  return bytes;
}

type Unsigned = Uint8Array | Uint16Array | Uint32Array | BigUint64Array;

/** The elements as unsigned integers, which wrap around. */
function unsigned(
  { buffer, byteOffset, byteLength }: Uint8Array,
  size: number,
): Unsigned {
  const length = byteLength / size;
  switch (size) {
    case 1:
      return new Uint8Array(buffer, byteOffset, length);
    case 2:
      return new Uint16Array(buffer, byteOffset, length);
    case 4:
      return new Uint32Array(buffer, byteOffset, length);
    default:
      return new BigUint64Array(buffer, byteOffset, length);
  }
}
