import { basename, dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { deno } from "../tools/deno.ts";

/** The parts of the package that the benchmarks use. */
export type Library = Pick<
  typeof import("../mod.ts"),
  | "concatStream"
  | "crc32c"
  | "createArrayChunks"
  | "FileSystemStore"
  | "splitStream"
>;

/** How the benchmarks are run. */
export interface Options {
  /** Measures few sizes in few rounds, to see that the benchmark works. */
  readonly quick: boolean;
  /** How long one row of a table is measured, in seconds. */
  readonly seconds: number;
  /** The greatest number of rounds in which a row is measured. */
  readonly most?: number;
  /** Another version of the package, measured in the same rounds. */
  readonly beside?: Library;
  /** The folder on disk in which files are made. */
  readonly disk?: string;
}

/** The arguments of the command line. */
export interface Arguments {
  /** The names of the benchmarks; empty for all. */
  readonly names: readonly string[];
  /** Whether `bench/results/` is written. */
  readonly writes: boolean;
  readonly options: Options;
}

/** Reads the arguments of the command line. */
export async function parseArguments(
  args: readonly string[],
): Promise<Arguments> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      seconds: { type: "string", default: "0.2" },
      rounds: { type: "string" },
      beside: { type: "string" },
      disk: { type: "string" },
      write: { type: "boolean", default: false },
    },
  });
  const { quick, disk, beside, write } = values;
  const seconds = quick ? 0.05 : Number(values.seconds);
  if (!(seconds > 0)) {
    throw new RangeError(
      `Expected a number of seconds above 0, found ${values.seconds}`,
    );
  }
  return {
    names: positionals,
    writes: write,
    options: {
      quick,
      seconds,
      ...values.rounds === undefined ? {} : { most: Number(values.rounds) },
      ...disk === undefined ? {} : { disk },
      ...beside === undefined ? {} : { beside: await importLibrary(beside) },
    },
  };
}

/** Imports the `mod.ts` of another checkout, bundled with the dependencies that its own `deno.json` names. */
async function importLibrary(path: string): Promise<Library> {
  const module = resolve(path);
  const folder = await Deno.makeTempDir();
  try {
    const bundle = `${folder}/beside.js`;
    const { code, output } = await deno([
      ...["run", "-A", "tools/run.ts"],
      ...["bundle", "--output", bundle, basename(module)],
    ], { cwd: dirname(module), output: "piped" });
    if (code !== 0) throw new Error(`Cannot bundle ${module}: ${output}`);
    return await import(pathToFileURL(bundle).href);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
