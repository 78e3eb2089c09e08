/** Reads a sharded array from its parts with zarrita, beside zarrita reading the plain array: `deno task bench read` */
import type { Report } from "./comparison.ts";
import { type Effort, measure, median, type Timing } from "./measure.ts";
import type { Options } from "./options.ts";
import {
  contestant,
  RANDOM,
  type Reader,
  type ReaderGroup,
  readerGroups,
  requests,
  WHOLE,
  type Work,
} from "./read_contestants.ts";
import { makeReadFolders } from "./read_folders.ts";
import type { Table } from "./table.ts";

const MOST_TIME = 1.05;

/** The whole array, and 1,000 inner chunks one after another. */
export async function benchRead({ quick, seconds }: Options): Promise<Report> {
  const effort: Effort = quick
    ? { seconds, least: 3 }
    : { seconds, least: 41, warmUps: 5 };
  const root = await Deno.makeTempDir();
  const servers: Worker[] = [];
  const tables: Table[] = [];
  try {
    const folders = await makeReadFolders(root);
    const urls = {
      plain: await serve(folders.plain, servers),
      parts: await serve(folders.parts, servers),
    };
    for (const group of await readerGroups(folders, urls)) {
      const whole = "the whole elevation model";
      tables.push(await measureGroup(group, whole, WHOLE, effort));
      const chunks = "1,000 random inner chunks";
      tables.push(await measureGroup(group, chunks, RANDOM, effort));
    }
  } finally {
    for (const server of servers) server.terminate();
    await Deno.remove(root, { recursive: true });
  }
  return {
    comparisons: [],
    tables,
    note:
      "Medians of interleaved rounds. Each run opens the array anew, so that no index is cached; requests for metadata count.",
  };
}

/** Serves a folder in a worker, so that it takes no time of who reads. */
async function serve(folder: string, servers: Worker[]): Promise<string> {
  const url = new URL("./read_server.ts", import.meta.url);
  const server = new Worker(url, { type: "module" });
  servers.push(server);
  const port = await new Promise<number>((resolve) => {
    server.onmessage = ({ data }) => resolve(data);
    server.postMessage(folder);
  });
  return `http://127.0.0.1:${port}`;
}

async function measureGroup(
  { title, readers }: ReaderGroup,
  what: string,
  work: Work,
  effort: Effort,
): Promise<Table> {
  const measured = await measure(
    readers.map((reader) => contestant(reader, work)),
    effort,
  );
  const counts: number[] = [];
  for (const reader of readers) counts.push(await requests(reader, work));
  return tableOf(`${title}: ${what}`, readers, measured, counts);
}

function tableOf(
  title: string,
  readers: readonly Reader[],
  measured: readonly Timing[],
  counts: readonly number[],
): Table {
  return {
    title,
    head: ["", "ms", "of plain", "target", "requests", "target"],
    rows: readers.map(({ name }, i) => {
      const time = median(measured[i]!.times);
      const ratio = time / median(measured[0]!.times);
      const isPlain = i === 0;
      return [
        name,
        time.toFixed(2),
        ratio.toFixed(2),
        isPlain ? "" : `${MOST_TIME} ${met(ratio <= MOST_TIME)}`,
        `${counts[i]}`,
        isPlain ? "" : `${counts[0]} ${met(counts[i]! <= counts[0]!)}`,
      ];
    }),
  };
}

function met(isMet: boolean): string {
  return isMet ? "met" : "missed";
}
