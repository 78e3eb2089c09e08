import { convert } from "../jobs.ts";
import { arrayMetadata, type Store, type StoreKey } from "../mod.ts";
import { MIB } from "./bytes.ts";
import type { Table } from "./table.ts";

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
