import { MIB } from "./bytes.ts";
import { peakOf } from "./peak_of.ts";
import type { Table } from "./table.ts";

/** The tasks of `volume_memory_program.ts`, by what they do. */
const TASKS: Readonly<Record<string, string>> = {
  "zarrita, its FileSystemStore": "plain",
  "withZarrParts, zarrita's FileSystemStore": "its store",
  "withZarrParts, our FileSystemStore": "our store",
  "setSharded, our FileSystemStore": "setSharded",
};

/**
 * Measures the peak memory of programs that read the volume of a folder, or write it
 * into a second one. Measured on Linux only.
 *
 * @param folder A folder with an array of the volume.
 * @param volume The size of the volume in bytes, which every program holds.
 */
export async function measureVolumePeaks(
  folder: string,
  volume: number,
): Promise<Table> {
  const title = "Peak memory beside the volume and that of an idle program";
  const head = ["", "MiB"];
  const program = "volume_memory_program.ts";
  const idle = await peakOf(program, [folder, "idle"]);
  if (idle === undefined) {
    return { title: `${title}: measured on Linux only`, head, rows: [] };
  }
  const rows: string[][] = [];
  for (const [name, task] of Object.entries(TASKS)) {
    const beside = (await peakOf(program, [folder, task]))! - idle - volume;
    rows.push([name, (beside / MIB).toFixed(0)]);
  }
  return { title, head, rows };
}
