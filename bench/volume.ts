/** Reads and writes volumes in shards beside zarr-python, TensorStore and zarrs: `deno task bench volume` */
import { ThreadPool } from "../zarrita.ts";
import { NGINX, NginxServer } from "../tests/stores/nginx.ts";
import { type Report, sizeText } from "./comparison.ts";
import { makeFolders, removeFolders } from "./folders.ts";
import type { Effort } from "./measure.ts";
import type { Options } from "./options.ts";
import type { Table } from "./table.ts";
import { createVolume, type Pools, writeVolume } from "./volume_arrays.ts";
import { limitsTable, type Measured } from "./volume_contestants.ts";
import {
  makePicture,
  makeSeries,
  makeVolume,
  type Volume,
} from "./volume_data.ts";
import { measureVolumePeaks } from "./volume_memory.ts";
import { Peer, PEER_NAMES } from "./volume_peer.ts";
import { measureReading } from "./volume_reading.ts";
import { measureWriting } from "./volume_writing.ts";

/** Reading in one folder, in memory if there is one; the first volume also over HTTP, and its writing in all folders. */
export async function benchVolume(options: Options): Promise<Report> {
  const effort: Effort = { least: 5, warmUps: 1, ...options };
  const folders = await makeFolders(options.disk);
  const folder = folders[0]!;
  await using used = new AsyncDisposableStack();
  used.defer(() => removeFolders(folders));
  const pools: Pools = {
    1: used.use(new ThreadPool({ threads: 1 })),
    2: used.use(new ThreadPool({ threads: 2 })),
  };
  const peers: Peer[] = [];
  for (const name of PEER_NAMES) {
    const peer = await Peer.start(name);
    if (peer !== undefined) peers.push(used.use(peer));
  }
  const tables: Table[] = [];
  const limits: Measured["limits"][number][] = [];
  const add = (measured: Measured) => {
    tables.push(measured.table);
    limits.push(...measured.limits);
  };
  const contents: string[] = [];
  for (const make of [makeVolume, makePicture, makeSeries]) {
    const volume = make(options.quick);
    contents.push(`${sizeText(volume.data.byteLength)} of ${volume.name}`);
    const path = `${folder.path}/volume`;
    await store(path, volume, peers);
    for (const work of ["whole", "chunks"] as const) {
      add(await measureReading(work, path, volume, peers, pools, effort));
    }
    const isFirst = make === makeVolume;
    if (isFirst) {
      const measured = await measureHttp(path, volume, peers, pools, effort);
      if (measured !== undefined) add(measured);
      tables.push(await measureVolumePeaks(`${path}/plain`, volume.data));
    }
    for (const place of isFirst ? folders : [folder]) {
      add(await measureWriting(place, volume, peers, pools, effort));
    }
    await Deno.remove(path, { recursive: true });
  }
  tables.push(limitsTable(limits));
  return { comparisons: [], tables, note: `${contents.join(", ")}. ${NOTE}` };
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

/** Reading over HTTP, by nginx in a process of its own. */
async function measureHttp(
  path: string,
  volume: Volume,
  peers: readonly Peer[],
  pools: Pools,
  effort: Effort,
): Promise<Measured | undefined> {
  if ("missing" in NGINX) {
    console.log(`Reading over HTTP is not measured: ${NGINX.missing}\n`);
    return undefined;
  }
  const own = await Deno.makeTempDir();
  try {
    await using server = await NginxServer.start(NGINX.path, path, own);
    return await measureReading(
      "http",
      server.url,
      volume,
      peers,
      pools,
      effort,
    );
  } finally {
    await Deno.remove(own, { recursive: true });
  }
}
