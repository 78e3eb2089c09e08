import { MIB } from "./bytes.ts";
import { peakOf } from "./peak_of.ts";
import type { Table } from "./table.ts";
import type { Elements } from "./volume_data.ts";

/** The most memory of `getSharded` and `setSharded` with two threads. */
const MOST = 150 * MIB;

/** The tasks of `volume_memory_program.ts`, each with the most memory beside the volume. */
const TASKS: Readonly<Record<string, number | undefined>> = {
  "zarr.get of zarrita alone": undefined,
  "zarr.get": undefined,
  "getSharded, 2 threads": MOST,
  "setSharded, 2 threads": MOST,
};

/**
 * Measures the peak memory of programs that read the volume of a folder, or write it
 * into a second one. Measured on Linux only.
 *
 * @param folder A folder with an array of the volume.
 * @param volume The elements, which every program holds once.
 */
export async function measureVolumePeaks(
  folder: string,
  { byteLength }: Elements,
): Promise<Table> {
  const title = "Peak memory beside the volume and that of an idle program";
  const head = ["", "MiB", "target"];
  const program = "volume_memory_program.ts";
  const idle = await peakOf(program, [folder, "idle"]);
  if (idle === undefined) {
    return { title: `${title}: measured on Linux only`, head, rows: [] };
  }
  const rows: string[][] = [];
  for (const [task, most] of Object.entries(TASKS)) {
    const beside = (await peakOf(program, [folder, task]))! - idle - byteLength;
    rows.push([
      task,
      (beside / MIB).toFixed(0),
      most === undefined
        ? ""
        : `≤ ${most / MIB} ${beside <= most ? "met" : "missed"}`,
    ]);
  }
  return { title, head, rows };
}
