import * as zarr from "zarrita";
import {
  type ArrayChunks,
  createArrayChunks,
  encodeShard,
  parseShardLayout,
  type Store,
} from "../../mod.ts";
import { parseTiffArray } from "../../src/tiff/tiff_array.ts";
import { compressStored } from "../../src/tiff/tiff_codecs.ts";
import { tiffContainer } from "../../tiff.ts";
import { registerCodecs, setSharded, withZarrParts } from "../../zarrita.ts";
import { slowCoordinates } from "../shards/slow_shard.ts";
import type { TiffCase } from "./tiff_cases.ts";

registerCodecs(zarr);

/** What a shard of an array holds. */
export interface StoredShard {
  readonly shard: readonly number[];
  /** The lengths of the part of the array in the shard. */
  readonly shape: readonly number[];
  /** Its elements in C order and little endian. */
  readonly elements: Uint8Array;
}

type Place = readonly number[];

/** Stores an array in TIFF shards by `setSharded`, or without zarrita if it has complex numbers, which zarrita does not have. */
export async function storeTiffs(
  store: Store,
  path: string,
  tiffCase: TiffCase,
): Promise<{ chunks: ArrayChunks; shards: StoredShard[] }> {
  const { metadata, options } = tiffCase;
  const { kind } = parseTiffArray(metadata, options);
  const chunks = await createArrayChunks(store, path, metadata);
  if (kind === "complex") await storeComplex(chunks, tiffCase);
  else await storeByZarrita(store, path, tiffCase);
  return { chunks, shards: shardsOf(tiffCase) };
}

async function storeComplex(
  chunks: ArrayChunks,
  tiffCase: TiffCase,
): Promise<void> {
  const { metadata, options } = tiffCase;
  const array = parseTiffArray(metadata, options);
  const { shape, shardShape, tileShape, gridShape, isLittleEndian } = array;
  const layout = parseShardLayout(metadata.codecs[0], shardShape);
  const container = tiffContainer(metadata, options);
  const counts = layout.chunksPerShard;
  const half = array.bits / 16;
  for (const shard of slowCoordinates(gridShape)) {
    const encoded = slowCoordinates(counts).map((inner) => {
      const chunk = inner.map((c, i) => shard[i]! * counts[i]! + c);
      const start = chunk.map((c, i) => c * tileShape[i]!);
      const isOutside = start.some((p, i) => p >= shape[i]!);
      if (isOutside || isAbsent(tiffCase, chunk)) return undefined;
      const bytes = elementsOf(
        { ...tiffCase, hasAbsent: false },
        start,
        tileShape,
      );
      for (let at = 0; !isLittleEndian && at < bytes.length; at += half) {
        bytes.subarray(at, at + half).reverse();
      }
      return compressStored(bytes, array.compression);
    });
    await chunks.set(
      shard,
      encodeShard(encoded, layout, { container: container(shard) }),
    );
  }
}

/** Whether a case leaves out an inner chunk, given by its grid coordinates. */
function isAbsent({ hasAbsent }: TiffCase, chunk: Place): boolean {
  return hasAbsent && chunk.reduce((sum, c) => sum + c, 0) % 3 === 1;
}

/** The elements of a region of an array, in C order and little endian. */
export function elementsOf(
  tiffCase: TiffCase,
  start: Place,
  lengths: Place,
): Uint8Array<ArrayBuffer> {
  const { metadata, options } = tiffCase;
  const { tileShape, kind, bits, isLittleEndian, fillBytes } = parseTiffArray(
    metadata,
    options,
  );
  const size = bits / 8;
  const half = kind === "complex" ? size / 2 : size;
  const fill = isLittleEndian ? fillBytes : new Uint8Array([
    ...fillBytes.subarray(0, half).toReversed(),
    ...fillBytes.subarray(half).toReversed(),
  ]);
  const elementAt = elementsBy(metadata.data_type as string);
  const elements = new Uint8Array(
    lengths.reduce((product, n) => product * n, size),
  );
  slowCoordinates(lengths).forEach((within, n) => {
    const place = within.map((p, i) => start[i]! + p);
    const chunk = place.map((p, i) => Math.floor(p / tileShape[i]!));
    const element = isAbsent(tiffCase, chunk) ? fill : elementAt(place);
    elements.set(element, n * size);
  });
  return elements;
}

/** What all shards of an array hold. */
export function shardsOf(tiffCase: TiffCase): StoredShard[] {
  const { metadata, options } = tiffCase;
  const { shape, shardShape, gridShape } = parseTiffArray(metadata, options);
  return slowCoordinates(gridShape).map((shard) => {
    const start = shard.map((c, i) => c * shardShape[i]!);
    const lengths = shape.map((length, i) =>
      Math.min(shardShape[i]!, length - start[i]!)
    );
    let elements: Uint8Array | undefined;
    return {
      shard,
      shape: lengths,
      get elements() {
        return elements ??= elementsOf(tiffCase, start, lengths);
      },
    };
  });
}

/**
 * Returns the function that gives the element at a place, in little endian. Elements depend
 * on their places in a way without symmetries. The bytes are valid until the next call.
 */
function elementsBy(dataType: string): (place: Place) => Uint8Array {
  const [, complexBits] = /^complex(\d+)$/.exec(dataType) ?? [];
  if (complexBits !== undefined) {
    const half = elementsBy(`float${Number(complexBits) / 2}`);
    return (place) => Uint8Array.of(...half(place), ...half([...place, 1]));
  }
  const view = new DataView(new ArrayBuffer(8));
  const size = dataType === "bool" ? 1 : Number(/\d+/.exec(dataType)![0]) / 8;
  const bytes = new Uint8Array(view.buffer, 0, size);
  return (place) => {
    const number = place.reduce(
      (sum, p, i) => sum * 101 + p * p * (i + 3) + p,
      7,
    );
    if (dataType === "bool") view.setUint8(0, number % 2);
    else if (dataType === "float64") view.setFloat64(0, number / 7 - 999, true);
    else if (dataType === "float32") view.setFloat32(0, number / 7 - 999, true);
    else if (dataType === "float16") view.setUint16(0, number % 0x7c00, true);
    else view.setBigUint64(0, BigInt(number) * 0x9e3779b97f4a7c15n, true);
    return bytes;
  };
}

/** Stores an array in TIFF shards by `setSharded`, and checks that zarrita reads it. */
async function storeByZarrita(
  store: Store,
  path: string,
  tiffCase: TiffCase,
): Promise<void> {
  const { metadata, options, name } = tiffCase;
  const root = zarr.root(withZarrParts(store)).resolve(path);
  const array = await zarr.open.v3(root, { kind: "array" });
  const expected = elementsOf(
    tiffCase,
    array.shape.map(() => 0),
    array.shape,
  );
  const { data, shape, stride } = await zarr.get(array) as Region;
  new Uint8Array(data.buffer).set(expected);
  const container = tiffContainer(metadata, options);
  const chunk = { data, shape, stride };
  await setSharded(zarr, array, null, chunk as never, { container });
  const found = (await zarr.get(array) as Region).data;
  if (!sameBytes(new Uint8Array(found.buffer), expected)) {
    throw new Error(`zarrita reads other elements of ${name}`);
  }
}

interface Region {
  readonly data: { readonly buffer: ArrayBuffer };
  readonly shape: number[];
  readonly stride: number[];
}

function sameBytes(found: Uint8Array, expected: Uint8Array): boolean {
  return found.length === expected.length &&
    found.every((byte, i) => byte === expected[i]);
}
