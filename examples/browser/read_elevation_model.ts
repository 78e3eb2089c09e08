import type { Store } from "@zarr-parts/zarr-parts";
import { registerCodecs, withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
import * as zarr from "zarrita";
import { chunkQueue } from "./chunk_queue.ts";
import type { ElevationModel } from "./relief.ts";
import { spacingOf } from "./spacing.ts";

registerCodecs(zarr.registry);

/**
 * Reads an array as an elevation model, in parts or not.
 *
 * @param store The array's own: its `zarr.json` is at the root.
 * @param onProgress Is called after each chunk.
 * @throws {TypeError} If the array is not of two dimensions, or not of numbers.
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
    // zarrita gives none where the array has none.
    spacing: spacingOf(attrs ?? {}, { width, height }),
  };
}

/** The elements row by row, as most arrays have them already. */
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
