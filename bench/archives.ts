/** Reads zip archives, beside the store of zarrita: `deno task bench archives` */
import { ZipFileStore } from "@zarrita/storage";
import { HttpStore, MemoryStore, type StoreKey } from "../mod.ts";
import { makeArchive } from "../tests/zip/archives.ts";
import { ZipStore } from "../zip.ts";
import { randomBytes } from "./bytes.ts";
import type { Report, Row, Unit } from "./comparison.ts";
import { type Contestant, measure } from "./measure.ts";
import type { Options } from "./options.ts";

const READS: Unit = { name: "thousand reads/s", factor: 1 };
const OURS = "zarr-parts";
const ZARRITA = "zarrita";
const KEY = "/x.zarr.zip";

const CHUNKS = 1000;
const CHUNK = 256;
const SHARD = 2 ** 20;
const INNER = 4096;

/** Opening, values, and ranges of a shard, stored and deflated. */
export async function benchArchives(options: Options): Promise<Report> {
  const shard = randomBytes(SHARD);
  const chunk = randomBytes(CHUNK);
  const archive = new Uint8Array(makeArchive([
    { name: "zarr.json", content: new TextEncoder().encode("{}") },
    { name: "stored", content: shard },
    { name: "extra", content: shard, localExtra: 28 },
    { name: "deflated", content: shard, isDeflated: true },
    ...Array.from({ length: CHUNKS }, (_, i) => ({
      name: `c/${i}`,
      content: chunk,
    })),
  ]));
  const inMemory: Opener[] = [
    [OURS, () => new ZipStore(new MemoryStore([[KEY, archive]]), KEY)],
    [ZARRITA, () => new ZipFileStore(readerOf(archive))],
  ];
  return {
    comparisons: [{
      title: "Archives",
      heads: ["Work"],
      unit: READS,
      rows: await compare(inMemory, options),
    }],
    tables: [{
      title: "Requests over HTTP",
      head: ["Step", OURS, ZARRITA],
      rows: await countRequests(archive),
    }],
    note: `An archive of ${
      CHUNKS + 4
    } entries in memory. Ranges of 4 KiB of shards of 1 MiB. zarrita's store is \`ZipFileStore\`.`,
  };
}

/** Opens an archive anew. */
type Opener = readonly [name: string, open: () => Readable];

/** What both stores can do. */
interface Readable {
  get(key: StoreKey): Promise<Uint8Array | undefined>;
  getRange?(
    key: StoreKey,
    range: { offset: number; length: number },
  ): Promise<Uint8Array | undefined>;
}

async function compare(
  openers: readonly Opener[],
  options: Options,
): Promise<Row[]> {
  const row = async (
    label: string,
    amount: number,
    run: (store: Readable) => Promise<number>,
    opens = false,
  ): Promise<Row> => {
    const contestants = openers.map(([name, open]): Contestant => {
      const store = open();
      return { name, amount, run: () => run(opens ? open() : store) };
    });
    const timings = await measure(contestants, options);
    return { labels: [label], timings, goals: [] };
  };
  return [
    await row("open, read zarr.json", 1, document, true),
    await row("values of 256 bytes", CHUNKS, values),
    await row("ranges, stored", 256, ranges("/stored", 256)),
    await row("ranges, with an extra field", 256, ranges("/extra", 256)),
    await row("ranges, deflated", 16, ranges("/deflated", 16)),
  ];
}

const document = async (store: Readable) =>
  (await store.get("/zarr.json"))!.length;

const values = async (store: Readable) => {
  let sum = 0;
  for (let i = 0; i < CHUNKS; i++) {
    sum += (await store.get(`/c/${i}`))!.length;
  }
  return sum;
};

const ranges = (key: StoreKey, count: number) => async (store: Readable) => {
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const offset = SHARD / count * i;
    const range = { offset, length: INNER };
    sum += (await store.getRange!(key, range))!.at(-1)!;
  }
  return sum;
};

const STEPS: readonly [string, (store: Readable) => Promise<number>][] = [
  ["open, read zarr.json", document],
  ["a further value", async (store) => (await store.get("/c/0"))!.length],
  ["a range, stored", ranges("/stored", 1)],
  ["a range, with an extra field", ranges("/extra", 1)],
  ["a further range of it", ranges("/extra", 1)],
  ["a range, deflated", ranges("/deflated", 1)],
  ["a further range of it", ranges("/deflated", 1)],
];

/** The requests of each step, for each store. */
async function countRequests(archive: Uint8Array): Promise<string[][]> {
  const server = serverOf(archive);
  const { fetch } = globalThis;
  globalThis.fetch = (input, init) => server.answer(new Request(input, init));
  const rows = STEPS.map(([label]) => [label]);
  try {
    const files = new HttpStore("https://example.org");
    for (
      const open of [
        () => new ZipStore(files, KEY),
        () => ZipFileStore.fromUrl(`https://example.org${KEY}`),
      ]
    ) {
      server.requests = 0;
      const store: Readable = open();
      for (const [i, [, step]] of STEPS.entries()) {
        await step(store);
        rows[i]!.push(`${server.requests}`);
        server.requests = 0;
      }
    }
  } finally {
    globalThis.fetch = fetch;
  }
  return rows;
}

/** The bytes of a file, for zarrita's store. */
function readerOf(file: Uint8Array<ArrayBuffer>) {
  return {
    getLength: () => Promise.resolve(file.length),
    read: (offset: number, length: number) =>
      Promise.resolve(file.slice(offset, offset + length)),
  };
}

/** Answers requests for a file, and counts them. */
function serverOf(file: Uint8Array) {
  return {
    requests: 0,
    answer({ method, headers }: Request): Promise<Response> {
      this.requests++;
      const length = { "content-length": `${file.length}`, "etag": '"1"' };
      if (method === "HEAD") {
        return Promise.resolve(new Response(null, { headers: length }));
      }
      const [, first, last] = /^bytes=(\d*)-(\d*)$/
        .exec(headers.get("range") ?? "bytes=0-")!;
      const start = first
        ? Number(first)
        : Math.max(0, file.length - Number(last));
      const end = first && last
        ? Math.min(Number(last) + 1, file.length)
        : file.length;
      return Promise.resolve(
        new Response(file.slice(start, end), {
          status: 206,
          headers: {
            "content-range": `bytes ${start}-${end - 1}/${file.length}`,
            "etag": '"1"',
          },
        }),
      );
    },
  };
}
