import * as zarr from "zarrita";
import { setSharded } from "../../zarrita.ts";
import { typedElements } from "./elements.ts";
import { filledBlocks, type InteropArray } from "./interop_array.ts";
import { openArray } from "./read_elements.ts";

type Selection = (zarr.Slice | null)[] | null;

/** Writes all elements of an array at once, with zarrita or `setSharded`. */
export async function writeElements(
  store: zarr.AsyncMutable,
  array: InteropArray,
): Promise<void> {
  if (array.elements.length === 0) return; // zarrita refuses to write nothing.
  await write(store, array, null, array.metadata.shape, 0);
}

/** Writes the chunks or inner chunks that hold more than the fill value, with zarrita or `setSharded`. */
export async function writeFilledElements(
  store: zarr.AsyncMutable,
  array: InteropArray,
): Promise<void> {
  const { shape } = array.metadata;
  const block = array.innerShapes.at(-1) ?? array.chunkShape;
  const stride = stridesOf(shape);
  for (const coordinates of filledBlocks(array, block)) {
    const from = coordinates.map((c, i) => c * block[i]!);
    const to = from.map((start, i) => Math.min(start + block[i]!, shape[i]!));
    await write(
      store,
      array,
      from.map((start, i) => zarr.slice(start, to[i]!)),
      from.map((start, i) => to[i]! - start),
      from.reduce((offset, start, i) => offset + start * stride[i]!, 0),
    );
  }
}

/** Writes a selection of an array, with its elements from `offset` on. */
async function write(
  store: zarr.AsyncMutable,
  { path, metadata, elements, fill }: InteropArray,
  selection: Selection,
  shape: readonly number[],
  offset: number,
): Promise<void> {
  const array = await openArray(store, path);
  const data = typedElements(array.dtype, elements.slice(offset * fill.length));
  const value = metadata.shape.length === 0
    ? [...data][0]! // zarrita takes no chunk there.
    : { data, shape: [...shape], stride: stridesOf(metadata.shape) };
  const written = value as zarr.Scalar<zarr.DataType>;
  await (JSON.stringify(metadata.codecs).includes("sharding_indexed")
    ? setSharded(zarr, array, selection, value)
    : zarr.set(array, selection, written));
}

function stridesOf(shape: readonly number[]): number[] {
  return shape.map((_, i) =>
    shape.slice(i + 1).reduce((product, length) => product * length, 1)
  );
}
