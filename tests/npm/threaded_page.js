// The program of a page that prints what it reads over HTTP.
import { HttpStore } from "@zarr-parts/zarr-parts";
import { readInThreads } from "./read_in_threads.js";

readInThreads(new HttpStore(new URL("dem.zarr", location.href)))
  .then((result) => console.log(`result ${JSON.stringify(result)}`));
