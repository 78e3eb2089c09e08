import { deno } from "../tools/deno.ts";
import { drawChart } from "./chart.ts";
import { type Report, score, tableOf } from "./comparison.ts";
import { describeMachine } from "./machine.ts";
import type { Options } from "./options.ts";
import { markdownOf } from "./table.ts";

const FOLDER = new URL("results/", import.meta.url);

/** The results of one benchmark. */
export interface Result {
  readonly name: string;
  readonly title: string;
  readonly report: Report;
}

/** Writes `results.md` and one chart per benchmark, in place of all earlier files. */
export async function writeResults(
  results: readonly Result[],
  options: Options,
): Promise<void> {
  await Deno.remove(FOLDER, { recursive: true }).catch(() => {});
  await Deno.mkdir(FOLDER);
  const sections: string[] = [];
  for (const { name, title, report } of results) {
    const { comparisons, tables = [], note } = report;
    sections.push(`## ${title}`, `${note} ${score(comparisons)}`);
    if (comparisons.length > 0) {
      await write(`${name}.svg`, drawChart(comparisons));
      sections.push(`![${title}](${name}.svg)`);
    }
    sections.push(
      ...[...comparisons.map(tableOf), ...tables].map(markdownOf),
    );
  }
  const introduction = [
    "# Results",
    `Written on ${new Date().toISOString().slice(0, 10)} by \`${
      commandOf(options)
    }\` on:`,
    (await describeMachine()).map((line) => `- ${line}`).join("\n"),
    METHOD,
    ...options.beside ? [BEFORE_METHOD] : [],
  ];
  await write("results.md", [...introduction, ...sections].join("\n\n"));
  await deno(["fmt", "--quiet", FOLDER.pathname], { output: "inherit" });
}

const METHOD =
  "Speeds are medians over interleaved rounds in one process; 1 GB is 10^9 bytes. Ratios are medians of the ratios of the single rounds. The results of all contestants are compared. `auto / fastest engine` compares `auto` with the faster of `wasm` and `native`.";

const BEFORE_METHOD =
  "The column `before` is the version before the splitter moved into the module, measured in the same rounds: `git worktree add ../before 28d10f7`, then `--beside=../before/mod.ts`.";

function commandOf({ beside, quick, seconds, most }: Options): string {
  return [
    "deno task bench:results",
    ...quick ? ["--quick"] : [`--seconds=${seconds}`],
    ...most === undefined ? [] : [`--rounds=${most}`],
    ...beside ? ["--beside=../before/mod.ts"] : [],
  ].join(" ");
}

async function write(name: string, text: string): Promise<void> {
  await Deno.writeTextFile(new URL(name, FOLDER), `${text}\n`);
  console.log(`Wrote bench/results/${name}`);
}
