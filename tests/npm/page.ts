// A page that reads an array over HTTP.
import { HttpStore } from "@zarr-parts/zarr-parts";
import {
  getSharded,
  registerCodecs,
  withZarrParts,
} from "@zarr-parts/zarr-parts/zarrita";
import * as zarr from "zarrita";

registerCodecs(zarr);
const url = new URL("dem.zarr", location.href);
const store = withZarrParts(new HttpStore(url));
const array = await zarr.open(store, { kind: "array" });
const { data, shape } = await getSharded(zarr, array, null);
const sum = Array.from(data as Int16Array).reduce((a, b) => a + b, 0);
console.log(JSON.stringify({ shape, sum }));
