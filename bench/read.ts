/**
 * How long zarrita takes to read a sharded array from its parts, and how many
 * requests, beside zarrita reading the plain array: `deno task bench`
 *
 *     --rounds=41      how often each contestant has its turn
 */
import { parseArgs } from "node:util";
import { type Timing, timings } from "./measure_async.ts";
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
import { type Table, textOf } from "./table.ts";

const MOST_TIME = 1.05;

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "41" } },
});
const rounds = Number(values.rounds);

const root = await Deno.makeTempDir();
const servers: Worker[] = [];
try {
  const folders = await makeReadFolders(root);
  const urls = {
    plain: await serve(folders.plain),
    parts: await serve(folders.parts),
  };
  for (const group of await readerGroups(folders, urls)) {
    await measure(group, "the whole elevation model", WHOLE);
    await measure(group, "1,000 random inner chunks", RANDOM);
  }
} finally {
  for (const server of servers) server.terminate();
  await Deno.remove(root, { recursive: true });
}

/** Serves a folder in a worker, so that it takes no time of who reads. */
async function serve(folder: string): Promise<string> {
  const url = new URL("./read_server.ts", import.meta.url);
  const server = new Worker(url, { type: "module" });
  servers.push(server);
  const port = await new Promise<number>((resolve) => {
    server.onmessage = ({ data }) => resolve(data);
    server.postMessage(folder);
  });
  return `http://127.0.0.1:${port}`;
}

async function measure(
  { title, readers }: ReaderGroup,
  what: string,
  work: Work,
): Promise<void> {
  const measured = await timings(
    readers.map((reader) => contestant(reader, work)),
    rounds,
    5,
  );
  const counts: number[] = [];
  for (const reader of readers) counts.push(await requests(reader, work));
  console.log(textOf(tableOf(`${title}: ${what}`, readers, measured, counts)));
}

function tableOf(
  title: string,
  readers: readonly Reader[],
  measured: readonly Timing[],
  counts: readonly number[],
): Table {
  return {
    title: `${title}; medians of ${rounds} interleaved rounds`,
    head: ["", "ms", "of plain", "target", "requests", "target"],
    rows: readers.map(({ name }, i) => {
      const ratio = measured[i]!.median / measured[0]!.median;
      const isPlain = i === 0;
      return [
        name,
        measured[i]!.median.toFixed(2),
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
