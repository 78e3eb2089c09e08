/**
 * Runs the cases of github.com/zarrs/zarr_benchmarks, the comparison of the field, on its data:
 * `deno task bench field`. As there, each measurement is a whole process, and the best of
 * several counts. The arrays are an eighth as large as there, unless `ZARR_PARTS_FULL=1`.
 *
 * This file is also the program that is measured, with the arguments of the programs there:
 *
 *     field.ts --read_all PATH
 *     field.ts --subchunks --concurrent_chunks=N PATH
 *     field.ts PATH OUTPUT
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import {
  type ArrayMetadata,
  arrayMetadata,
  FileSystemStore,
  openArrayChunks,
} from "../mod.ts";
import { PYTHON } from "../tests/interop/python.ts";
import { chooseStandardLibrary } from "../tools/standard_library.ts";
import { ThreadPool, withZarrParts } from "../zarrita.ts";
import { makeFolders, removeFolders } from "./folders.ts";
import type { Options } from "./options.ts";
import { numberText, type Report, type Table } from "./report.ts";
import {
  createVolume,
  getWith,
  openVolume,
  setWith,
  writeVolume,
} from "./volume_arrays.ts";
import type { Region } from "./volume_data.ts";

const OURS = "zarr_parts";
const PEERS = ["tensorstore_python", "zarr_python"] as const;
const BEST_OF = 3;
/** The numbers of inner chunks that are read at once. */
const CONCURRENCIES = [1, 2, 4, 8];

/** The images of the comparison by name. */
function imagesOf(size: number): Record<string, ArrayMetadata> {
  const array = {
    shape: [size, size, size],
    dataType: "uint16",
    chunkShape: [size / 4, size / 4, size / 4],
  } as const;
  const codecs = [{ name: "zstd", configuration: { level: 0 } }];
  const inner = size / 16;
  return {
    benchmark: arrayMetadata(array),
    benchmark_compress: arrayMetadata({ ...array, codecs }),
    benchmark_compress_shard: arrayMetadata({
      ...array,
      codecs,
      shardShape: array.chunkShape,
      chunkShape: [inner, inner, inner],
    }),
  };
}

/** Reading all, the round trip and reading inner chunks, in seconds and GB of resident memory. */
export async function benchField(
  { quick, disk }: Options,
): Promise<Report> {
  const isFull = Deno.env.get("ZARR_PARTS_FULL") === "1";
  const size = quick ? 128 : isFull ? 1024 : 512;
  const folders = await makeFolders(disk);
  try {
    const { path } = folders.at(-1)!;
    const images = imagesOf(size);
    for (const [name, metadata] of Object.entries(images)) {
      await createVolume(`${path}/${name}`, { metadata });
      await writeVolume(`${path}/${name}`, { metadata }, elementsOf(size));
    }
    const programs = await programsOf();
    const measureAll = async (labels: string[], ...args: string[]) => {
      const measured: Measured[] = [];
      for (const run of Object.values(programs)) {
        measured.push(await best(run, args, quick ? 1 : BEST_OF));
      }
      return [
        ...labels,
        ...measured.map(({ seconds }) => numberText(seconds)),
        ...measured.map(({ gigabytes }) => numberText(gigabytes)),
      ];
    };
    const names = Object.keys(programs);
    const head = [...names, ...names.map((name) => `GB: ${name}`)];
    const readAll: string[][] = [];
    const roundTrip: string[][] = [];
    for (const name of Object.keys(images)) {
      const image = `${path}/${name}`;
      readAll.push(await measureAll([name], "--read_all", image));
      roundTrip.push(await measureAll([name], image, `${path}/output`));
    }
    const subchunks: string[][] = [];
    for (const count of CONCURRENCIES) {
      subchunks.push(
        await measureAll(
          ["benchmark_compress_shard", `${count}`],
          ...["--subchunks", `--concurrent_chunks=${count}`],
          `${path}/benchmark_compress_shard`,
        ),
      );
    }
    const table = (
      title: string,
      words: readonly string[],
      rows: string[][],
    ): Table => ({
      title: `${title}, in seconds`,
      labels: words.length,
      head: [...words, ...head],
      rows,
    });
    return {
      tables: [
        table("Read all", ["Image"], readAll),
        table("Round trip", ["Image"], roundTrip),
        table("Read subchunks", ["Image", "Concurrency"], subchunks),
      ],
      note:
        `Arrays of ${size}³ elements of uint16, best of ${BEST_OF} processes. The page cache is warm: there, it is cleared before each.`,
    };
  } finally {
    await removeFolders(folders);
  }
}

