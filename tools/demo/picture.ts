import { encode } from "fast-png";
import { type ElevationModel, relief } from "../../examples/browser/relief.ts";

/** An elevation model as a map, in the bytes of a PNG file. */
export function picture(model: ElevationModel): Uint8Array {
  const { width, height } = model;
  return encode({ data: relief(model), width, height, channels: 4, depth: 8 });
}
