/** Starts the command of the package for npm: `deno task bench start` */
import { fileURLToPath } from "node:url";
import { findOnPath } from "../tests/support/tools.ts";
import { buildPackage } from "../tools/npm/build_package.ts";
import { loadText } from "./folders.ts";
import { type Contestant, measure } from "./measure.ts";
import type { Options } from "./options.ts";
import { MILLISECONDS, type Report } from "./report.ts";

const ARRAY = fileURLToPath(
  new URL("../tests/fixtures/dem.zarr", import.meta.url),
);
const EMPTY = "empty program of Deno";

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
    const node = await findOnPath(["node"]);
    const programs = {
      [EMPTY]: inDeno(empty),
      "--version": inDeno(`${bin}/command.js`, "--version"),
      "inspect": inDeno(`${bin}/command.js`, "inspect", ARRAY),
      "verify": inDeno(`${bin}/command.js`, "verify", ARRAY),
      ...node && {
        "empty program of Node": [node, empty],
        "inspect by Node, as npm starts it": [
          ...[node, `${bin}/zarr-parts.js`, "inspect", ARRAY],
        ],
      },
    };
    const timings = await measure(
      Object.entries(programs).map(([name, command]) =>
        contestant(name, command)
      ),
      { ...options, least: options.quick ? 3 : 9 },
    );
    const goals = [{ of: "inspect", against: [EMPTY], bound: 2 }];
    return {
      comparisons: [{
        title: "Start and end of programs",
        heads: [],
        unit: MILLISECONDS,
        rows: [{ labels: [], timings, goals }],
      }],
      note:
        `\`inspect\` and \`verify\` of tests/fixtures/dem.zarr, a local array of 12 shards, by the bundled command. ${loadText()}`,
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
    async run() {
      const { code } = await command.spawn().status;
      if (code !== 0) throw new Error(`${name} ended with ${code}`);
      return code;
    },
  };
}
