/** Reads a volume in shards with zarrita, and writes it beside zarr-python: `deno task bench volume` */
import type { Report } from "./comparison.ts";
import { sizeText } from "./comparison.ts";
import { makeFolders, removeFolders } from "./folders.ts";
import type { Effort } from "./measure.ts";
import type { Options } from "./options.ts";
import type { Table } from "./table.ts";
import { makeVolume } from "./volume_data.ts";
import { ZarrPython } from "./volume_peer.ts";
import { measureVolumePeaks } from "./volume_memory.ts";
import { measureReading } from "./volume_reading.ts";
import { measureWriting } from "./volume_writing.ts";

/** Reading in one folder, in memory if there is one, and writing in all. */
export async function benchVolume(options: Options): Promise<Report> {
  const effort: Effort = { least: 5, warmUps: 1, ...options };
  const volume = makeVolume(options.quick);
  const folders = await makeFolders(options.disk);
  const tables: Table[] = [];
  try {
    const { path } = folders[0]!;
    tables.push(...await measureReading(path, volume, effort));
    const { byteLength } = volume.data;
    tables.push(await measureVolumePeaks(`${path}/plain`, byteLength));
    const python = await ZarrPython.start(path, volume);
    if (typeof python === "string") {
      console.log(`zarr-python is not measured: ${python}\n`);
    }
    await using peer = typeof python === "string" ? undefined : python;
    for (const folder of folders) {
      tables.push(await measureWriting(folder, volume, peer, effort));
    }
  } finally {
    await removeFolders(folders);
  }
  return {
    comparisons: [],
    tables,
    note: `Medians of interleaved rounds. ${
      sizeText(volume.data.byteLength)
    } of uint16 in zstd chunks in shards, which are read from files in the page cache. Each run opens the array anew. All elements are compared before anything is measured.`,
  };
}
