import type { AdoptionOptions } from "./adoption_options.ts";

/**
 * Counts the steps of an adoption, and reports each one.
 *
 * @param read The number of files that are read.
 * @param written The number of indexes that are written or checked.
 */
export function countSteps(
  read: number,
  written: number,
  { dryRun, onProgress }: AdoptionOptions,
): () => void {
  const total = read + (dryRun ? 0 : written);
  let done = 0;
  return () => onProgress?.({ done: ++done, total });
}
