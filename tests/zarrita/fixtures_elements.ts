import { ITEM_SIZES, TYPED_ARRAYS } from "../interop/elements.ts";

type NumberArray = Iterable<unknown> & {
  readonly buffer: ArrayBuffer;
  readonly length: number;
  fill(value: unknown): unknown;
};

/** A typed array of zarrita's, or strings. */
export type Elements = NumberArray | string[];

const CLASSES = TYPED_ARRAYS as unknown as Record<
  string,
  new (content: number | ArrayBuffer) => NumberArray
>;

export type ElementType = keyof typeof TYPED_ARRAYS | "string";

/** The size of an element in bytes, by data type. */
export const SIZES: Readonly<Record<string, number>> = Object.fromEntries(
  Object.keys(TYPED_ARRAYS).map((type) => [type, ITEM_SIZES[type]!]),
);

const TEXTS = [
  "zarr",
  "",
  "a",
  "žluťoučký",
  "大きな",
  "🧭🗺",
  "\u0000",
  "two\nlines",
];

/** Elements that differ from their neighbours: smallest and largest numbers, NaN of several bits, empty strings. */
export function elementsOf(dataType: ElementType, count: number): Elements {
  if (dataType === "string") {
    return Array.from({ length: count }, (_, i) => TEXTS[i % TEXTS.length]!);
  }
  const size = SIZES[dataType]!;
  const bytes = new Uint8Array(count * size);
  for (let i = 0; i < count; i++) {
    bytes.set(elementBytes(dataType, i).subarray(0, size), i * size);
  }
  return new CLASSES[dataType]!(bytes.buffer);
}

/** The same elements, and after them one value up to a number of elements. */
export function padded(
  dataType: ElementType,
  elements: Elements,
  count: number,
  value: unknown,
): Elements {
  if (Array.isArray(elements)) {
    const more = new Array(count - elements.length).fill(value);
    return [...elements, ...more];
  }
  const data = new CLASSES[dataType]!(count);
  data.fill(value);
  new Uint8Array(data.buffer).set(new Uint8Array(elements.buffer));
  return data;
}

/** An element's bytes, little endian. */
function elementBytes(dataType: ElementType, i: number): Uint8Array {
  const bytes = new Uint8Array(8);
  const size = SIZES[dataType]!;
  if (dataType === "bool") return bytes.fill((i * 5 >> 1) & 1);
  const edges = ["00", "7f", "80", "ff"];
  const isEdge = i % 3 === 2;
  const top = parseInt(edges[(i / 3 | 0) % 4]!, 16);
  for (let at = 0; at < size; at++) {
    bytes[at] = isEdge ? (top & 1 ? 0xff : 0) : 17 * i + 31 * at + 1;
  }
  if (isEdge) bytes[size - 1] = top;
  return bytes;
}

export function product(lengths: readonly number[]): number {
  return lengths.reduce((product, length) => product * length, 1);
}

/** Strides in C order. */
export function stridesOf(shape: readonly number[]): number[] {
  return shape.map((_, i) => product(shape.slice(i + 1)));
}
