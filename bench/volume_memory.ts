import { FileSystemStore as ZarritaFileSystemStore } from "@zarrita/storage";
import { FileSystemStore, openArrayChunks } from "../mod.ts";
import { withZarrParts } from "../zarrita.ts";
import { MIB } from "./bytes.ts";
import { seededRandom } from "./measure.ts";
import { peakOf, printPeak } from "./peak_of.ts";
import type { Table } from "./table.ts";
import {
  createVolume,
  get,
  getWith,
  openVolume,
  writeVolume,
} from "./volume_arrays.ts";
import type { Elements } from "./volume_data.ts";

/** The most memory of `getSharded` and `setSharded` with two threads. */
const MOST = 150 * MIB;

/** The tasks of the measured program, each with the most memory beside the volume. */
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
  const program = "volume_memory.ts";
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

// The measured program, which reads or writes the array of a folder once, or does nothing.
if (import.meta.main) {
  const [folder = "", task = ""] = Deno.args;
  const open = () => openVolume(withZarrParts(new FileSystemStore(folder)));
  const tasks: Record<string, () => Promise<unknown>> = {
    "idle": async () => {},
    "zarr.get of zarrita alone": async () =>
      await get(await openVolume(new ZarritaFileSystemStore(folder))),
    "zarr.get": async () => await get(await open()),
    "getSharded, 2 threads": async () => await getWith(2, await open()),
    async "setSharded, 2 threads"() {
      const { metadata } = await openArrayChunks(new FileSystemStore(folder));
      const copy = `${folder}-copy`;
      await createVolume(copy, { metadata });
      const random = seededRandom(1);
      const count = metadata.shape.reduce((product, n) => product * n, 1);
      const data = new Uint16Array(count);
      for (let i = 0; i < count; i++) data[i] = 256 * random();
      await writeVolume(copy, { metadata }, data, 2);
      await Deno.remove(copy, { recursive: true });
    },
  };
  await tasks[task]!();
  await printPeak();
}
