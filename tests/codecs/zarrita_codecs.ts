import * as zarr from "zarrita";
import { registerCodecs } from "../../src/codecs/register_codecs.ts";

/**
 * zarrita's own codecs. Test files share zarrita, so all files of this room that need the
 * codecs of this package import this module, which registers them after this copy.
 */
export const OWN_CODECS: typeof zarr.registry = new Map(zarr.registry);

registerCodecs(zarr);
