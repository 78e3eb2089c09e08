import * as zarr from "zarrita";
import { strides } from "./packbits_support.ts";
import "./zarrita_codecs.ts";

/** An array of one chunk in a `Map`, with a codec of TIFF among others. */
export async function tiffArray(
  dtype: string,
  shape: readonly number[],
  codec: { name: string; configuration?: unknown },
  before: readonly { name: string; configuration: unknown }[] = [],
): Promise<{
  store: Map<string, Uint8Array>;
  array: zarr.Array<zarr.DataType, Map<string, Uint8Array>>;
}> {
  const store = new Map<string, Uint8Array>();
  const bytes = { name: "bytes", configuration: { endian: "little" } };
  const isArray = /delta|floatpred/.test(codec.name);
  const codecs = isArray
    ? [...before, codec, bytes]
    : [...before, bytes, codec];
  await zarr.create(store, {
    shape: [...shape],
    chunkShape: [...shape],
    dtype: dtype as "int16",
    fillValue: 0 as never,
    codecs: codecs as never,
  });
  // Opened, since an array that is created has a number as the fill value of int64.
  return { store, array: await zarr.open.v3(store, { kind: "array" }) };
}

/** The chunk that zarrita stores for these bytes of elements. */
export async function encodeChunk(
  { store, array }: Awaited<ReturnType<typeof tiffArray>>,
  bytes: Uint8Array,
): Promise<Uint8Array> {
  const { data } = await zarr.get(array) as { data: Uint8Array };
  const stride = strides(array.shape);
  new Uint8Array(data.buffer).set(bytes);
  const chunk = { data, shape: array.shape, stride };
  await zarr.set(array, null, chunk as never);
  return store.get(keyOf(array))!;
}

/** The bytes of the elements that zarrita reads from a chunk. */
export async function decodeChunk(
  { store, array }: Awaited<ReturnType<typeof tiffArray>>,
  encoded: Uint8Array,
): Promise<Uint8Array> {
  store.set(keyOf(array), encoded);
  const { data } = await zarr.get(array) as { data: Uint8Array };
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

function keyOf({ shape }: { shape: readonly number[] }): string {
  return ["/c", ...shape.map(() => 0)].join("/");
}

/** Bytes with runs, patterns and noise. */
export function mixedBytes(length: number, seed = 1): Uint8Array {
  let state = seed;
  let kind = 0;
  return Uint8Array.from({ length }, (_, i) => {
    state = Math.imul(state, 1664525) + 1013904223 | 0;
    if (i % 37 === 0) kind = state >>> 30;
    return kind === 0 ? 7 : kind === 1 ? i % 5 : state >>> 24;
  });
}
