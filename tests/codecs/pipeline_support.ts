import * as zarr from "zarrita";
import { noteKey } from "../../src/codecs/codec.ts";
import "./zarrita_codecs.ts";

export type Codecs = { name: string; configuration: Record<string, unknown> }[];

export const CRC32C = { name: "crc32c", configuration: {} };

/** A Map whose bytes are noted with their keys, as the adapter does. */
export class NotingStore extends Map<zarr.AbsolutePath, Uint8Array> {
  override get(key: zarr.AbsolutePath): Uint8Array | undefined {
    const bytes = super.get(key);
    if (bytes !== undefined) noteKey(bytes, key);
    return bytes;
  }

  getRange(
    key: zarr.AbsolutePath,
    range: zarr.RangeQuery,
  ): Uint8Array | undefined {
    const bytes = super.get(key);
    const slice = "suffixLength" in range
      ? bytes?.slice(-range.suffixLength)
      : bytes?.slice(range.offset, range.offset + range.length);
    if (slice !== undefined) noteKey(slice, key);
    return slice;
  }
}

export function create(
  store: Map<zarr.AbsolutePath, Uint8Array>,
  dtype: zarr.DataType,
  shape: readonly number[],
  codecs: Codecs,
  chunkShape = shape,
) {
  return zarr.create(zarr.root(store).resolve("a"), {
    shape: [...shape],
    chunkShape: [...chunkShape],
    dtype,
    codecs,
    fillValue: dtype === "bool" ? false : 0 as never,
  });
}
