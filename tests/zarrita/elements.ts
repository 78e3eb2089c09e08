import * as zarr from "zarrita";

/** An element of an array, as JavaScript has it. */
export type Element = number | bigint | boolean;

/** Each data type's part of the names of typed arrays and of `DataView`'s methods, and its size. */
const TYPES = {
  bool: ["Uint8", 1],
  int8: ["Int8", 1],
  uint8: ["Uint8", 1],
  int16: ["Int16", 2],
  uint16: ["Uint16", 2],
  int32: ["Int32", 4],
  uint32: ["Uint32", 4],
  int64: ["BigInt64", 8],
  uint64: ["BigUint64", 8],
  float32: ["Float32", 4],
  float64: ["Float64", 8],
} as const;

export type DataType = keyof typeof TYPES;
export const DATA_TYPES = Object.keys(TYPES) as DataType[];

export function sizeOf(type: DataType): number {
  return TYPES[type][1];
}

/** The fill value that arrays of a type have in these tests. */
export function fillOf(type: DataType): Element {
  return type === "bool"
    ? true
    : type.endsWith("64") && type !== "float64"
    ? 1n
    : 1;
}

/** Elements of any bits, the same ones for the same seed. */
export function anyElements(
  type: DataType,
  count: number,
  seed: number,
): Element[] {
  const random = randomNumbers(seed);
  const bytes = Uint8Array.from(
    { length: count * sizeOf(type) },
    () => type === "bool" ? random() & 1 : random() & 255,
  );
  return decodeElements(bytes, type, "little");
}

function decodeElements(
  bytes: Uint8Array,
  type: DataType,
  endian: "little" | "big",
): Element[] {
  const [name, size] = TYPES[type];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / size }, (_, i) => {
    const element = view[`get${name}`](i * size, endian === "little");
    return type === "bool" ? element === 1 : element;
  });
}

export function encodeElements(
  elements: readonly Element[],
  type: DataType,
  endian: "little" | "big",
): Uint8Array {
  const [name, size] = TYPES[type];
  const view = new DataView(new ArrayBuffer(elements.length * size));
  elements.forEach((element, i) => {
    const value = typeof element === "boolean" ? Number(element) : element;
    view[`set${name}`](i * size, value as never, endian === "little");
  });
  return new Uint8Array(view.buffer);
}

/** Elements in C order, as zarrita's `set` takes them. */
export function chunkOf(
  elements: readonly Element[],
  type: DataType,
  shape: readonly number[],
): zarr.Chunk<zarr.DataType> {
  const native = encodeElements(elements, type, nativeEndian());
  const [name] = TYPES[type];
  const data = type === "bool"
    ? new zarr.BoolArray(native.buffer as ArrayBuffer)
    : new globalThis[`${name}Array`](native.buffer as ArrayBuffer);
  const stride = shape.map((_, i) =>
    shape.slice(i + 1).reduce((product, length) => product * length, 1)
  );
  return { data, shape: [...shape], stride } as never;
}

/** Returns the elements that zarrita has read, in C order. */
export function elementsOf(read: unknown): Element[] {
  if (typeof read !== "object") return [read as Element];
  const { data, shape, stride } = read as zarr.Chunk<zarr.DataType>;
  const places = shape.reduce<number[]>(
    (places, length, i) =>
      places.flatMap((place) =>
        Array.from({ length }, (_, j) => place + j * stride[i]!)
      ),
    [0],
  );
  const at = (place: number) =>
    "get" in data
      ? (data.get as (place: number) => Element)(place)
      : data[place as never] as Element;
  return places.map(at);
}

/** Whole numbers below 2^32, the same ones for the same seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state ^ (state >>> 15)) >>> 0;
  };
}

function nativeEndian(): "little" | "big" {
  return new Uint8Array(new Uint16Array([1]).buffer)[0] === 1
    ? "little"
    : "big";
}
