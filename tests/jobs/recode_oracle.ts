import { crc32c } from "../../mod.ts";
import {
  ArrayChunks,
  type ArrayMetadata,
  createArrayChunks,
  decodeShardIndex,
  encodeShard,
  MemoryStore,
  parseShardLayout,
  shardIndexSize,
  type Store,
} from "../../mod.ts";
import {
  gunzipSync,
  gzipSync,
  zstdCompressSync,
  zstdDecompressSync,
} from "node:zlib";

/** An array whose elements are opaque bytes, element by element in C order. */
export interface PlainArray {
  readonly metadata: ArrayMetadata;
  /** The length of an element in bytes. */
  readonly size: number;
  /** The length of the numbers in an element, which are reversed in big endian. */
  readonly unit: number;
  readonly fill: Uint8Array;
  readonly elements: Uint8Array;
}

interface Codec {
  readonly name: string;
  readonly configuration?: Readonly<Record<string, unknown>>;
}

/** All coordinates of a grid, in C order. */
export function allCoordinates(shape: readonly number[]): number[][] {
  return shape.reduce<number[][]>(
    (all, n) =>
      all.flatMap((some) => Array.from({ length: n }, (_, i) => [...some, i])),
    [[]],
  );
}

/** The place of an element in the memory of a box. */
function placeOf(coordinates: readonly number[], shape: readonly number[]) {
  return coordinates.reduce((place, c, i) => place * shape[i]! + c, 0);
}

function levelsOf({ chunk_grid, codecs }: ArrayMetadata) {
  const objectShape = chunk_grid.configuration.chunk_shape;
  const [first] = codecs as Codec[];
  if (first!.name !== "sharding_indexed") {
    return {
      objectShape,
      chunkShape: objectShape,
      codecs: codecs as Codec[],
      layout: undefined,
    };
  }
  const { chunk_shape, codecs: inner } = first!.configuration as {
    chunk_shape: number[];
    codecs: Codec[];
  };
  const layout = parseShardLayout(first, objectShape);
  return { objectShape, chunkShape: chunk_shape, codecs: inner, layout };
}

/** Moves each element of a chunk to its place, or back, one after another. */
function reorder(
  bytes: Uint8Array,
  shape: readonly number[],
  codecs: readonly Codec[],
  size: number,
  isBack: boolean,
): Uint8Array {
  const transpose = codecs.find(({ name }) => name === "transpose");
  if (transpose === undefined) return bytes;
  const order = transpose.configuration!.order as number[];
  const ordered = order.map((axis) => shape[axis]!);
  const result = new Uint8Array(bytes.length);
  for (const coordinates of allCoordinates(shape)) {
    const here = size * placeOf(coordinates, shape);
    const there = size * placeOf(order.map((a) => coordinates[a]!), ordered);
    const [from, to] = isBack ? [there, here] : [here, there];
    result.set(bytes.subarray(from, from + size), to);
  }
  return result;
}

function swap(bytes: Uint8Array, codecs: readonly Codec[], unit: number) {
  const codec = codecs.find(({ name }) => name === "bytes");
  if (codec?.configuration?.endian !== "big") return bytes;
  const swapped = new Uint8Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) {
    swapped[i] = bytes[i - i % unit + unit - 1 - i % unit]!;
  }
  return swapped;
}

/** Compresses or decompresses bytes by the codecs from bytes to bytes. */
function pass(bytes: Uint8Array, codecs: readonly Codec[], isBack: boolean) {
  const list = isBack ? codecs.toReversed() : codecs;
  let passed = bytes;
  for (const { name } of list) {
    if (name === "gzip") {
      passed = new Uint8Array(isBack ? gunzipSync(passed) : gzipSync(passed));
    } else if (name === "zstd") {
      passed = new Uint8Array(
        isBack ? zstdDecompressSync(passed) : zstdCompressSync(passed),
      );
    } else if (name === "crc32c") {
      if (isBack) passed = passed.slice(0, -4);
      else {
        const longer = new Uint8Array(passed.length + 4);
        longer.set(passed);
        new DataView(longer.buffer)
          .setUint32(passed.length, crc32c(passed), true);
        passed = longer;
      }
    }
  }
  return passed;
}

