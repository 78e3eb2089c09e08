import { assertEquals, assertThrows } from "@std/assert";
import { type ArrayMetadata, MetadataError } from "../../mod.ts";

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

/**
 * Makes a check that a function refuses metadata with a MetadataError.
 *
 * @param parse Gives the function what the check is given.
 * @param above Where that lies in the metadata, as a JSON pointer.
 * @returns The check, which is given what is refused, a text of the message, and the place
 * of the mistake below `above`.
 */
export function refusing<T>(
  parse: (refused: T) => unknown,
  above = "",
): (refused: T, message: string, path: string) => void {
  return (refused, message, path) => {
    const error = assertThrows(() => parse(refused), MetadataError, message);
    assertEquals(error.path, above + path);
  };
}
