/** Reads and writes volumes in shards beside zarr-python, TensorStore and zarrs: `deno task bench volume` */
import { FileSystemStore as ZarritaFileSystemStore } from "@zarrita/storage";
import type { AsyncReadable } from "zarrita";
import { FileSystemStore, HttpStore } from "../mod.ts";
import { NGINX, NginxServer } from "../tests/stores/nginx.ts";
import { ThreadPool, withZarrParts } from "../zarrita.ts";
import { type Folder, makeFolders, removeFolders, settle } from "./folders.ts";
import { type Contestant, type Effort, measure } from "./measure.ts";
import type { Options } from "./options.ts";
import {
  type Comparison,
  type Goal,
  MILLISECONDS,
  type Report,
  sizeText,
} from "./report.ts";
import {
  createVolume,
  get,
  getWith,
  openVolume,
  startThreads,
  type VolumeArray,
  writeVolume,
} from "./volume_arrays.ts";
import {
  assertSame,
  type Elements,
  elementsOf,
  makePicture,
  makeSeries,
  makeVolume,
  randomRegions,
  type Region,
  sampleOf,
  type Volume,
} from "./volume_data.ts";
import { Peer, PEER_NAMES } from "./volume_peer.ts";

/** The greatest ratios of the time with a pool of two threads to that of peers. */
const MOST = {
  "Reading the volume": { "zarr-python": 0.8, TensorStore: 1 },
  "Reading one inner chunk in ten at random": { "zarr-python": 1 },
  "Reading the volume over HTTP": { "zarr-python": 1 },
  "Writing the volume": { "zarr-python": 0.8, TensorStore: 1.15 },
} as const;

/** What the measurements of one benchmark share. */
interface Bench {
  readonly peers: readonly Peer[];
  /** A pool of two threads that run. */
  readonly pool: ThreadPool;
  readonly effort: Effort;
}

/** Reading and writing in one folder, in memory if there is one; the first volume is also read over HTTP. */
export async function benchVolume(options: Options): Promise<Report> {
  const folders = await makeFolders(options.disk);
  await using used = new AsyncDisposableStack();
  used.defer(() => removeFolders(folders));
  const peers: Peer[] = [];
  for (const name of PEER_NAMES) {
    const peer = await Peer.start(name);
    if (peer !== undefined) peers.push(used.use(peer));
  }
  const pool = used.use(new ThreadPool(2));
  const effort = { least: 3, warmUps: 1, ...options };
  const bench: Bench = { peers, pool, effort };
  const comparisons: Comparison[] = [];
  const contents: string[] = [];
  for (const make of [makeVolume, makePicture, makeSeries]) {
    const volume = make(options.quick);
    contents.push(`${sizeText(volume.data.byteLength)} of ${volume.name}`);
    const path = `${folders[0]!.path}/volume`;
    await store(path, volume, peers);
    const isFirst = make === makeVolume;
    comparisons.push(
      await measureReading("Reading the volume", path, volume, bench),
      await measureReading(
        "Reading one inner chunk in ten at random",
        path,
        volume,
        bench,
      ),
      ...isFirst ? await measureHttp(path, volume, bench) : [],
    );
    comparisons.push(await measureWriting(folders[0]!, volume, bench));
    await Deno.remove(path, { recursive: true });
  }
  return { comparisons, note: `${contents.join(", ")}. ${NOTE}` };
}

const NOTE =
  "Medians of interleaved rounds, and medians of the ratios of single rounds. Files that are read are in the page cache. Each run opens the array anew, TensorStore without its cache. Each peer runs in one process from start to end. All elements that a contestant reads or writes are compared before anything is measured. Inner chunks at random are read each by its region, all of them at once: by `Promise.all` here, by `asyncio.gather` of `AsyncArray.getitem` in zarr-python and zarrs, and by futures in TensorStore. HTTP is nginx on the same machine, and zarr-python reads it by fsspec. The shards of the picture are TIFF files with the codec `numcodecs.zlib`; zarr-python and zarrs read the same shards at default keys, and TensorStore, which has no zlib, an array of the same chunks in gzip.";

/** Stores the volume in a folder in all layouts, and gives it to the peers. */
async function store(
  path: string,
  { data, layouts }: Volume,
  peers: readonly Peer[],
): Promise<void> {
  for (const [name, layout] of Object.entries(layouts)) {
    await createVolume(`${path}/${name}`, layout);
    await writeVolume(`${path}/${name}`, layout, data);
  }
  const file = `${path}/elements`;
  const { buffer, byteOffset, byteLength } = data;
  await Deno.writeFile(file, new Uint8Array(buffer, byteOffset, byteLength));
  const { shape, data_type } = Object.values(layouts)[0]!.metadata;
  for (const peer of peers) {
    await peer.ask("load", { file, shape, dtype: data_type });
  }
  await Deno.remove(file);
}

/** A way to read arrays. */
interface Reader {
  readonly name: string;
  /** Whether this package is compared with peers by this reader. */
  readonly isJudged?: true;
  /** Reads all elements, or those of a region. */
  read(array: VolumeArray, region?: Region): Promise<Elements>;
  /** Makes a new store, so that no index is cached. */
  open?(path: string): AsyncReadable;
}

