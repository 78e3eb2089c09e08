/** Starts the command of the package for npm: `deno task bench start` */
import { fileURLToPath } from "node:url";
import { buildPackage } from "../tools/npm/build_package.ts";
import { findOnPath } from "../tests/support/tools.ts";
import type { Report } from "./comparison.ts";
import { type Contestant, measure, median, ratio } from "./measure.ts";
import type { Options } from "./options.ts";

const ARRAY = fileURLToPath(
  new URL("../tests/fixtures/dem.zarr", import.meta.url),
);

/** The start of the command beside an empty program, in milliseconds from the start of the process to its end. */
export async function benchStart(options: Options): Promise<Report> {
  const folder = await Deno.makeTempDir({ prefix: "zarr-parts-bench-" });
  try {
    const bin = `${await buildPackage(folder)}/bin`;
    const empty = `${folder}/empty.js`;
    await Deno.writeTextFile(empty, "");
    const inDeno = (...args: string[]) => [
      Deno.execPath(),
      ...["run", "-A", "--no-config", "--no-lock", ...args],
    ];
    const programs = new Map([
      ["empty program of Deno", inDeno(empty)],
      ["--version", inDeno(`${bin}/command.js`, "--version")],
      ["inspect", inDeno(`${bin}/command.js`, "inspect", ARRAY)],
      ["verify", inDeno(`${bin}/command.js`, "verify", ARRAY)],
    ]);
    const node = await findOnPath(["node"]);
    if (node !== undefined) {
      programs.set("empty program of Node", [node, empty]);
      programs.set("inspect by Node, as npm starts it", [
        ...[node, `${bin}/zarr-parts.js`, "inspect", ARRAY],
      ]);
    }
    const timings = await measure(
      Array.from(programs, ([name, command]) => contestant(name, command)),
      { ...options, least: options.quick ? 3 : 31 },
    );
    const [first] = timings;
    return {
      comparisons: [],
      tables: [{
        title: "Start and end of programs, medians of rounds that take turns",
        head: ["program", "ms", "of the empty program of Deno"],
        rows: timings.map((timing) => [
          timing.name,
          median(timing.times).toFixed(1),
          ratio(first!, timing).toFixed(2),
        ]),
      }],
      note:
        `\`inspect\` and \`verify\` of tests/fixtures/dem.zarr, a local array of 12 shards, by the bundled command. Load average: ${
          Deno.loadavg()[0]!.toFixed(2)
        } on ${navigator.hardwareConcurrency} cores.`,
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A program that starts, does its work and ends. */
function contestant(name: string, [path, ...args]: string[]): Contestant {
  const command = new Deno.Command(path!, {
    args,
    env: { ZARR_PARTS_DENO: Deno.execPath() },
    stdout: "null",
  });
  return {
    name,
    amount: 1,
    async run() {
      const { code } = await command.spawn().status;
      if (code !== 0) throw new Error(`${name} ended with ${code}`);
      return code;
    },
  };
}
