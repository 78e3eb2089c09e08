import { FileSystemStore as ZarritaFileSystemStore } from "@zarrita/storage";
import { command } from "./command.ts";
import type { Folder } from "./folders.ts";
import { type Contestant, type Effort, measure, median } from "./measure.ts";
import type { Table } from "./table.ts";
import { assertSame, type Volume } from "./volume_data.ts";
import type { ZarrPython } from "./volume_peer.ts";
import {
  createVolume,
  openVolume,
  readElements,
  useCodecs,
  type VolumeArray,
  writeElements,
} from "./volume_zarrita.ts";

/** The greatest ratio to the time of zarr-python. */
const MOST_TIME = 1.5;

/** Writes the volume into files, by `setSharded` and by zarr-python. */
export async function measureWriting(
  { path, description, isDisk }: Folder,
  volume: Volume,
  python: ZarrPython | undefined,
  effort: Effort,
): Promise<Table> {
  useCodecs("registerCodecs");
  // Data that an earlier run left to be written would slow the next one.
  const settle = async () => {
    if (isDisk) await command("sync", []);
  };
  const folders = { ours: `${path}/written`, python: `${path}/python` };
  let array: VolumeArray;
  const contestants: Contestant[] = [{
    name: "setSharded, our FileSystemStore",
    amount: 1,
    async prepare() {
      array = await createVolume(folders.ours, volume.metadata);
      await settle();
    },
    async run() {
      await writeElements(array, volume);
      return 0;
    },
  }];
  if (python !== undefined) {
    contestants.push({
      name: "zarr-python",
      amount: 1,
      async prepare() {
        await python.create(folders.python);
        await settle();
      },
      async run() {
        await python.write();
        return 0;
      },
    });
  }
  for (const { prepare, run } of contestants) {
    await prepare!();
    await run();
  }
  for (const folder of Object.values(folders).slice(0, contestants.length)) {
    const written = await openVolume(new ZarritaFileSystemStore(folder));
    assertSame(volume, await readElements(written), `zarrita in ${folder}`);
    await python?.check(folder);
  }
  const measured = await measure(contestants, effort);
  const times = measured.map(({ times }) => median(times));
  const ratio = times[1] && times[0]! / times[1];
  return {
    title: `Writing the volume into files ${description}`,
    head: ["", "ms", "of zarr-python", "target"],
    rows: contestants.map(({ name }, i) => [
      name,
      times[i]!.toFixed(0),
      ...(i > 0 || ratio === undefined ? ["", ""] : [
        ratio.toFixed(2),
        `${MOST_TIME.toFixed(2)} ${ratio <= MOST_TIME ? "met" : "missed"}`,
      ]),
    ]),
  };
}
