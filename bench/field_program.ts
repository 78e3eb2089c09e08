/**
 * Reads or copies an array, with the arguments of the programs of
 * github.com/zarrs/zarr_benchmarks; `bench/field.ts` measures it beside others.
 *
 *     field_program.ts --read_all PATH
 *     field_program.ts [--subchunks] [--concurrent_chunks N] PATH
 *     field_program.ts PATH OUTPUT
 *
 * Prints the peak of its resident memory in KiB.
 */
import { parseArgs } from "node:util";
import { FileSystemStore, openArrayChunks } from "../mod.ts";
import { ThreadPool, withZarrParts } from "../zarrita.ts";
import { createVolume, getWith, openVolume, setWith } from "./volume_arrays.ts";
import type { Region } from "./volume_data.ts";

/** The number of chunks of a round trip that are copied at once. */
const COPIES = 2;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    read_all: { type: "boolean" },
    subchunks: { type: "boolean" },
    concurrent_chunks: { type: "string" },
  },
});
const [path, output] = positionals as [string, string?];
await using pool = new ThreadPool();
const store = new FileSystemStore(path);
const array = await openVolume(withZarrParts(store));
const { metadata, chunkShape } = await openArrayChunks(store);
if (values.read_all) {
  await getWith(pool, array);
} else if (output === undefined) {
  const shape = values.subchunks ? array.chunks : chunkShape;
  // As there, all at once if no number is given.
  const count = Number(values.concurrent_chunks ?? Infinity);
  await forEach(
    regionsOf(array.shape, shape),
    count,
    (region) => getWith(pool, array, region),
  );
} else {
  await createVolume(output, { metadata });
  const target = await openVolume(withZarrParts(new FileSystemStore(output)));
  await forEach(
    regionsOf(array.shape, chunkShape),
    COPIES,
    async (region) =>
      await setWith(pool, target, region, await getWith(pool, array, region)),
  );
}
const status = await Deno.readTextFile("/proc/self/status");
console.log(/^VmHWM:\s*(\d+) kB$/m.exec(status)![1]);

/** The regions of a grid of chunks that begins at the origin. */
function regionsOf(
  shape: readonly number[],
  chunk: readonly number[],
): Region[] {
  return shape.reduce<Region[]>((regions, length, i) => {
    const step = chunk[i]!;
    const sections = Array.from(
      { length: Math.ceil(length / step) },
      (_, i) => [i * step, Math.min(length, (i + 1) * step)] as const,
    );
    return regions.flatMap((region) =>
      sections.map((section) => [...region, section])
    );
  }, [[]]);
}

/** Takes regions one after another, in so many tasks at once. */
async function forEach(
  regions: readonly Region[],
  concurrency: number,
  work: (region: Region) => Promise<unknown>,
): Promise<void> {
  const rest = regions.values();
  const length = Math.min(regions.length, concurrency);
  await Promise.all(Array.from({ length }, async () => {
    for (const region of rest) await work(region);
  }));
}
