import type { Store } from "@zarr-parts/zarr-parts";
import { registerCodecs, withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
import * as zarr from "zarrita";
import { chunkQueue } from "./chunk_queue.ts";
import type { ElevationModel } from "./relief.ts";
import { spacingOf } from "./spacing.ts";

registerCodecs(zarr.registry);

/**
 * Reads an array as an elevation model. The array may be stored in parts.
 *
 * @param store A store with the array at its root.
 * @param onProgress Is called after each chunk.
 * @throws {TypeError} If the array does not have two dimensions, or its elements
 * are not numbers.
 */
export async function readElevationModel(
  store: Store,
  onProgress: (chunks: number, all: number) => void = () => {},
): Promise<ElevationModel> {
  const array = await zarr.open.v3(withZarrParts(store), { kind: "array" });
  const { shape, dtype, attrs } = array;
  if (shape.length !== 2 || !array.is("number")) {
    throw new TypeError(
      `Expected an array of numbers in two dimensions, found ${dtype} in ${shape.length}`,
    );
  }
  const { data, stride } = await zarr.get(array, null, {
    createQueue: () => chunkQueue(onProgress),
  });
  const [height, width] = shape as [number, number];
  return {
    elevations: byRows(data, width, stride as [number, number]),
    width,
    height,
    fillValue: array.fillValue,
    // zarrita returns `undefined` if the array has no attributes.
    spacing: spacingOf(attrs ?? {}, { width, height }),
  };
}

/** Returns the elements row by row, without a copy if they are in that order. */
function byRows(
  data: ArrayLike<number>,
  width: number,
  [row, column]: [number, number],
): ArrayLike<number> {
  if (column === 1) return data;
  return Float64Array.from(
    { length: data.length },
    (_, i) => data[Math.floor(i / width) * row + i % width * column]!,
  );
}
