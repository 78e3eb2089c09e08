import type { Conversion } from "../plan/conversion.ts";
import type { ConvertOptions } from "../plan/convert_options.ts";
import type { ConvertWork } from "./convert_work.ts";

/** The counts of the values of a conversion that a run has handled. */
export type ConvertCounts = Pick<
  Conversion,
  "copied" | "skipped" | "absent" | "bytes" | "isFinished"
>;

/** The counts at the start. */
export const NOTHING_DONE: ConvertCounts = {
  copied: 0,
  skipped: 0,
  absent: 0,
  bytes: 0,
  isFinished: false,
};

/** Tells the progress of a run. */
export function report(
  { total }: ConvertWork,
  { copied, skipped, absent, bytes }: ConvertCounts,
  { onProgress }: ConvertOptions,
): void {
  onProgress?.({ done: copied + skipped + absent, total, bytes });
}
