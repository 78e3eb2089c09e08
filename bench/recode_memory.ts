import { arrayMetadata, createArrayChunks, FileSystemStore } from "../mod.ts";
import type { Recoding } from "../jobs.ts";
import { MIB } from "./bytes.ts";
import { sizeText } from "./comparison.ts";
import type { Options } from "./options.ts";
import { peakOf } from "./peak_of.ts";
import { zstdCompressSync } from "node:zlib";
import type { Table } from "./table.ts";

/** The most memory that a recoding may take above an idle program. */
const MOST = 384 * MIB;
/** The number of planes with contents of their own. */
const PLANES = 64;
const SIDE = 512;

const WORKS: readonly (readonly [label: string, recode: Recoding])[] = [
  ["cubes in shards of 32 MiB", {
    codecs: "zstd:1",
    chunks: [64, 64, 64],
    shards: [256, 256, 256],
  }],
  ["no codec, in shards of 128 MiB", {
    codecs: "none",
    shards: [256, SIDE, SIDE],
  }],
  ["one shard of all", {
    codecs: "zstd:1",
    chunks: [1, 256, 256],
    shards: [16384, SIDE, SIDE],
  }],
];

/**
 * Measures the peak memory of recodings, above that of a program that does nothing.
 * Measured on Linux only.
 */
export async function measureRecodePeaks(
  { quick, disk }: Options,
): Promise<Table> {
  const count = quick ? 2 * PLANES : 16384;
  const size = count * SIDE * SIDE * 2;
  const title = `Peak memory above that of an idle program, from ${
    sizeText(size)
  } of planes in zstd, in MiB`;
  const head = ["To", "MiB", `≤ ${MOST / MIB}`];
  const folder = await Deno.makeTempDir({
    prefix: "zarr-parts-bench-",
    ...disk === undefined ? {} : { dir: disk },
  });
  const [source, target] = [`${folder}/source`, `${folder}/target`];
  const peak = (recode?: Recoding) =>
    peakOf("recode_memory_program.ts", [
      source,
      target,
      ...recode ? [JSON.stringify(recode)] : [],
    ]);
  try {
    const idle = await peak();
    if (idle === undefined) {
      return { title: `${title}: measured on Linux only`, head, rows: [] };
    }
    await makePlanes(source, count);
    const rows: string[][] = [];
    for (const [label, recode] of WORKS) {
      const above = (await peak(recode))! - idle;
      await Deno.remove(target, { recursive: true });
      rows.push([
        label,
        (above / MIB).toFixed(0),
        above <= MOST ? "met" : "missed",
      ]);
    }
    return { title, head, rows };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Makes an array of planes, whose files are links to few ones, so that it takes little space. */
async function makePlanes(folder: string, count: number): Promise<void> {
  const metadata = arrayMetadata({
    shape: [count, SIDE, SIDE],
    dataType: "uint16",
    chunkShape: [1, SIDE, SIDE],
    codecs: ["zstd"],
  });
  const store = new FileSystemStore(folder);
  const chunks = await createArrayChunks(store, "", metadata);
  for (let z = 0; z < PLANES; z++) {
    const plane = Uint16Array.from(
      { length: SIDE * SIDE },
      (_, i) => i % SIDE + 3 * z + (Math.imul(i, 0x9e3779b1) >>> 26),
    );
    const encoded = zstdCompressSync(new Uint8Array(plane.buffer));
    await chunks.set([z, 0, 0], new Uint8Array(encoded));
  }
  for (let z = PLANES; z < count; z++) {
    await Deno.mkdir(`${folder}/c/${z}/0`, { recursive: true });
    await Deno.link(
      `${folder}/c/${z % PLANES}/0/0`,
      `${folder}/c/${z}/0/0`,
    );
  }
}
