/** A field of a TIFF directory: its tag, its type and its values. */
export type Field =
  | readonly [tag: number, type: "ascii", text: string]
  | readonly [
    tag: number,
    type: "short" | "long" | "rational" | "double" | "offset",
    values: readonly number[],
  ];

/** How the numbers of a TIFF are written. */
export interface TiffFormat {
  readonly isLittleEndian: boolean;
  readonly isBig: boolean;
}

const CODES = { ascii: 2, short: 3, long: 4, rational: 5, double: 12 } as const;
const SIZES = { ascii: 1, short: 2, long: 4, rational: 8, double: 8 } as const;
/** The type LONG8 of BigTIFF. */
const LONG8 = 16;

/** The size of the header of a TIFF. */
export function headerSize({ isBig }: TiffFormat): number {
  return isBig ? 16 : 8;
}

/** Encodes the header of a TIFF. `first` is the offset of the first directory. */
export function encodeHeader(format: TiffFormat, first: number): Uint8Array {
  const { isLittleEndian, isBig } = format;
  const bytes = new Uint8Array(headerSize(format));
  const view = new DataView(bytes.buffer);
  view.setUint16(0, isLittleEndian ? 0x4949 : 0x4d4d);
  view.setUint16(2, isBig ? 43 : 42, isLittleEndian);
  if (isBig) view.setUint16(4, 8, isLittleEndian);
  writeOffset(view, isBig ? 8 : 4, first, format);
  return bytes;
}

/**
 * Encodes the directories of a TIFF, one for each page.
 *
 * @param start The even offset of the first directory in the file.
 */
export function encodeDirectories(
  pages: readonly (readonly Field[])[],
  start: number,
  format: TiffFormat,
): Uint8Array {
  const sizes = pages.map((fields) => directorySize(fields, format));
  const bytes = new Uint8Array(sizes.reduce((sum, size) => sum + size, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  pages.forEach((fields, page) => {
    const end = at + sizes[page]!;
    const next = page + 1 < pages.length ? start + end : 0;
    encodeDirectory(view, at, fields, { start, next, format });
    at = end;
  });
  return bytes;
}

/** The size of a directory with all its values, an even number of bytes. */
function directorySize(fields: readonly Field[], format: TiffFormat): number {
  return fields.reduce((sum, field) => {
    const size = valueSize(field, format);
    return size <= inlineSize(format) ? sum : sum + even(size);
  }, tableSize(fields.length, format));
}

/** The size of a directory without the values that do not fit into it. */
function tableSize(count: number, { isBig }: TiffFormat): number {
  return isBig ? 8 + 20 * count + 8 : 2 + 12 * count + 4;
}

/** The most bytes of values that a field holds itself. */
function inlineSize({ isBig }: TiffFormat): number {
  return isBig ? 8 : 4;
}

function encodeDirectory(
  view: DataView,
  from: number,
  unsorted: readonly Field[],
  { start, next, format }: { start: number; next: number; format: TiffFormat },
): void {
  const { isLittleEndian, isBig } = format;
  const fields = unsorted.toSorted(([a], [b]) => a - b);
  let at = from;
  if (isBig) view.setBigUint64(at, BigInt(fields.length), isLittleEndian);
  else view.setUint16(at, fields.length, isLittleEndian);
  at += isBig ? 8 : 2;
  let outside = from + tableSize(fields.length, format);
  for (const field of fields) {
    const [tag, type] = field;
    view.setUint16(at, tag, isLittleEndian);
    view.setUint16(at + 2, codeOf(type, format), isLittleEndian);
    writeOffset(view, at + 4, countOf(field), format);
    const values = at + (isBig ? 12 : 8);
    const size = valueSize(field, format);
    if (size <= inlineSize(format)) writeValues(view, values, field, format);
    else {
      writeOffset(view, values, start + outside, format);
      writeValues(view, outside, field, format);
      outside += even(size);
    }
    at += isBig ? 20 : 12;
  }
  writeOffset(view, at, next, format);
}

function writeValues(
  view: DataView,
  at: number,
  field: Field,
  format: TiffFormat,
): void {
  const { isLittleEndian } = format;
  if (field[1] === "ascii") {
    const text = new TextEncoder().encode(field[2]);
    new Uint8Array(view.buffer, view.byteOffset).set(text, at);
    return;
  }
  const [, type, values] = field;
  for (const value of values) {
    if (type === "short") view.setUint16(at, value, isLittleEndian);
    else if (type === "double") view.setFloat64(at, value, isLittleEndian);
    else if (type === "offset") writeOffset(view, at, value, format);
    else view.setUint32(at, value, isLittleEndian);
    // A rational has two values.
    at += type === "rational" ? 4 : sizeOf(type, format);
  }
}

function writeOffset(
  view: DataView,
  at: number,
  offset: number,
  { isLittleEndian, isBig }: TiffFormat,
): void {
  if (isBig) view.setBigUint64(at, BigInt(offset), isLittleEndian);
  else view.setUint32(at, offset, isLittleEndian);
}

function countOf([, type, values]: Field): number {
  if (type === "ascii") return new TextEncoder().encode(values).length + 1;
  return type === "rational" ? values.length / 2 : values.length;
}

function valueSize(field: Field, format: TiffFormat): number {
  return countOf(field) * sizeOf(field[1], format);
}

function sizeOf(type: Field[1], { isBig }: TiffFormat): number {
  return type === "offset" ? (isBig ? 8 : 4) : SIZES[type];
}

function codeOf(type: Field[1], { isBig }: TiffFormat): number {
  return type === "offset" ? (isBig ? LONG8 : CODES.long) : CODES[type];
}

/** Rounds up to an even number, as offsets in a TIFF are. */
export function even(size: number): number {
  return size + size % 2;
}