/** The elements of the images, in C order. */
function elementsOf(size: number): Uint16Array {
  const data = new Uint16Array(size ** 3);
  let i = 0;
  for (let z = 0; z < size; z++) {
    for (let y = 0; y < size; y++) {
      const row = Math.floor(y * y / 32) + z ** 3;
      for (let x = 0; x < size; x++) data[i++] = (x + row) % 65536;
    }
  }
  return data;
}

/** What a process took. */
interface Measured {
  readonly seconds: number;
  /** The peak of its resident memory. */
  readonly gigabytes: number;
}

/** Runs a program to its end, and returns its output, whose last line is its peak memory in KiB. */
type Run = (args: string[]) => Promise<string>;

async function programsOf(): Promise<Record<string, Run>> {
  const { run } = await chooseStandardLibrary();
  const programs: Record<string, Run> = {
    async [OURS](args) {
      const { code, output } = await run(
        ["run", "--no-check", "-A", import.meta.url, ...args],
        { output: "piped" },
      );
      if (code !== 0) throw new Error(`${OURS} failed: ${output}`);
      return output;
    },
  };
  if ("missing" in PYTHON) {
    console.log(`Peers are not measured: ${PYTHON.missing}\n`);
    return programs;
  }
  const { path } = PYTHON;
  const script = fileURLToPath(import.meta.resolve("./field_peer.py"));
  for (const name of PEERS) {
    programs[name] = async (args) => {
      const { code, stdout } = await new Deno.Command(path, {
        args: ["-B", "-W", "ignore", script, name, ...args],
        stderr: "inherit",
      }).output();
      if (code !== 0) throw new Error(`${name} failed`);
      return new TextDecoder().decode(stdout);
    };
  }
  return programs;
}

/** The shortest time and the least memory of several runs. */
async function best(
  run: Run,
  args: string[],
  count: number,
): Promise<Measured> {
  const runs: Measured[] = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    const output = await run(args);
    runs.push({
      seconds: (performance.now() - start) / 1000,
      gigabytes: Number(output.trim().split("\n").at(-1)) * 1024 / 1e9,
    });
  }
  return {
    seconds: Math.min(...runs.map(({ seconds }) => seconds)),
    gigabytes: Math.min(...runs.map(({ gigabytes }) => gigabytes)),
  };
}

/** The regions of a grid of chunks that begins at the origin. */
function* regionsOf(
  shape: readonly number[],
  chunk: readonly number[],
): Generator<Region> {
  const [first, ...rest] = shape;
  if (first === undefined) return yield [];
  for (let start = 0; start < first; start += chunk[0]!) {
    const end = Math.min(first, start + chunk[0]!);
    for (const region of regionsOf(rest, chunk.slice(1))) {
      yield [[start, end], ...region];
    }
  }
}

/** Takes regions one after another, in so many tasks at once. */
async function forEach(
  regions: Iterator<Region>,
  concurrency: number,
  work: (region: Region) => Promise<unknown>,
): Promise<void> {
  await Promise.all(Array.from({ length: concurrency }, async () => {
    for (let next = regions.next(); !next.done; next = regions.next()) {
      await work(next.value);
    }
  }));
}

/** The measured program. */
async function main(): Promise<void> {
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
  const { shape } = array;
  if (values.read_all) {
    await getWith(pool, array);
  } else if (output === undefined) {
    const regions = regionsOf(shape, array.chunks);
    const count = Number(values.concurrent_chunks ?? 1);
    await forEach(regions, count, (region) => getWith(pool, array, region));
  } else {
    const { metadata, chunkShape } = await openArrayChunks(store);
    await createVolume(output, { metadata });
    const target = await openVolume(withZarrParts(new FileSystemStore(output)));
    const regions = regionsOf(shape, chunkShape);
    await forEach(regions, 2, async (region) => {
      const elements = await getWith(pool, array, region);
      await setWith(pool, target, region, elements);
    });
  }
  const status = await Deno.readTextFile("/proc/self/status");
  console.log(/^VmHWM:\s*(\d+) kB$/m.exec(status)![1]);
}

if (import.meta.main) await main();
