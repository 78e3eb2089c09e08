import { FileSystemStore as ZarritaFileSystemStore } from "@zarrita/storage";
import { FetchStore } from "zarrita";
import * as zarr from "zarrita";
import { crc32c, FileSystemStore, HttpStore, type Store } from "../mod.ts";
import { withZarrParts } from "../zarrita.ts";
import { type Contestant, seededRandom } from "./measure.ts";
import { inMemory, type ReadFolders } from "./read_folders.ts";

/** A way to read the elevation model. */
export interface Reader {
  readonly name: string;
  /** Makes the store that zarrita opens: a new one each time, so that no index is cached. */
  open(count: () => void): zarr.AsyncReadable;
}

/** Readers of one kind of store. The first one is zarrita alone with the plain array. */
export interface ReaderGroup {
  readonly title: string;
  readonly readers: readonly [Reader, ...Reader[]];
}

/** Reads something, and returns a checksum of it. */
export type Work = (array: zarr.Array<"int16">) => Promise<number>;

/** Reads the whole elevation model. */
export const WHOLE: Work = async (array) => {
  const { data } = await zarr.get(array);
  return crc32c(new Uint8Array(data.buffer));
};

/** Reads 1,000 random inner chunks one after another, the same ones in every run. */
export const RANDOM: Work = async (array) => {
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
};

/** Opens the array and does the work. */
export function contestant(
  { name, open }: Reader,
  work: Work,
): Contestant {
  return {
    name,
    amount: 1,
    async run() {
      return await work(await openArray(open(() => {})));
    },
  };
}

/** The number of requests of the work, including those for metadata. */
export async function requests({ open }: Reader, work: Work): Promise<number> {
  let count = 0;
  await work(await openArray(open(() => count++)));
  return count;
}

async function openArray(
  store: zarr.AsyncReadable,
): Promise<zarr.Array<"int16">> {
  return await zarr.open.v3(store, { kind: "array" }) as zarr.Array<"int16">;
}

/** Readers of memory, of files, and over HTTP from the servers of the two folders. */
export async function readerGroups(
  folders: ReadFolders,
  urls: ReadFolders,
): Promise<ReaderGroup[]> {
  const plain = await inMemory(folders.plain);
  const parts = await inMemory(folders.parts);
  return [{
    title: "In memory",
    readers: [
      { name: "zarrita, plain", open: (count) => counted(plain, count) },
      {
        name: "withZarrParts, in parts",
        open: (count) => withZarrParts(counted(parts, count)),
      },
    ],
  }, {
    title: "From files",
    readers: [
      {
        name: "zarrita, its FileSystemStore, plain",
        open: (count) =>
          counted(new ZarritaFileSystemStore(folders.plain), count),
      },
      {
        name: "withZarrParts, zarrita's FileSystemStore, in parts",
        open: (count) =>
          withZarrParts(
            counted(new ZarritaFileSystemStore(folders.parts), count),
          ),
      },
      {
        name: "withZarrParts, our FileSystemStore, in parts",
        open: (count) =>
          withZarrParts(counted(new FileSystemStore(folders.parts), count)),
      },
    ],
  }, {
    title: "Over HTTP on this machine",
    readers: [
      {
        name: "zarrita, its FetchStore, plain",
        open: (count) => new FetchStore(urls.plain, fetching(count)),
      },
      {
        name: "withZarrParts, zarrita's FetchStore, in parts",
        open: (count) =>
          withZarrParts(new FetchStore(urls.parts, fetching(count))),
      },
      {
        name: "withZarrParts, our HttpStore, in parts",
        open: (count) =>
          withZarrParts(new HttpStore(urls.parts, fetching(count))),
      },
    ],
  }];
}

/** Counts the requests that are sent. */
function fetching(count: () => void) {
  return {
    fetch(request: Request) {
      count();
      return fetch(request);
    },
  };
}

/** A read-only store with the methods of the store below, which counts the requests. */
function counted(
  store: Pick<Store, "get" | "getRange" | "size">,
  count: () => void,
): Store {
  const counting: Store = {
    get(key, options) {
      count();
      return store.get(key, options);
    },
    getRange(key, range, options) {
      count();
      return store.getRange!(key, range, options);
    },
  };
  if (typeof store.size === "function") {
    counting.size = (key, options) => {
      count();
      return store.size!(key, options);
    };
  }
  return counting;
}