/** The elements of a box of the array, with the fill value outside of the array. */
function elementsIn(
  { metadata: { shape }, elements, size, fill }: PlainArray,
  start: readonly number[],
  box: readonly number[],
): Uint8Array {
  const bytes = new Uint8Array(size * box.reduce((n, length) => n * length, 1));
  for (const [i, within] of allCoordinates(box).entries()) {
    const at = within.map((c, axis) => c + start[axis]!);
    const isInside = at.every((c, axis) => c < shape[axis]!);
    const place = size * placeOf(at, shape);
    bytes.set(
      isInside ? elements.subarray(place, place + size) : fill,
      i * size,
    );
  }
  return bytes;
}

function isFill(bytes: Uint8Array, fill: Uint8Array): boolean {
  return bytes.every((byte, i) => byte === fill[i % fill.length]);
}

/**
 * Stores an array, element by element.
 *
 * @param leavesOut Whether chunks of fill values are absent.
 */
export async function storePlain(
  array: PlainArray,
  { leavesOut = true, store = new MemoryStore() }: {
    leavesOut?: boolean;
    store?: Store;
  } = {},
): Promise<Store> {
  const { metadata, size, unit, fill } = array;
  const chunks = await createArrayChunks(store, "", metadata);
  const { objectShape, chunkShape, codecs, layout } = levelsOf(metadata);
  const encode = (start: readonly number[]) => {
    const isOutside = start.some((n, i) => n >= metadata.shape[i]!);
    const bytes = elementsIn(array, start, chunkShape);
    if (isOutside || leavesOut && isFill(bytes, fill)) return undefined;
    const ordered = reorder(bytes, chunkShape, codecs, size, false);
    return pass(swap(ordered, codecs, unit), codecs, false);
  };
  for (const object of allCoordinates(chunks.gridShape)) {
    const start = object.map((c, i) => c * objectShape[i]!);
    if (layout === undefined) {
      const encoded = encode(start);
      if (encoded) await chunks.set(object, encoded);
      continue;
    }
    const inner = allCoordinates(layout.chunksPerShard).map((place) =>
      encode(place.map((c, i) => start[i]! + c * chunkShape[i]!))
    );
    const isEmpty = inner.every((chunk) => chunk === undefined);
    if (!isEmpty) await chunks.set(object, encodeShard(inner, layout));
  }
  return store;
}

/** Reads an array, element by element, and the number of its innermost chunks that are stored though all their elements are fill values. */
export async function readPlain(
  store: Store,
  metadata: ArrayMetadata,
  { size, unit, fill }: Pick<PlainArray, "size" | "unit" | "fill">,
): Promise<{ elements: Uint8Array; pointless: number }> {
  const chunks = new ArrayChunks(store, "", metadata);
  const { objectShape, chunkShape, codecs, layout } = levelsOf(metadata);
  const { shape } = metadata;
  const count = shape.reduce((n, length) => n * length, 1);
  const elements = new Uint8Array(size * count);
  for (let i = 0; i < count; i++) elements.set(fill, i * size);
  let pointless = 0;
  const decode = (encoded: Uint8Array, start: readonly number[]) => {
    const bytes = reorder(
      swap(pass(encoded, codecs, true), codecs, unit),
      chunkShape,
      codecs,
      size,
      true,
    );
    if (isFill(bytes, fill)) pointless++;
    for (const [i, within] of allCoordinates(chunkShape).entries()) {
      const at = within.map((c, axis) => c + start[axis]!);
      if (at.some((c, axis) => c >= shape[axis]!)) {
        const isRight = isFill(bytes.subarray(i * size, (i + 1) * size), fill);
        if (!isRight) throw new Error(`Other elements outside, at ${at}`);
        continue;
      }
      const element = bytes.subarray(i * size, (i + 1) * size);
      elements.set(element, size * placeOf(at, shape));
    }
  };
  for (const object of allCoordinates(chunks.gridShape)) {
    const start = object.map((c, i) => c * objectShape[i]!);
    const bytes = await chunks.get(object);
    if (bytes === undefined) continue;
    if (layout === undefined) {
      decode(bytes, start);
      continue;
    }
    const stored = bytes.subarray(bytes.length - shardIndexSize(layout));
    const index = decodeShardIndex(stored, layout);
    for (
      const [place, inner] of allCoordinates(layout.chunksPerShard).entries()
    ) {
      const entry = index[place];
      if (entry === undefined) continue;
      const { offset, length } = entry;
      decode(
        bytes.subarray(offset, offset + length),
        inner.map((c, i) => start[i]! + c * chunkShape[i]!),
      );
    }
  }
  return { elements, pointless };
}
