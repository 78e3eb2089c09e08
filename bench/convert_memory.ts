import { convert } from "../jobs.ts";
import {
  arrayMetadata,
  FileSystemStore,
  type Store,
  type StoreKey,
} from "../mod.ts";
import { MIB } from "./bytes.ts";
import { peakOf, printPeak } from "./peak_of.ts";
import type { Table } from "./table.ts";

/** The most memory that a conversion may take above an idle program. */
const MOST = 128 * MIB;

/**
 * Measures the peak memory of conversions, above that of a program that does nothing.
 * Measured on Linux only.
 *
 * @param source The folder of an array of shards in one part.
 * @param target A folder that is made and removed.
 */
export async function measureConvertPeaks(
  source: string,
  target: string,
): Promise<Table> {
  const title = "Peak memory above that of an idle program, in MiB";
  const head = ["Chunks at once", "MiB", `≤ ${MOST / MIB}`];
  const peak = (concurrency: number) =>
    peakOf("convert_memory.ts", [source, target, `${concurrency}`]);
  const idle = await peak(0);
  if (idle === undefined) {
    return { title: `${title}: measured on Linux only`, head, rows: [] };
  }
  const rows: string[][] = [];
  for (const concurrency of [1, 4]) {
    const above = (await peak(concurrency))! - idle;
    await Deno.remove(target, { recursive: true });
    rows.push([
      `${concurrency}`,
      (above / MIB).toFixed(0),
      above <= MOST ? "met" : "missed",
    ]);
  }
  return { title, head, rows };
}

/** The time and the memory of dry runs on arrays of many chunks. */
export async function measurePlans(counts: readonly number[]): Promise<Table> {
  const rows: string[][] = [];
  for (const count of counts) {
    const store = manyChunks(count);
    const start = performance.now();
    const { total } = await convert(store, new Map() as unknown as Store, {
      suffix: ".s",
      dryRun: true,
    });
    const time = performance.now() - start;
    const { rss } = Deno.memoryUsage();
    rows.push([
      total.toLocaleString("en"),
      (time / 1e3).toFixed(2),
      (1e3 * time / count).toFixed(2),
      (rss / MIB).toFixed(0),
    ]);
  }
  return {
    title: "Planning many chunks of two parts",
    head: ["Chunks", "s", "µs a chunk", "MiB of the process"],
    rows,
  };
}

/** A store that lists chunks of two parts, and holds none. */
function manyChunks(count: number): Store {
  const metadata = arrayMetadata({
    shape: [count / 100, 100],
    dataType: "uint8",
    chunkShape: [1, 1],
    parts: ["", ".x:4"],
  });
  const document = new TextEncoder().encode(JSON.stringify(metadata));
  return {
    get: (key: StoreKey) =>
      Promise.resolve(key === "/zarr.json" ? document : undefined),
    async *list(): AsyncGenerator<StoreKey> {
      for (let i = 0; i < count; i++) {
        const key: StoreKey = `/c/${Math.floor(i / 100)}/${i % 100}`;
        yield key;
        yield `${key}.x`;
      }
    },
  };
}

// The measured program, which converts an array, or does nothing.
if (import.meta.main) {
  const [source = "", target = "", concurrency = "0"] = Deno.args;
  if (Number(concurrency) > 0) {
    await convert(new FileSystemStore(source), new FileSystemStore(target), {
      parts: ["", ".index"],
      concurrency: Number(concurrency),
    });
  }
  await printPeak();
}
