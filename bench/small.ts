/** Splits and joins 10,000 chunks of 64 KiB in two parts, one after another: `deno task bench small` */
import type { Part, SplitReport } from "../mod.ts";
import { KIB, randomBytes } from "./bytes.ts";
import { command } from "./command.ts";
import {
  CHUNKS,
  type Comparison,
  type Goal,
  type Report,
  type Row,
} from "./comparison.ts";
import {
  AUTO_GOAL,
  BEFORE,
  engineContestants,
  reportNumber,
  viewsOfParts,
} from "./engines.ts";
import { type Folder, makeFolders, removeFolders } from "./folders.ts";
import { type Contestant, type Effort, measure } from "./measure.ts";
import type { Options } from "./options.ts";

const SIZE = 64 * KIB;
const PARTS: { readonly parts: readonly Part[] } = {
  parts: [{ keySuffix: "" }, { keySuffix: ".index", size: 1604 }],
};

/** By default, 40 rounds of 250 chunks are measured, which makes 10,000. */
const CHUNKS_PER_RUN = 250;
const CHECKSUMS = ["none", "compute"] as const;

/** Chunks in files in memory, and in files on disk. */
export async function benchSmall(options: Options): Promise<Report> {
  const count = options.quick ? 20 : CHUNKS_PER_RUN;
  const effort: Effort = options.quick
    ? { ...options, least: 3, warmUps: 1 }
    : { ...options, least: 40, warmUps: 1 };
  const comparisons: Comparison[] = [];
  const folders = await makeFolders(options.disk);
  try {
    for (const folder of folders) {
      comparisons.push(await inFiles(folder, count, effort, options));
    }
  } finally {
    await removeFolders(folders);
  }
  return {
    comparisons,
    note:
      `Chunks of 64 KiB in two parts, the second of 1,604 bytes, one after another, ${count} in each round. Files are joined by \`FileSystemStore.set\`.`,
  };
}

async function inFiles(
  { path, description, isDisk }: Folder,
  count: number,
  effort: Effort,
  { beside }: Options,
): Promise<Comparison> {
  const bytes = randomBytes(SIZE);
  const views = viewsOfParts(PARTS, bytes);
  for (let i = 0; i < count; i++) {
    await Deno.writeFile(`${path}/${i}.chunk`, bytes);
    for (const [keySuffix, view] of views) {
      await Deno.writeFile(`${path}/${i}.part${keySuffix}`, view);
    }
  }
  const made = `${path}/made`;
  async function prepare(): Promise<void> {
    await Deno.remove(made, { recursive: true }).catch(() => {});
    await Deno.mkdir(made);
    // Data that an earlier run left to be written would slow the next one.
    if (isDisk) await command("sync", []);
  }

  const goals = [AUTO_GOAL, { of: "auto", against: [BEFORE], least: 5 }];
  const rows: Row[] = [];
  for (const crc32c of CHECKSUMS) {
    const split = engineContestants(count, beside, ({ library, engine }) => ({
      prepare,
      run: repeat(async (i) =>
        reportNumber(
          await library.splitStream(
            await Deno.open(`${path}/${i}.chunk`),
            PARTS,
            ({ keySuffix }) => Deno.create(`${made}/${i}${keySuffix}`),
            { engine, crc32c },
          ),
        ), count),
    }));
    rows.push(
      await rowOf(`split, ${checksumText(crc32c)}`, split, effort, goals),
    );
    const join = engineContestants(count, beside, ({ library, engine }) => {
      const store = new library.FileSystemStore(made);
      return {
        prepare,
        run: repeat(async (i) => {
          let number = 0;
          const onReport = (report: SplitReport) =>
            number = reportNumber(report);
          const chunk = library.concatStream(
            PARTS,
            ({ keySuffix }) => Deno.open(`${path}/${i}.part${keySuffix}`),
            { engine, crc32c, onReport },
          );
          await store.set(`/${i}`, chunk);
          return number;
        }, count),
      };
    });
    rows.push(
      await rowOf(`join, ${checksumText(crc32c)}`, join, effort, goals),
    );
  }
  return comparison(`in files ${description}`, rows);
}

function comparison(place: string, rows: readonly Row[]): Comparison {
  return {
    title: `Chunks of 64 KiB ${place}`,
    heads: ["Work"],
    unit: CHUNKS,
    rows,
  };
}

async function rowOf(
  label: string,
  contestants: readonly Contestant[],
  effort: Effort,
  goals: readonly Goal[],
): Promise<Row> {
  const timings = await measure(contestants, effort);
  return { labels: [label], timings, goals };
}

function repeat(
  run: (i: number) => Promise<number>,
  count: number,
): Contestant["run"] {
  return async () => {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += await run(i);
    return sum;
  };
}

function checksumText(crc32c: "none" | "compute"): string {
  return crc32c === "none" ? "no CRC32C" : "CRC32C";
}
