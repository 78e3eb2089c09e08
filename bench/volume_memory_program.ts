/**
 * Reads or writes the array of a folder once, or does nothing, and prints the peak of
 * its resident memory in bytes. `volume_memory.ts` runs this program.
 */
import { FileSystemStore as ZarritaFileSystemStore } from "@zarrita/storage";
import type { AsyncReadable } from "zarrita";
import { FileSystemStore, openArrayChunks } from "../mod.ts";
import { withZarrParts } from "../zarrita.ts";
import { seededRandom } from "./measure.ts";
import { printPeak } from "./peak_of.ts";
import {
  createVolume,
  openVolume,
  readElements,
  useCodecs,
  writeElements,
} from "./volume_zarrita.ts";

const [folder = "", task = ""] = Deno.args;
useCodecs("registerCodecs");
const read = async (store: AsyncReadable) => {
  await readElements(await openVolume(store));
};
const tasks: Record<string, () => Promise<void>> = {
  "idle": async () => {},
  "plain": () => read(new ZarritaFileSystemStore(folder)),
  "its store": () => read(withZarrParts(new ZarritaFileSystemStore(folder))),
  "our store": () => read(withZarrParts(new FileSystemStore(folder))),
  async setSharded() {
    const store = new FileSystemStore(folder);
    const { metadata } = await openArrayChunks(store);
    const copy = `${folder}-copy`;
    const array = await createVolume(copy, metadata);
    const random = seededRandom(1);
    const count = metadata.shape.reduce((product, n) => product * n, 1);
    const data = new Uint16Array(count);
    for (let i = 0; i < count; i++) data[i] = 256 * random();
    await writeElements(array, { data });
    await Deno.remove(copy, { recursive: true });
  },
};
await tasks[task]!();
await printPeak();
