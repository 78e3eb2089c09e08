import * as zarr from "zarrita";
import { readElevationModel } from "../../examples/browser/read_elevation_model.ts";
import type { ElevationModel } from "../../examples/browser/relief.ts";
import { FileSystemStore } from "../../mod.ts";

/**
 * Reads an array in parts through zarrita, and compares it with its source, which
 * zarrita can read by itself.
 *
 * @throws {Error} If an elevation is another one.
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
  const same = data.length === elevations.length &&
    data.every((elevation, i) => elevation === elevations[i]);
  if (!same) throw new Error("Not the elevations of the source");
  return model;
}