function readersOf(pool: ThreadPool): Reader[] {
  return [
    {
      name: "zarr.get of zarrita alone",
      read: get,
      open: (path) => new ZarritaFileSystemStore(path),
    },
    { name: "zarr.get", read: get },
    {
      name: "getSharded, pool of 2 threads",
      isJudged: true,
      read: (array, region) => getWith(pool, array, region),
    },
    {
      name: "getSharded, 2 threads that start",
      read: (array, region) => getWith(2, array, region),
    },
  ];
}

/**
 * Measures all ways to read a volume.
 *
 * @param title What is read.
 * @param path The folder with the arrays of the volume, or the URL of a server.
 */
async function measureReading(
  title: keyof typeof MOST,
  path: string,
  volume: Volume,
  { peers, pool, effort }: Bench,
): Promise<Comparison> {
  const isWhole = title === "Reading the volume";
  const isAtRandom = title === "Reading one inner chunk in ten at random";
  const regions = isAtRandom ? randomRegions(volume) : undefined;
  const contestants: Contestant[] = [];
  for (const peer of peers) {
    const args = { path: `${path}/${volume.layoutOf(peer.name)}`, regions };
    await peer.ask("check", args);
    contestants.push({
      name: peer.name,
      run: () => peer.ask("read", args),
    });
  }
  const judged: string[] = [];
  for (const { name, isJudged, read, open = openStore } of readersOf(pool)) {
    // Parts take the same time in all ways; zarrita alone reads no TIFF.
    if (!isJudged && !isWhole) continue;
    if (open !== openStore && volume.ours[0] !== "plain") continue;
    for (const layout of isJudged ? volume.ours : volume.ours.slice(0, 1)) {
      const readAll = async () => {
        const array = await openVolume(open(`${path}/${layout}`));
        return await Promise.all(
          (regions ?? [undefined]).map((region) => read(array, region)),
        );
      };
      const label = `${name}, ${layout}`;
      for (const [i, found] of (await readAll()).entries()) {
        assertSame(elementsOf(volume, regions?.[i]), found, label);
      }
      if (isJudged) judged.push(label);
      contestants.push({
        name: label,
        ...isJudged && { prepare: () => startThreads(pool) },
        run: async () => sampleOf(await readAll()),
      });
    }
  }
  const timings = await measure(contestants, effort);
  return {
    title: `${title}: ${volume.name}`,
    heads: [],
    unit: MILLISECONDS,
    rows: [{ labels: [], timings, goals: goalsOf(judged, MOST[title]) }],
  };
}

function openStore(path: string): AsyncReadable {
  return withZarrParts(
    path.startsWith("http:") ? new HttpStore(path) : new FileSystemStore(path),
  );
}

function goalsOf(
  names: readonly string[],
  most: Readonly<Record<string, number>>,
): Goal[] {
  return names.flatMap((of) =>
    Object.entries(most).map(([peer, bound]) => ({
      of,
      against: [peer],
      bound,
    }))
  );
}

/** Reading over HTTP, by nginx in a process of its own. */
async function measureHttp(
  path: string,
  volume: Volume,
  bench: Bench,
): Promise<Comparison[]> {
  if ("missing" in NGINX) {
    console.log(`Reading over HTTP is not measured: ${NGINX.missing}\n`);
    return [];
  }
  const own = await Deno.makeTempDir();
  try {
    await using server = await NginxServer.start(NGINX.path, path, own);
    const title = "Reading the volume over HTTP";
    return [await measureReading(title, server.url, volume, bench)];
  } finally {
    await Deno.remove(own, { recursive: true });
  }
}

/** Writes the volume into files, by `setSharded` and by peers. */
async function measureWriting(
  folder: Folder,
  volume: Volume,
  { peers, pool, effort }: Bench,
): Promise<Comparison> {
  const path = `${folder.path}/written`;
  const [ours] = volume.ours as [string];
  const judged = "setSharded, pool of 2 threads";
  const writers = { [judged]: pool, "setSharded, 2 threads that start": 2 };
  const contestants = [
    ...peers.map((peer) => ({
      layout: volume.layoutOf(peer.name),
      name: peer.name,
      run: () => peer.ask("write", { path }),
    })),
    ...Object.entries(writers).map(([name, threads]) => ({
      layout: ours,
      name,
      async run() {
        const { data, layouts } = volume;
        await writeVolume(path, layouts[ours]!, data, threads);
        return 0;
      },
    })),
  ].map((contestant) => ({
    ...contestant,
    /** Creates the array that the next run writes. */
    async prepare() {
      await createVolume(path, volume.layouts[contestant.layout]!);
      await settle(folder);
      if (contestant.name === judged) await startThreads(pool);
    },
  }));
  for (const { name, layout, prepare, run } of contestants) {
    await prepare();
    await run();
    const store = withZarrParts(new FileSystemStore(path));
    const found = await get(await openVolume(store));
    assertSame(volume.data, found, `${name}, read by zarrita,`);
    const [peer] = peers; // One is enough, and all would take minutes.
    if (peer && volume.layoutOf(peer.name) === layout) {
      await peer.ask("check", { path });
    }
  }
  const timings = await measure(contestants, effort);
  return {
    title:
      `Writing the volume into files ${folder.description}: ${volume.name}`,
    heads: [],
    unit: MILLISECONDS,
    rows: [{
      labels: [],
      timings,
      goals: goalsOf([judged], MOST["Writing the volume"]),
    }],
  };
}
