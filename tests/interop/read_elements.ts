import { assert } from "@std/assert";
import * as zarr from "zarrita";

/** Reads all elements of an array with zarrita; returns them in C order, little endian. */
export async function readElements(
  store: zarr.AsyncReadable,
  path: string,
): Promise<Uint8Array> {
  const array = await openArray(store, path);
  const { data, shape, stride } = array.shape.length === 0
    ? await array.getChunk([]) // `zarr.get` gives a number, which has no bits.
    : await zarr.get(array);
  assert("buffer" in data, `${path} has no numbers`);
  const size = data.BYTES_PER_ELEMENT;
  const bytes = new Uint8Array(
    data.buffer,
    data.byteOffset,
    array.shape.length === 0 ? size : data.byteLength,
  );
  return inCOrder(bytes, size, shape, stride);
}

export function openArray<S extends zarr.AsyncReadable>(
  store: S,
  path: string,
): Promise<zarr.Array<zarr.DataType, S>> {
  return zarr.open.v3(locate(store, path), { kind: "array" });
}

/** Returns the location of a node. zarrita decodes percent-escapes in paths, so the path is encoded. */
export function locate<S extends zarr.AsyncReadable>(
  store: S,
  path: string,
): zarr.Location<S> {
  const escaped = path.split("/").map(encodeURIComponent).join("/");
  return new zarr.Location(store, `/${escaped}`);
}

function inCOrder(
  bytes: Uint8Array,
  size: number,
  shape: readonly number[],
  stride: readonly number[],
): Uint8Array {
  const isCOrder = stride.every((step, i) =>
    step === shape.slice(i + 1).reduce((product, length) => product * length, 1)
  );
  if (isCOrder) return bytes;
  const offsets = shape.reduce<number[]>(
    (offsets, length, i) =>
      offsets.flatMap((offset) =>
        Array.from({ length }, (_, c) => offset + c * stride[i]! * size)
      ),
    [0],
  );
  const ordered = new Uint8Array(offsets.length * size);
  offsets.forEach((offset, i) => {
    ordered.set(bytes.subarray(offset, offset + size), i * size);
  });
  return ordered;
}
