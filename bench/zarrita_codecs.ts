import * as zarr from "zarrita";

/** zarrita's own codecs, as they are before `registerCodecs` replaces some. */
export const ZARRITA_CODECS: ReadonlyMap<string, () => unknown> = new Map(
  zarr.registry,
);
