import { FileSystemStore as ZarritaFileSystemStore } from "@zarrita/storage";
import type { AsyncReadable } from "zarrita";
import { FileSystemStore, HttpStore } from "../mod.ts";
import { type ThreadPool, withZarrParts } from "../zarrita.ts";
import { type Effort, measure } from "./measure.ts";
import {
  get,
  getWith,
  openVolume,
  type Pools,
  startThreads,
  type VolumeArray,
} from "./volume_arrays.ts";
import {
  limitsOf,
  type Measured,
  ours,
  theirs,
  timesTable,
  type VolumeContestant,
} from "./volume_contestants.ts";
import {
  assertSame,
  type Elements,
  elementsOf,
  randomRegions,
  type Region,
  sampleOf,
  type Volume,
} from "./volume_data.ts";
import type { Peer } from "./volume_peer.ts";

/** What is read, and the greatest ratios of the time of `getSharded` with two threads to that of peers. */
const WORKS = {
  whole: {
    title: "Reading the volume",
    most: { "zarr-python": 0.8, TensorStore: 1.3 },
  },
  chunks: {
    title: "Reading one inner chunk in ten at random",
    most: { "zarr-python": 1 },
  },
  http: {
    title: "Reading the volume over HTTP",
    most: { "zarr-python": 1 },
  },
} as const;

/** A way to read arrays. */
interface Reader {
  readonly name: string;
  /** The number of threads beside the calling one. */
  readonly threads?: number;
  /** The pool of the threads, which start before the run. */
  readonly pool?: ThreadPool;
  /** Whether the targets are for this reader. */
  readonly isJudged?: boolean;
  /** Whether it reads the first layout of the first volume from files, and nothing else. */
  readonly isOnce?: boolean;
  /** Reads all elements, or those of a region. */
  read(array: VolumeArray, region?: Region): Promise<Elements>;
  /** Makes a new store, so that no index is cached. */
  open?(path: string): AsyncReadable;
}

/** All ways of this package and of zarrita. */
function readersOf(pools: Pools): Reader[] {
  return [
    {
      name: "zarr.get of zarrita alone",
      isOnce: true,
      read: get,
      open: (path) => new ZarritaFileSystemStore(path),
    },
    { name: "zarr.get", threads: 0, read: get },
    {
      name: "zarr.get, 2 threads",
      threads: 2,
      pool: pools[2],
      read: get,
      open: (path) => openStore(path, pools[2]),
    },
    ...([1, 2] as const).map((threads): Reader => ({
      name: `getSharded, ${threads === 1 ? "1 thread" : "2 threads"}`,
      threads,
      pool: pools[threads],
      isJudged: threads === 2,
      read: (array, region) => getWith(pools[threads], array, region),
    })),
    {
      name: "getSharded, 2 threads that start",
      threads: 2,
      isOnce: true,
      read: (array, region) => getWith(2, array, region),
    },
  ];
}

/**
 * Measures all ways to read a volume.
 *
 * @param work What is read.
 * @param path The folder with the arrays of the volume, or the URL of a server.
 */
export async function measureReading(
  work: keyof typeof WORKS,
  path: string,
  volume: Volume,
  peers: readonly Peer[],
  pools: Pools,
  effort: Effort,
): Promise<Measured> {
  const { title, most } = WORKS[work];
  const regions = work === "chunks" ? randomRegions(volume) : undefined;
  const contestants: VolumeContestant[] = [];
  for (const peer of peers) {
    const args = { path: `${path}/${volume.layoutOf(peer.name)}`, regions };
    await peer.ask("check", args);
    contestants.push(theirs(peer, () => peer.ask("read", args)));
  }
  for (const reader of readersOf(pools)) {
    const isOnce = reader.isOnce === true;
    if (isOnce && (work !== "whole" || volume.ours.length === 1)) continue;
    for (const layout of isOnce ? volume.ours.slice(0, 1) : volume.ours) {
      const place = `${path}/${layout}`;
      const read = async () => {
        const array = await openVolume((reader.open ?? openStore)(place));
        return await Promise.all(
          (regions ?? [undefined]).map((region) => reader.read(array, region)),
        );
      };
      const name = `${reader.name}, ${layout}`;
      for (const [i, found] of (await read()).entries()) {
        assertSame(elementsOf(volume, regions?.[i]), found, name);
      }
      contestants.push(ours({
        name,
        threads: reader.threads,
        most: reader.isJudged ? most : undefined,
        prepare: () => startThreads(reader.pool),
        run: async () => sampleOf(await read()),
      }));
    }
  }
  const timings = await measure(contestants, effort);
  const titled = `${title}: ${volume.name}`;
  return {
    table: timesTable(titled, contestants, timings),
    limits: regions ? [] : limitsOf(titled, contestants, timings),
  };
}

function openStore(path: string, threads?: ThreadPool): AsyncReadable {
  return withZarrParts(
    path.startsWith("http:") ? new HttpStore(path) : new FileSystemStore(path),
    { threads },
  );
}
