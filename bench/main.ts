/**
 * Runs benchmarks, and prints their tables: `deno task bench [NAME…] [options]`
 *
 *     --quick           few sizes and rounds, to see that a benchmark works
 *     --seconds=4       how long each row is measured, after the least number of rounds
 *     --rounds=N        measures each row in at most N rounds
 *     --beside=MODULE   the mod.ts of another version, measured in the same rounds as `before`
 *     --disk=FOLDER     where files on disk are made
 *     --write           writes the tables and charts of these benchmarks into bench/results/
 */
import { score, tableOf } from "./comparison.ts";
import { BENCHMARKS } from "./benchmarks.ts";
import { parseArguments } from "./options.ts";
import { writeResults } from "./results.ts";
import { textOf } from "./table.ts";

const { names, writes, options } = await parseArguments(Deno.args);
for (const name of names) {
  if (Object.hasOwn(BENCHMARKS, name)) continue;
  throw new RangeError(
    `Expected benchmarks of ${
      Object.keys(BENCHMARKS).join(", ")
    }, found ${name}`,
  );
}

for (const [name, { title, run }] of Object.entries(BENCHMARKS)) {
  if (names.length > 0 && !names.includes(name)) continue;
  console.log(`${title}\n`);
  const report = await run(options);
  const tables = [...report.comparisons.map(tableOf), ...report.tables ?? []];
  for (const table of tables) console.log(textOf(table));
  console.log(`${report.note} ${score(report.comparisons)}\n`);
  if (writes) await writeResults(name, report, options);
}
