/** The elements of a chunk. Strides are in elements. */
export interface ChunkElements {
  readonly bytes: Uint8Array;
  readonly strides: readonly number[];
}

/**
 * A block of elements of a chunk, and the place of these elements in other memory. Lengths
 * and strides are in elements. A message to a worker can hold it.
 */
export interface ChunkBlock {
  /** The other memory. */
  readonly bytes: Uint8Array;
  /** The place of the first element, from the start of `bytes`. */
  readonly offset: number;
  readonly strides: readonly number[];
  /** The number of elements along each dimension. */
  readonly counts: readonly number[];
  /** The first element in the chunk along each dimension. */
  readonly starts: readonly number[];
  /** The step in the chunk from one element to the next along each dimension. */
  readonly steps: readonly number[];
}

/** Copies the elements of a block from a chunk to other memory. */
export function copyFromChunk(
  block: ChunkBlock,
  chunk: ChunkElements,
  elementSize: number,
): void {
  copyElements(block, inChunk(block, chunk), block.counts, elementSize);
}

/**
 * Copies all elements of some chunks from other memory, in the order of that memory: one
 * chunk after the other would take several times as long.
 *
 * @param blocks Blocks whose offsets differ by the same number from one to the next.
 * @param chunks The memory of the chunks, one after another.
 */
export function copyIntoChunks(
  blocks: readonly ChunkBlock[],
  { bytes, strides }: ChunkElements,
  elementSize: number,
): void {
  const [first, second = first] = blocks as [ChunkBlock, ChunkBlock];
  const chunkLength = bytes.length / blocks.length / elementSize;
  copyElements(
    { bytes, offset: 0, strides: [chunkLength, ...strides] },
    { ...first, strides: [second.offset - first.offset, ...first.strides] },
    [blocks.length, ...first.counts],
    elementSize,
  );
}

/** Copies the elements of a block from other memory into a chunk. */
export function copyIntoChunk(
  block: ChunkBlock,
  chunk: ChunkElements,
  elementSize: number,
): void {
  copyElements(inChunk(block, chunk), block, block.counts, elementSize);
}

function inChunk(
  { starts, steps }: ChunkBlock,
  { bytes, strides }: ChunkElements,
): ElementsAt {
  return {
    bytes,
    offset: starts.reduce((sum, start, i) => sum + start * strides[i]!, 0),
    strides: strides.map((stride, i) => stride * steps[i]!),
  };
}

/** Where elements lie in memory. Offset and strides are in elements. */
export interface ElementsAt {
  readonly bytes: Uint8Array;
  /** The place of the first element that is copied, from the start of `bytes`. */
  readonly offset: number;
  readonly strides: readonly number[];
}

/**
 * Copies a block of elements from one layout in memory to another. A stride of 0 in `from`
 * repeats elements.
 *
 * @param counts The number of elements along each dimension.
 * @param size The size of an element in bytes.
 */
export function copyElements(
  to: ElementsAt,
  from: ElementsAt,
  counts: readonly number[],
  size: number,
): void {
  if (counts.includes(0)) return;
  const axes = mergedAxes(to, from, counts, size);
  const isRow = axes[0]?.to === size && axes[0].from === size;
  const rowSize = isRow ? size * axes.shift()!.count : size;
  const [toStart, fromStart] = [size * to.offset, size * from.offset];
  const unit = unitOf([
    rowSize,
    toStart,
    fromStart,
    to.bytes.byteOffset,
    from.bytes.byteOffset,
    ...axes.flatMap(({ to, from }) => [to, from]),
  ]);
  const isLong = rowSize >= LEAST_SET * unit;
  const scale = isLong ? 1 : unit;
  const scaled = axes.map(({ count, to, from }) => ({
    count,
    to: to / scale,
    from: from / scale,
  }));
  const block = scaled.shift() ?? { count: 1, to: 0, from: 0 };
  const row = rowSize / scale;
  const start = [toStart / scale, fromStart / scale] as const;
  if (isLong) copyBy(copyLongRows, Uint8Array);
  else if (unit === 8) copyBy(copy64, BigUint64Array);
  else if (unit === 4) copyBy(copy32, Uint32Array);
  else if (unit === 2) copyBy(copy16, Uint16Array);
  else copyBy(copy8, Uint8Array);

  function copyBy<V>(copyRows: CopyRows<V>, View: ViewClass<V>): void {
    const [t, f] = [viewOf(to.bytes, View), viewOf(from.bytes, View)];
    forEachPlace(
      scaled,
      ...start,
      (toPlace, fromPlace) => copyRows(t, f, toPlace, fromPlace, block, row),
    );
  }
}

/**
 * Sets all elements of a block of memory to one element.
 *
 * @param element The bytes of the element. Those of several numbers of `size` bytes lie along
 * the last dimension.
 * @param counts The number of elements along each dimension.
 */
export function repeatElement(
  to: ElementsAt,
  element: Uint8Array,
  counts: readonly number[],
  size: number,
): void {
  const length = counts.reduce((product, n) => product * n, size);
  const isUniform = element.every((byte) => byte === element[0]);
  // Many times as fast; the block is all of the memory, in any order.
  if (isUniform && length === to.bytes.length) {
    return void to.bytes.fill(element[0]!);
  }
  const hasParts = element.length > size;
  const strides = counts.map((_, i) =>
    hasParts && i === counts.length - 1 ? 1 : 0
  );
  copyElements(to, { bytes: element, offset: 0, strides }, counts, size);
}

