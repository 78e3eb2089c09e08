import type { ConvertedArray } from "../jobs/plan/conversion.ts";
import type { Io } from "./command.ts";
import { countText } from "./format.ts";

/** Prints the new layouts of arrays, for a dry run. */
export function printLayouts(
  arrays: readonly ConvertedArray[],
  io: Io,
): void {
  for (const { path, metadata, chunks } of arrays) {
    const { chunk_key_encoding, storage_transformers = [] } = metadata;
    const count = chunks === undefined ? "" : `${countText(chunks)} `;
    io.print(`/${path}: ${count}chunks`);
    io.print(
      `  ${JSON.stringify({ chunk_key_encoding, storage_transformers })}`,
    );
  }
}
