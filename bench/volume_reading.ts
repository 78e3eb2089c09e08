import { FileSystemStore as ZarritaFileSystemStore } from "@zarrita/storage";
import type { AsyncReadable } from "zarrita";
import { FileSystemStore } from "../mod.ts";
import { withZarrParts } from "../zarrita.ts";
import { type Effort, measure, median } from "./measure.ts";
import type { Table } from "./table.ts";
import { assertSame, LAYOUTS, sampleOf, type Volume } from "./volume_data.ts";
import {
  type Codecs,
  createVolume,
  openVolume,
  readElements,
  useCodecs,
  writeElements,
} from "./volume_zarrita.ts";

/** The greatest ratio to the time of zarrita alone, with our file store and with zarrita's. */
const MOST_TIME = 1;
const MOST_TIME_WITH_ITS_STORE = 1.05;

interface Reader {
  readonly name: string;
  readonly most?: number;
  /** Makes a new store, so that no index is cached. */
  open(): AsyncReadable;
}

/** Reads the volume from files, by zarrita alone and with `withZarrParts`. */
export async function measureReading(
  folder: string,
  volume: Volume,
  effort: Effort,
): Promise<Table[]> {
  useCodecs("registerCodecs");
  for (const [layout, metadataOf] of Object.entries(LAYOUTS)) {
    const metadata = metadataOf(volume.metadata);
    const array = await createVolume(`${folder}/${layout}`, metadata);
    await writeElements(array, volume);
  }
  const readers = readersOf(folder);
  const tables: Table[] = [];
  for (const codecs of ["zarrita's codecs", "registerCodecs"] as const) {
    useCodecs(codecs);
    for (const { name, open } of readers) {
      assertSame(volume, await readElements(await openVolume(open())), name);
    }
    tables.push(await tableOf(codecs, readers, effort));
  }
  return tables;
}

function readersOf(folder: string): Reader[] {
  const layouts = ["plain", "parts"] as const;
  return [
    {
      name: "zarrita, its FileSystemStore, plain",
      open: () => new ZarritaFileSystemStore(`${folder}/plain`),
    },
    ...layouts.map((layout): Reader => ({
      name: `withZarrParts, zarrita's FileSystemStore, ${layout}`,
      most: MOST_TIME_WITH_ITS_STORE,
      open: () =>
        withZarrParts(new ZarritaFileSystemStore(`${folder}/${layout}`)),
    })),
    ...layouts.map((layout): Reader => ({
      name: `withZarrParts, our FileSystemStore, ${layout}`,
      most: MOST_TIME,
      open: () => withZarrParts(new FileSystemStore(`${folder}/${layout}`)),
    })),
  ];
}

async function tableOf(
  codecs: Codecs,
  readers: readonly Reader[],
  effort: Effort,
): Promise<Table> {
  const measured = await measure(
    readers.map(({ name, open }) => ({
      name,
      amount: 1,
      run: async () => sampleOf(await readElements(await openVolume(open()))),
    })),
    effort,
  );
  const times = measured.map(({ times }) => median(times));
  return {
    title: `Reading the volume with ${codecs}`,
    head: ["", "ms", "of zarrita", "target"],
    rows: readers.map(({ name, most }, i) => {
      const ratio = times[i]! / times[0]!;
      return [
        name,
        times[i]!.toFixed(0),
        ratio.toFixed(2),
        most === undefined
          ? ""
          : `${most.toFixed(2)} ${ratio <= most ? "met" : "missed"}`,
      ];
    }),
  };
}
