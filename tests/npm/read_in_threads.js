// Reads an array in threads, as all bundlers and test runners must let programs do.
import {
  getSharded,
  registerCodecs,
  withZarrParts,
} from "@zarr-parts/zarr-parts/zarrita";
import * as zarr from "zarrita";

export async function readInThreads(store) {
  registerCodecs(zarr);
  const array = await zarr.open(withZarrParts(store), { kind: "array" });
  const { data, shape } = await getSharded(zarr, array, null, { threads: 2 });
  return { shape, sum: data.reduce((sum, value) => sum + value, 0) };
}
