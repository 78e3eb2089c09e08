import * as zarr from "zarrita";
import { readElevationModel } from "../../examples/browser/read_elevation_model.ts";
import type { ElevationModel } from "../../examples/browser/relief.ts";
import { FileSystemStore } from "../../mod.ts";

/**
 * Reads an array in parts through `withZarrParts`, and its source through zarrita
 * alone, and compares the elevations.
 *
 * @param source The folder of the source.
 * @param copy The folder of the array in parts.
 * @throws {Error} If an elevation differs.
 */
export async function compareElevations(
  source: string,
  copy: string,
): Promise<ElevationModel> {
  const model = await readElevationModel(new FileSystemStore(copy));
  const array = await zarr.open.v3(new FileSystemStore(source), {
    kind: "array",
  });
  const { data } = await zarr.get(array as zarr.Array<"int16">);
  const { elevations } = model;
  const isEqual = data.length === elevations.length &&
    data.every((elevation, i) => elevation === elevations[i]);
  if (!isEqual) throw new Error("The elevations differ from the source");
  return model;
}
