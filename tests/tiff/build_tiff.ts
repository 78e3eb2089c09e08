/** The types of values by their codes and sizes in bytes. */
const TYPES = {
  byte: [1, 1],
  ascii: [2, 1],
  short: [3, 2],
  long: [4, 4],
  rational: [5, 8],
  signedByte: [6, 1],
  undefined: [7, 1],
  signedShort: [8, 2],
  signedLong: [9, 4],
  signedRational: [10, 8],
  float: [11, 4],
  double: [12, 8],
  ifd: [13, 4],
  long8: [16, 8],
  signedLong8: [17, 8],
  ifd8: [18, 8],
  unknown: [99, 4],
} as const;

/** An entry: the tag, the type, and the values, or the count and the offset that it claims. */
export type TiffEntry = readonly [
  tag: number,
  type: keyof typeof TYPES,
  values: readonly number[] | string | { count: number; offset: number },
];

export interface TiffDirectory {
  readonly entries: readonly TiffEntry[];
  /** The offset of the next directory, if it is not that of the next one in the list. */
  readonly next?: number;
  /** The number of entries that the directory claims to have. */
  readonly count?: number;
}

/** Builds a TIFF of directories, each followed by its values. Entries are not sorted. */
export function buildTiff(
  { isLittle = true, isBig = false, start = isBig ? 16 : 8, directories, size }:
    {
      isLittle?: boolean;
      isBig?: boolean;
      /** The offset of the first directory. */
      start?: number;
      directories: readonly TiffDirectory[];
      /** The length of the file. Defaults to the end of the last value. */
      size?: number;
    },
): Uint8Array<ArrayBuffer> {
  const pointer = isBig ? 8 : 4;
  const [countSize, entrySize] = isBig ? [8, 20] : [2, 12];
  const sizeOf = ([, type, values]: TiffEntry) =>
    typeof values === "string" || Array.isArray(values)
      ? (values as string).length * TYPES[type][1]
      : 0;
  const outside = (entry: TiffEntry) =>
    sizeOf(entry) > pointer ? sizeOf(entry) + sizeOf(entry) % 2 : 0;
  const lengths = directories.map(({ entries }) =>
    countSize + entries.length * entrySize + pointer +
    entries.reduce((sum, entry) => sum + outside(entry), 0)
  );
  const starts = lengths.map((_, i) =>
    lengths.slice(0, i).reduce((sum, length) => sum + length, start)
  );
  const end = start + lengths.reduce((sum, length) => sum + length, 0);
  const bytes = new Uint8Array(Math.max(end, size ?? 0));
  const view = new DataView(bytes.buffer);
  const put = (at: number, length: number, value: number) => {
    if (length === 1) view.setUint8(at, value);
    else if (length === 2) view.setUint16(at, value, isLittle);
    else if (length === 4) view.setUint32(at, value, isLittle);
    else view.setBigUint64(at, BigInt(value), isLittle);
  };
  bytes.set(isLittle ? [0x49, 0x49] : [0x4d, 0x4d]);
  put(2, 2, isBig ? 43 : 42);
  if (isBig) put(4, 2, 8);
  put(isBig ? 8 : 4, pointer, directories.length === 0 ? 0 : start);
  directories.forEach(({ entries, next, count }, i) => {
    let at = starts[i]!;
    put(at, countSize, count ?? entries.length);
    at += countSize;
    let valuesAt = at + entries.length * entrySize + pointer;
    for (const entry of entries) {
      const [tag, type, values] = entry;
      const [code, typeSize] = TYPES[type];
      put(at, 2, tag);
      put(at + 2, 2, code);
      if (typeof values === "object" && "count" in values) {
        put(at + 4, pointer, values.count);
        put(at + 4 + pointer, pointer, values.offset);
      } else {
        put(at + 4, pointer, values.length);
        let to = at + 4 + pointer;
        if (outside(entry) > 0) {
          put(to, pointer, valuesAt);
          to = valuesAt;
          valuesAt += outside(entry);
        }
        for (const value of values) {
          const number = typeof value === "string"
            ? value.charCodeAt(0)
            : value;
          if (type === "double") view.setFloat64(to, number, isLittle);
          else if (type === "float") view.setFloat32(to, number, isLittle);
          else if (type === "rational" || type === "signedRational") {
            put(to, 4, 4 * number); // A fraction of fourths.
            put(to + 4, 4, 4);
          } else put(to, typeSize, number);
          to += typeSize;
        }
      }
      at += entrySize;
    }
    put(at, pointer, next ?? starts[i + 1] ?? 0);
  });
  return size === undefined ? bytes : bytes.subarray(0, size);
}
