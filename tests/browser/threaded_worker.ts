/** The program of workers of a page that has codecs of its own. */
import { registerCodecs, runChunkWorker } from "../../zarrita.ts";
import * as zarr from "zarrita";
import { registerMask } from "./mask_codec.ts";

registerCodecs(zarr);
registerMask(zarr.registry);
runChunkWorker(zarr);
