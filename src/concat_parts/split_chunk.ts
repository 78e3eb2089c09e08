import { describeAll } from "../metadata/describe.ts";
import type { Part } from "./part.ts";
import { PartSizeError } from "./part_size_error.ts";

/** Cuts a chunk into views, one a part; `key` is the chunk's, for messages. */
export function splitChunk(
  parts: readonly Part[],
  chunk: Uint8Array,
  key = "",
): Uint8Array[] {
  const unsized = parts.filter((part) => part.size === undefined);
  if (unsized.length > 1) {
    throw new TypeError(
      `Cannot tell where the parts ${
        describeAll(unsized.map((part) => part.keySuffix))
      } begin: to write, at most one part may lack a size`,
    );
  }
  const sized = parts.reduce((sum, part) => sum + (part.size ?? 0), 0);
  const fits = unsized.length === 0
    ? chunk.length === sized
    : chunk.length >= sized;
  if (!fits) {
    const name = key === "" ? "Chunk" : `Chunk ${JSON.stringify(key)}`;
    throw new PartSizeError(
      `${name} is ${chunk.length} bytes long, where its sized parts take ${
        unsized.length === 0 ? "exactly" : "at least"
      } ${sized}`,
      { key, expected: sized, actual: chunk.length },
    );
  }
  let end = 0;
  return parts.map((part) => {
    const start = end;
    end += part.size ?? chunk.length - sized;
    return chunk.subarray(start, end);
  });
}
