/** Adopts TIFF files, beside programs that read their directories: `deno task bench adopt` */
import { fileURLToPath } from "node:url";
import {
  arrayMetadata,
  encodeShard,
  FileSystemStore,
  HttpStore,
  parseShardLayout,
  type StoreKey,
  TemplateChunkKeyEncoding,
} from "../mod.ts";
import { PYTHON } from "../tests/interop/python.ts";
import { serve, storeHandler } from "../tests/stores/loopback.ts";
import { adoptTiffs, describeTiff, tiffContainer } from "../tiff.ts";
import { command } from "./command.ts";
import type { Report } from "./comparison.ts";
import { makeFolders, removeFolders } from "./folders.ts";
import { type Effort, measure, median } from "./measure.ts";
import type { Options } from "./options.ts";
import type { Table } from "./table.ts";

/** The number of files in a row of the mosaic. */
const COLUMNS = 25;
const TILES = 16;
const TILE = 32;
const NAMES = new TemplateChunkKeyEncoding("y{0}_x{1}.tif");

/** One TIFF of 256 tiles, with its directory at the start or at the end. */
function makeTiff(directory: "start" | "end"): Uint8Array {
  const size = TILES * TILE;
  const metadata = arrayMetadata({
    shape: [size, size],
    dataType: "uint16",
    shardShape: [size, size],
    chunkShape: [TILE, TILE],
    parts: ["", ".index"],
  });
  const layout = parseShardLayout(metadata.codecs[0], [size, size]);
  const tiles = Array.from(
    { length: TILES * TILES },
    (_, i) => new Uint8Array(TILE * TILE * 2).fill(i),
  );
  const container = tiffContainer(metadata, { directory })([0, 0]);
  const shard = encodeShard(tiles, layout, { container });
  return shard.subarray(0, -(TILES * TILES * 16 + 4));
}

/** A thousand files, measured in the first folder; requests over HTTP of one file. */
export async function benchAdopt(options: Options): Promise<Report> {
  const files = options.quick ? 50 : 1000;
  const effort: Effort = { least: 5, most: 15, warmUps: 1, ...options };
  const folders = await makeFolders(options.disk);
  const { path, description } = folders[0]!;
  try {
    const keys: StoreKey[] = [];
    const tiff = makeTiff("start");
    for (let i = 0; i < files; i++) {
      const key = NAMES.encode([Math.floor(i / COLUMNS), i % COLUMNS]);
      await Deno.writeFile(`${path}/${key}`, tiff);
      keys.push(`/${key}`);
    }
    const ours = await measureOurs(path, keys, effort);
    const peers = await measurePeers(path, effort.least!);
    const requests = await countRequests();
    const times: Table = {
      title:
        `${files} TIFFs of 256 tiles each, ${description}, in milliseconds a file`,
      head: ["Work", "time", "beside tifffile"],
      rows: [...ours, ...peers.rows].map(([name, time]) => [
        name,
        time.toFixed(3),
        peers.tifffile === undefined
          ? ""
          : `${(time / peers.tifffile).toFixed(2)} times`,
      ]),
    };
    return {
      comparisons: [],
      tables: [times, requests],
      note:
        "Medians. Adopting lists and reads the files, and writes an index beside each; the others only read the first directory with the places of its tiles. Files are in the page cache. virtual-tiff is measured where Python has it: `pip install virtual-tiff`.",
    };
  } finally {
    await removeFolders(folders);
  }
}

/** The time of a file in milliseconds, by the name of the work. */
type Times = [name: string, time: number][];

async function measureOurs(
  path: string,
  keys: readonly StoreKey[],
  effort: Effort,
): Promise<Times> {
  const store = new FileSystemStore(path);
  const removeIndexes = async () => {
    await Deno.remove(`${path}/zarr.json`).catch(() => {});
    for (const key of keys) {
      await Deno.remove(`${path}${key}.index`).catch(() => {});
    }
  };
  const timings = await measure([
    {
      name: "adoptTiffs",
      amount: keys.length,
      prepare: removeIndexes,
      run: async () => {
        const adopted = await adoptTiffs(store, "", {
          chunkKeyEncoding: NAMES,
        });
        return adopted.report.innerChunks;
      },
    },
    {
      name: "describeTiff, one file after the other",
      amount: keys.length,
      prepare: removeIndexes,
      run: async () => {
        let tiles = 0;
        for (const key of keys) {
          const { pages } = await describeTiff((range) =>
            store.getRange(key, range)
          );
          tiles += pages[0]!.tiles.length;
        }
        return tiles;
      },
    },
  ], effort);
  await removeIndexes();
  return timings.map(({ name, amount, times }) => [
    name,
    median(times) / amount,
  ]);
}

async function measurePeers(
  path: string,
  rounds: number,
): Promise<{ rows: Times; tifffile?: number }> {
  if ("missing" in PYTHON) {
    console.log(`tifffile is not measured: ${PYTHON.missing}\n`);
    return { rows: [] };
  }
  const script = fileURLToPath(import.meta.resolve("./adopt_peer.py"));
  const output = await command(PYTHON.path, [
    "-B",
    script,
    path,
    String(rounds),
  ]);
  const found: Record<string, { time: number; sum: number }> = JSON.parse(
    output,
  );
  if (new Set(Object.values(found).map(({ sum }) => sum)).size > 1) {
    throw new Error(`The programs find different tiles: ${output}`);
  }
  return {
    rows: Object.entries(found).map(([name, { time }]) => [
      `${name}, one file after the other`,
      time,
    ]),
    ...found.tifffile && { tifffile: found.tifffile.time },
  };
}

/** Counts the requests that describing a file takes over HTTP, and their bytes. */
async function countRequests(): Promise<Table> {
  const rows: string[][] = [];
  for (const directory of ["start", "end"] as const) {
    const tiff = makeTiff(directory);
    let [requests, bytes] = [0, 0];
    const handler = storeHandler({ get: () => Promise.resolve(tiff) });
    const server = serve((request) => {
      requests++;
      return handler(request);
    });
    try {
      const store = new HttpStore(server.url);
      await describeTiff(async (range) => {
        const found = await store.getRange("/a.tif", range);
        bytes += found!.length;
        return found;
      });
    } finally {
      await server.close();
    }
    rows.push([`directory at the ${directory}`, `${requests}`, `${bytes}`]);
  }
  return {
    title: `Over HTTP, a TIFF of 256 tiles and ${
      TILES * TILE * TILES * TILE * 2
    } bytes`,
    head: ["File", "requests", "bytes"],
    rows,
  };
}
