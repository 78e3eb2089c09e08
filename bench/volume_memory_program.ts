/**
 * Reads or writes the array of a folder once, or does nothing, and prints the peak of
 * its resident memory in bytes. `volume_memory.ts` runs this program.
 */
import { FileSystemStore as ZarritaFileSystemStore } from "@zarrita/storage";
import { FileSystemStore, openArrayChunks } from "../mod.ts";
import { withZarrParts } from "../zarrita.ts";
import { seededRandom } from "./measure.ts";
import { printPeak } from "./peak_of.ts";
import {
  createVolume,
  get,
  getWith,
  openVolume,
  writeVolume,
} from "./volume_arrays.ts";

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
