import type { ArrayMetadata } from "../../mod.ts";

/** Composes the metadata of a small array of 3 × 2 chunks, with changes. */
export function arrayMetadata(
  changes: Record<string, unknown> = {},
): ArrayMetadata {
  return {
    zarr_format: 3,
    node_type: "array",
    shape: [10, 7],
    data_type: "uint8",
    chunk_grid: { name: "regular", configuration: { chunk_shape: [4, 4] } },
    chunk_key_encoding: { name: "default" },
    fill_value: 0,
    codecs: [{ name: "bytes" }],
    ...changes,
  };
}

/** Composes the storage transformer `concat-parts`. */
export function concatParts(
  ...parts: { key_suffix: string; size?: number }[]
): { name: string; configuration: Record<string, unknown> } {
  return { name: "concat-parts", configuration: { parts } };
}
