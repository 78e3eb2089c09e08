import { MIB } from "./bytes.ts";
import { peakOf } from "./peak_of.ts";
import type { Table } from "./table.ts";

/** The most memory that a conversion may take above an idle program. */
const MOST = 128 * MIB;

/**
 * Measures the peak memory of conversions, above that of a program that does nothing.
 * Measured on Linux only.
 *
 * @param source The folder of an array of shards in one part.
 * @param target A folder that is made and removed.
 */
export async function measureConvertPeaks(
  source: string,
  target: string,
): Promise<Table> {
  const title = "Peak memory above that of an idle program, in MiB";
  const head = ["Chunks at once", "MiB", `≤ ${MOST / MIB}`];
  const peak = (concurrency: number) =>
    peakOf("convert_memory_program.ts", [source, target, `${concurrency}`]);
  const idle = await peak(0);
  if (idle === undefined) {
    return { title: `${title}: measured on Linux only`, head, rows: [] };
  }
  const rows: string[][] = [];
  for (const concurrency of [1, 4]) {
    const above = (await peak(concurrency))! - idle;
    await Deno.remove(target, { recursive: true });
    rows.push([
      `${concurrency}`,
      (above / MIB).toFixed(0),
      above <= MOST ? "met" : "missed",
    ]);
  }
  return { title, head, rows };
}
