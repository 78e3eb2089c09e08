import { FileSystemStore } from "../mod.ts";
import { type ThreadPool, withZarrParts } from "../zarrita.ts";
import { command } from "./command.ts";
import type { Folder } from "./folders.ts";
import { type Effort, measure } from "./measure.ts";
import {
  createVolume,
  get,
  openVolume,
  type Pools,
  startThreads,
  writeVolume,
} from "./volume_arrays.ts";
import {
  limitsOf,
  type Measured,
  ours,
  theirs,
  timesTable,
} from "./volume_contestants.ts";
import { assertSame, type Volume } from "./volume_data.ts";
import type { Peer } from "./volume_peer.ts";

/** The greatest ratios of the time of `setSharded` with two threads to that of peers. */
const MOST = { "zarr-python": 0.85, TensorStore: 1.15 };

/** A way to write arrays by `setSharded`. */
interface Writer {
  readonly name: string;
  /** The number of threads beside the calling one. */
  readonly threads: number;
  /** The pool of the threads, which start before the run. */
  readonly pool?: ThreadPool;
  readonly most?: Readonly<Record<string, number>>;
}

function writersOf(pools: Pools): Writer[] {
  return [
    { name: "setSharded, 1 thread", threads: 1, pool: pools[1] },
    { name: "setSharded, 2 threads", threads: 2, pool: pools[2], most: MOST },
    { name: "setSharded, 2 threads that start", threads: 2 },
  ];
}

/** Writes the volume into files, by `setSharded` and by peers. */
export async function measureWriting(
  { path, description, isDisk }: Folder,
  volume: Volume,
  peers: readonly Peer[],
  pools: Pools,
  effort: Effort,
): Promise<Measured> {
  const folder = `${path}/written`;
  const layout = volume.ours[0]!;
  const contestants = [
    ...peers.map((peer) => ({
      layout: volume.layoutOf(peer.name),
      pool: undefined,
      ...theirs(peer, () => peer.ask("write", { path: folder })),
    })),
    ...writersOf(pools).map(({ name, threads, pool, most }) => ({
      layout,
      pool,
      ...ours({
        name,
        threads,
        most,
        async run() {
          const { data, layouts } = volume;
          await writeVolume(folder, layouts[layout]!, data, pool ?? threads);
          return 0;
        },
      }),
    })),
  ].map((contestant) => ({
    ...contestant,
    /** Creates the array that the next run writes. */
    async prepare() {
      await createVolume(folder, volume.layouts[contestant.layout]!);
      // Data that an earlier run left to be written would slow the next one.
      if (isDisk) await command("sync", []);
      await startThreads(contestant.pool);
    },
  }));
  for (const { name, layout, prepare, run } of contestants) {
    await prepare();
    await run();
    const store = withZarrParts(new FileSystemStore(folder));
    const found = await get(await openVolume(store));
    assertSame(volume.data, found, `${name}, read by zarrita,`);
    const [peer] = peers; // One is enough, and all would take minutes.
    if (peer && volume.layoutOf(peer.name) === layout) {
      await peer.ask("check", { path: folder });
    }
  }
  const timings = await measure(contestants, effort);
  const title = `Writing the volume into files ${description}: ${volume.name}`;
  return {
    table: timesTable(title, contestants, timings),
    limits: limitsOf(title, contestants, timings),
  };
}