/** Whether memory holds the bytes of one element again and again. */
export function isRepeated(bytes: Uint8Array, element: Uint8Array): boolean {
  const { length } = element;
  for (let i = 0; i < length; i++) if (bytes[i] !== element[i]) return false;
  // Each part of the memory equals the part one element before. Numbers of 4 bytes are compared faster.
  const period = length * (length % 4 === 0 ? 1 : 4);
  const most = Math.min(bytes.length, period);
  for (let i = length; i < most; i++) {
    if (bytes[i] !== bytes[i - length]) return false;
  }
  const isAligned = bytes.byteOffset % 4 === 0 && bytes.length % 4 === 0;
  const numbers = isAligned ? viewOf(bytes, Uint32Array) : bytes;
  const step = isAligned ? period / 4 : period;
  for (let i = step; i < numbers.length; i++) {
    if (numbers[i] !== numbers[i - step]) return false;
  }
  return true;
}

/** A dimension of a copy, with the steps from one element to the next in bytes. */
interface Axis {
  count: number;
  to: number;
  readonly from: number;
}

/**
 * The dimensions of a copy, the one with the smallest steps in the larger memory first, which
 * may not fit in caches. Dimensions that lie one after another in both layouts are one.
 */
function mergedAxes(
  to: ElementsAt,
  from: ElementsAt,
  counts: readonly number[],
  size: number,
): Axis[] {
  const larger = from.bytes.length > to.bytes.length ? "from" : "to";
  const axes = counts
    .map((count, i) => ({
      count,
      to: size * to.strides[i]!,
      from: size * from.strides[i]!,
    }))
    .filter(({ count }) => count > 1)
    .sort((a, b) => a[larger] - b[larger]);
  const merged: Axis[] = [];
  for (const axis of axes) {
    const last = merged.at(-1);
    const isNext = last !== undefined && axis.to === last.to * last.count &&
      axis.from === last.from * last.count;
    if (isNext) last.count *= axis.count;
    else merged.push(axis);
  }
  return merged;
}

/** The largest number of bytes, up to 8, that divides all sizes, places and steps. */
function unitOf(numbers: readonly number[]): number {
  const units = [8, 4, 2];
  return units.find((unit) => numbers.every((n) => n % unit === 0)) ?? 1;
}

/** Rows of at least this many units are copied by `set`, which is slower than a loop for shorter ones. */
const LEAST_SET = 128;

/** Calls a function with each place of the dimensions. */
function forEachPlace(
  axes: readonly Axis[],
  toPlace: number,
  fromPlace: number,
  call: (toPlace: number, fromPlace: number) => void,
): void {
  if (axes.length === 0) return call(toPlace, fromPlace);
  const { count, to, from } = axes.at(-1)!;
  const inner = axes.slice(0, -1);
  for (let i = 0; i < count; i++) {
    forEachPlace(inner, toPlace + i * to, fromPlace + i * from, call);
  }
}

/**
 * Copies the rows of a dimension.
 *
 * @param t The place of the first element in `to`.
 * @param f The place of the first element in `from`.
 * @param row The length of a row.
 */
type CopyRows<V> = (
  to: V,
  from: V,
  t: number,
  f: number,
  axis: Axis,
  row: number,
) => void;

function copyLongRows(
  to: Uint8Array,
  from: Uint8Array,
  t: number,
  f: number,
  { count, to: toStep, from: fromStep }: Axis,
  row: number,
): void {
  for (let i = 0; i < count; i++, t += toStep, f += fromStep) {
    to.set(from.subarray(f, f + row), t);
  }
}

// A function for each class of arrays: a loop that several classes share is compiled for
// all of them, and takes several times as long. No loop copies floats, since the bits of a
// NaN could change.

function copy8(
  to: Uint8Array,
  from: Uint8Array,
  t: number,
  f: number,
  { count, to: toStep, from: fromStep }: Axis,
  row: number,
): void {
  for (let i = 0; i < count; i++, t += toStep, f += fromStep) {
    for (let n = 0; n < row; n++) to[t + n] = from[f + n]!;
  }
}

function copy16(
  to: Uint16Array,
  from: Uint16Array,
  t: number,
  f: number,
  { count, to: toStep, from: fromStep }: Axis,
  row: number,
): void {
  for (let i = 0; i < count; i++, t += toStep, f += fromStep) {
    for (let n = 0; n < row; n++) to[t + n] = from[f + n]!;
  }
}

function copy32(
  to: Uint32Array,
  from: Uint32Array,
  t: number,
  f: number,
  { count, to: toStep, from: fromStep }: Axis,
  row: number,
): void {
  for (let i = 0; i < count; i++, t += toStep, f += fromStep) {
    for (let n = 0; n < row; n++) to[t + n] = from[f + n]!;
  }
}

function copy64(
  to: BigUint64Array,
  from: BigUint64Array,
  t: number,
  f: number,
  { count, to: toStep, from: fromStep }: Axis,
  row: number,
): void {
  for (let i = 0; i < count; i++, t += toStep, f += fromStep) {
    for (let n = 0; n < row; n++) to[t + n] = from[f + n]!;
  }
}

/** A class of typed arrays. */
interface ViewClass<V> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): V;
}

/** Views bytes as numbers. Bytes after the last whole number are left out. */
function viewOf<V>(
  { buffer, byteOffset, byteLength }: Uint8Array,
  View: ViewClass<V>,
): V {
  const length = Math.floor(byteLength / View.BYTES_PER_ELEMENT);
  return new View(buffer, byteOffset, length);
}
