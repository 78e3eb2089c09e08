/**
 * Runs the cases of github.com/zarrs/zarr_benchmarks, the comparison of the field, on its data:
 * `deno task bench field`. As there, each measurement is a whole process, and the best of
 * several counts. `field_program.ts` and `field_peer.py` are what is measured.
 *
 * `ZARR_PARTS_FULL=1` takes arrays of its size, and as many runs.
 */
import { fileURLToPath } from "node:url";
import { type ArrayMetadata, arrayMetadata } from "../mod.ts";
import { PYTHON } from "../tests/interop/python.ts";
import { chooseStandardLibrary } from "../tools/standard_library.ts";
import { makeFolders, removeFolders } from "./folders.ts";
import type { Options } from "./options.ts";
import { numberText, type Report, type Table } from "./report.ts";
import { createVolume, writeVolume } from "./volume_arrays.ts";

const OURS = "zarr_parts";
const PROGRAM = import.meta.resolve("./field_program.ts");
/** The libraries of Python, by the names that the comparison gives them, and their modules. */
const PEERS = {
  tensorstore_python: "tensorstore",
  zarr_python: "zarr",
  zarrs_python: "zarrs",
};

/** How much is measured. */
interface Extent {
  /** The length of an array along each of three dimensions. */
  readonly size: number;
  /** The number of runs, of which the best one counts. */
  readonly bestOf: number;
  /** The numbers of inner chunks that are read at once. */
  readonly concurrencies: readonly number[];
}

const QUICK: Extent = { size: 128, bestOf: 1, concurrencies: [1] };
const SHORT: Extent = { size: 512, bestOf: 2, concurrencies: [1, 4] };
const FULL: Extent = { size: 1024, bestOf: 5, concurrencies: [1, 2, 4, 8] };

/** The image whose inner chunks are read. */
const SHARDED = "benchmark_compress_shard.zarr";

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
    "benchmark.zarr": arrayMetadata(array),
    "benchmark_compress.zarr": arrayMetadata({ ...array, codecs }),
    [SHARDED]: arrayMetadata({
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
  const { size, bestOf, concurrencies } = quick ? QUICK : isFull ? FULL : SHORT;
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
        measured.push(await best(run, args, bestOf));
      }
      return [
        ...labels,
        ...measured.map(({ seconds }) => numberText(seconds)),
        ...measured.map(({ gigabytes }) => numberText(gigabytes)),
      ];
    };
    const names = Object.keys(programs);
    const head = ["Time (s)", "Memory (GB)"].flatMap((metric) =>
      names.map((name) => `${metric}: ${name}`)
    );
    const readAll: string[][] = [];
    const roundTrip: string[][] = [];
    for (const name of Object.keys(images)) {
      const image = `${path}/${name}`;
      const label = [`data/${name}`];
      readAll.push(await measureAll(label, "--read_all", image));
      roundTrip.push(await measureAll(label, image, `${path}/output`));
    }
    const subchunks: string[][] = [];
    for (const count of concurrencies) {
      subchunks.push(
        await measureAll(
          [`data/${SHARDED}`, `${count}`],
          ...["--subchunks", "--concurrent_chunks", `${count}`],
          `${path}/${SHARDED}`,
        ),
      );
    }
    const table = (
      title: string,
      words: readonly string[],
      rows: string[][],
    ): Table => ({
      title,
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
        `Arrays of ${size}³ elements of uint16, best of ${bestOf} processes. The page cache is warm: there, it is cleared before each. \`ZARR_PARTS_FULL=1\` measures arrays of 1024³ elements, as there, and the best of 5.`,
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
        ["run", "--no-check", "-A", PROGRAM, ...args],
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
  for (const [name, module] of Object.entries(PEERS)) {
    const { success } = await new Deno.Command(path, {
      args: ["-c", `import ${module}`],
      stderr: "null",
    }).output();
    if (!success) {
      console.log(
        `${name} is not measured; bench/requirements.txt lists the packages\n`,
      );
      continue;
    }
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
