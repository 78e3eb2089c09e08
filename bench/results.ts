import { ensureDir } from "@std/fs/ensure-dir";
import { deno } from "../tools/deno.ts";
import { drawChart } from "./chart.ts";
import type { Options } from "./options.ts";
import { markdownOf, type Report, score, tablesOf } from "./report.ts";

/** A benchmark that runs by its name. */
export interface Benchmark {
  readonly title: string;
  run(options: Options): Promise<Report>;
}

const FOLDER = new URL("results/", import.meta.url);

/**
 * Writes a page with the tables of a benchmark, its chart, and the list of all pages.
 *
 * @param benchmarks All benchmarks by name, in the order of the list.
 */
export async function writeResults(
  name: string,
  report: Report,
  options: Options,
  benchmarks: Readonly<Record<string, Benchmark>>,
): Promise<void> {
  await ensureDir(FOLDER);
  const { title } = benchmarks[name]!;
  const { comparisons = [], note } = report;
  const blocks = [
    `# ${title}`,
    `Written on ${new Date().toISOString().slice(0, 10)} by \`${
      commandOf(name, options)
    }\` on:`,
    (await describeMachine()).map((line) => `- ${line}`).join("\n"),
    `${note} ${score(report)}`,
  ];
  if (comparisons.length > 0) {
    blocks.push(METHOD, ...options.beside ? [BEFORE_METHOD] : []);
    await write(`${name}.svg`, drawChart(comparisons));
    blocks.push(`![${title}](${name}.svg)`);
  }
  blocks.push(...tablesOf(report).map(markdownOf));
  await write(`${name}.md`, blocks.join("\n\n"));
  await write("README.md", await listOfPages(benchmarks));
  await deno(["fmt", "--quiet", FOLDER.pathname], { output: "inherit" });
}

/** Lists the pages that are there, in the order in which the benchmarks run. */
async function listOfPages(
  benchmarks: Readonly<Record<string, Benchmark>>,
): Promise<string> {
  const entries = await Array.fromAsync(Deno.readDir(FOLDER));
  const files = new Set(entries.map(({ name }) => name));
  const lines = Object.entries(benchmarks)
    .filter(([name]) => files.has(`${name}.md`))
    .map(([name, { title }]) => `- [${title}](${name}.md)`);
  return `# Results\n\n${lines.join("\n")}\n\n${FIELD}`;
}

/** How to measure the package in the comparison of the field. */
const FIELD = `## In the comparison of the field

[zarrs/zarr_benchmarks](https://github.com/zarrs/zarr_benchmarks) compares libraries for Zarr. \`deno task bench field\` makes its arrays and runs three of its four benchmarks here; \`ZARR_PARTS_FULL=1\` makes them as large as there. \`bench/field_program.ts\` takes the arguments of its programs, so that the package can be measured there, too:

1. Set up that repository as its README says, and clone this one beside it.
2. In each \`src/zarr_benchmarks/run_benchmark_*.py\`, add \`"zarr_parts_deno"\` to \`implementations\`, and to \`implementation_to_args\` the command of its programs, followed by the options that the others have:

   | benchmark | options |
   | --- | --- |
   | \`read_all\` | \`"--read_all"\` |
   | \`read_chunks\` | \`"--concurrent_chunks"\` |
   | \`read_subchunks\` | \`"--subchunks", "--concurrent_chunks"\` |
   | \`roundtrip\` | none |

   \`\`\`python
   "zarr_parts_deno": [
       "deno", "run", "-A", "--no-check", "../zarr-parts/bench/field_program.ts",
       "--read_all",
   ],
   \`\`\`

3. Run \`just benchmark_all\`, and \`just plot\`.`;

const METHOD =
  "Speeds are medians over interleaved rounds in one process; 1 GB is 10^9 bytes. Ratios are medians of the ratios of the single rounds. The results of all contestants are compared. `auto / fastest engine` compares `auto` with the faster of `wasm` and `native`.";

const BEFORE_METHOD =
  "The column `before` is the version before the splitter moved into the module, measured in the same rounds: `git worktree add ../before 28d10f7`, then `--beside=../before/mod.ts`.";

function commandOf(
  name: string,
  { beside, quick, seconds, most }: Options,
): string {
  return [
    `deno task bench ${name} --write`,
    ...quick ? ["--quick"] : [`--seconds=${seconds}`],
    ...most === undefined ? [] : [`--rounds=${most}`],
    ...beside ? ["--beside=../before/mod.ts"] : [],
  ].join(" ");
}

async function write(name: string, text: string): Promise<void> {
  await Deno.writeTextFile(new URL(name, FOLDER), `${text}\n`);
  console.log(`Wrote bench/results/${name}`);
}

/** Describes the machine in a few lines, without names that identify it. */
async function describeMachine(): Promise<string[]> {
  const cpu = await cpuInfo();
  const gibibytes = Math.round(Deno.systemMemoryInfo().total / 1024 ** 3);
  const { hardwareConcurrency } = navigator;
  return [
    `${cpu.model}, ${hardwareConcurrency} cores${
      cpu.isVirtual ? " of a virtual machine" : ""
    }, ${gibibytes} GiB of memory`,
    `${Deno.build.os} ${Deno.osRelease()} on ${Deno.build.arch}`,
    `Deno ${Deno.version.deno} with V8 ${Deno.version.v8}`,
  ];
}

async function cpuInfo(): Promise<{ model: string; isVirtual: boolean }> {
  const text = await Deno.readTextFile("/proc/cpuinfo").catch(() => "");
  return {
    model: /^model name\s*: (.*)$/m.exec(text)?.[1] ?? "A CPU of unknown model",
    isVirtual: /^flags\s*:.* hypervisor( |$)/m.test(text),
  };
}
