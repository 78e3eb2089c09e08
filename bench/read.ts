/** Reads a sharded array from its parts with zarrita, beside zarrita reading the plain array: `deno task bench read` */
import { FileSystemStore as ZarritaFileSystemStore } from "@zarrita/storage";
import { FetchStore } from "zarrita";
import * as zarr from "zarrita";
import {
  crc32c,
  createArrayChunks,
  FileSystemStore,
  HttpStore,
  MemoryStore,
  openArrayChunks,
  type Store,
} from "../mod.ts";
import { NGINX, NginxServer } from "../tests/stores/nginx.ts";
import { withZarrParts } from "../zarrita.ts";
import { inParts } from "./data.ts";
import { type Effort, measure, seededRandom } from "./measure.ts";
import type { Options } from "./options.ts";
import {
  boundText,
  type Comparison,
  MILLISECONDS,
  type Report,
  type Table,
} from "./report.ts";

const SOURCE = new URL("../tests/fixtures/dem.zarr", import.meta.url);

/** Makes the store that zarrita opens: a new one each time, so that no index is cached. */
type OpenStore = (count: () => void) => zarr.AsyncReadable;

/** Readers of one kind of store by their names. The first one is zarrita alone with the plain array. */
interface ReaderSet {
  readonly title: string;
  readonly readers: Readonly<Record<string, OpenStore>>;
}

type Elevations = zarr.Array<"int16">;

const WORKS: Readonly<Record<string, (array: Elevations) => Promise<number>>> =
  {
    async "the whole elevation model"(array) {
      const { data } = await zarr.get(array);
      return crc32c(new Uint8Array(data.buffer));
    },
    /** One after another, the same ones in every run. */
    async "1,000 random inner chunks"(array) {
      const random = seededRandom(1000);
      let sum = 0;
      for (let i = 0; i < 1000; i++) {
        const coordinates = array.shape.map((length, axis) =>
          Math.floor(random() * Math.ceil(length / array.chunks[axis]!))
        );
        const { data } = await array.getChunk(coordinates);
        sum = crc32c(new Uint8Array(data.buffer), sum);
      }
      return sum;
    },
  };

/** The whole array, and 1,000 inner chunks one after another. */
export async function benchRead({ quick, seconds }: Options): Promise<Report> {
  const effort: Effort = quick
    ? { seconds, least: 3 }
    : { seconds, least: 7, warmUps: 2 };
  const root = await Deno.makeTempDir();
  await using used = new AsyncDisposableStack();
  used.defer(() => Deno.remove(root, { recursive: true }));
  await makeFolders(root);
  const sets = await readerSets(root);
  if ("missing" in NGINX) {
    console.log(`Reading over HTTP is not measured: ${NGINX.missing}\n`);
  } else {
    const own = await Deno.makeTempDir();
    used.defer(() => Deno.remove(own, { recursive: true }));
    const { url } = used.use(await NginxServer.start(NGINX.path, root, own));
    sets.push(overHttp(url));
  }
  const comparisons: Comparison[] = [];
  const counts: string[][] = [];
  for (const { title, readers } of sets) {
    const [plain] = Object.keys(readers);
    for (const [label, work] of Object.entries(WORKS)) {
      const run = async (open: OpenStore, count = () => {}) =>
        await work(
          await zarr.open.v3(open(count), { kind: "array" }) as Elevations,
        );
      const timings = await measure(
        Object.entries(readers)
          .map(([name, open]) => ({ name, run: () => run(open) })),
        effort,
      );
      const goals = Object.keys(readers).slice(1)
        .map((of) => ({ of, against: [plain!], bound: 1.05 }));
      comparisons.push({
        title: `${title}: ${label}`,
        heads: [],
        unit: MILLISECONDS,
        rows: [{ labels: [], timings, goals }],
      });
      let most: number | undefined;
      for (const [name, open] of Object.entries(readers)) {
        let requests = 0;
        await run(open, () => requests++);
        const goal = most === undefined
          ? ""
          : ` ${boundText(requests, most, true)}`;
        most ??= requests;
        counts.push([title, label, name, `${requests}${goal}`]);
      }
    }
  }
  const requests: Table = {
    title: "Requests, including those for metadata",
    labels: 3,
    head: ["", "Work", "Reader", "requests"],
    rows: counts,
  };
  return {
    comparisons,
    tables: [requests],
    note: "Each run opens the array anew, so that no index is cached.",
  };
}

/** Stores the elevation model as it is, and with a suffix and its shards in two parts. */
async function makeFolders(root: string): Promise<void> {
  const source = await openArrayChunks(new FileSystemStore(SOURCE));
  const layouts = {
    plain: source.metadata,
    parts: inParts(source.metadata),
  };
  for (const [name, metadata] of Object.entries(layouts)) {
    const store = new FileSystemStore(`${root}/${name}`);
    const chunks = await createArrayChunks(store, "", metadata);
    for await (const coordinates of source.list()) {
      await chunks.set(coordinates, (await source.get(coordinates))!);
    }
  }
}

/** Readers of memory and of files. */
async function readerSets(root: string): Promise<ReaderSet[]> {
  const [plain, parts] = [`${root}/plain`, `${root}/parts`];
  const memories = await Promise.all([plain, parts].map(inMemory));
  return [{
    title: "In memory",
    readers: {
      "zarrita, plain": (count) => counted(memories[0]!, count),
      "withZarrParts, in parts": (count) =>
        withZarrParts(counted(memories[1]!, count)),
    },
  }, {
    title: "From files",
    readers: {
      "zarrita, its FileSystemStore, plain": (count) =>
        counted(new ZarritaFileSystemStore(plain), count),
      "withZarrParts, zarrita's FileSystemStore, in parts": (count) =>
        withZarrParts(counted(new ZarritaFileSystemStore(parts), count)),
      "withZarrParts, our FileSystemStore, in parts": (count) =>
        withZarrParts(counted(new FileSystemStore(parts), count)),
    },
  }];
}

function overHttp(url: string): ReaderSet {
  const fetching = (count: () => void) => ({
    fetch(request: Request) {
      count();
      return fetch(request);
    },
  });
  return {
    title: "Over HTTP on this machine",
    readers: {
      "zarrita, its FetchStore, plain": (count) =>
        new FetchStore(`${url}/plain`, fetching(count)),
      "withZarrParts, zarrita's FetchStore, in parts": (count) =>
        withZarrParts(new FetchStore(`${url}/parts`, fetching(count))),
      "withZarrParts, our HttpStore, in parts": (count) =>
        withZarrParts(new HttpStore(`${url}/parts`, fetching(count))),
    },
  };
}

/** Copies a folder into memory. */
async function inMemory(folder: string): Promise<MemoryStore> {
  const files = new FileSystemStore(folder);
  const memory = new MemoryStore();
  for await (const key of files.list()) {
    await memory.set(key, (await files.get(key))!);
  }
  return memory;
}

/** A read-only store with the methods of the store below, which counts the requests. */
function counted(
  store: Pick<Store, "get" | "getRange" | "size">,
  count: () => void,
): Store {
  const methods = ["get", "getRange", "size"] as const;
  return Object.fromEntries(
    methods.filter((name) => store[name] !== undefined).map((name) => [
      name,
      (...args: unknown[]) => {
        count();
        return Reflect.apply(store[name]!, store, args);
      },
    ]),
  ) as unknown as Store;
}
