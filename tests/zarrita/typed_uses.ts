/** Uses of stores and arrays that `types_long_test.ts` lets the compiler check. Nothing runs them. */
import { FileSystemStore as ZarritaFiles } from "@zarrita/storage";
import * as zarr from "zarrita";
import {
  FileSystemStore,
  HttpStore,
  MemoryStore,
  type Store,
} from "../../mod.ts";
import {
  type CodecRegistry,
  setSharded,
  withZarrParts,
  type ZarritaStore,
  type ZarrPartsStore,
} from "../../zarrita.ts";

export const registry: CodecRegistry = zarr.registry;

/** Stores that can be written, and are opened and written without a cast. */
export const writable = {
  map: () => withZarrParts(new Map<string, Uint8Array>()),
  memory: () => withZarrParts(new MemoryStore()),
  files: () => withZarrParts(new FileSystemStore("/")),
  "zarrita's files": () => withZarrParts(new ZarritaFiles("/")),
  extended: () => zarr.extendStore(new MemoryStore(), withZarrParts),
} as const;

export async function write<S extends zarr.AsyncReadable & zarr.AsyncWritable>(
  store: S,
): Promise<void> {
  const array = await zarr.open(store, { kind: "array" });
  if (!array.is("int16")) return;
  const read: zarr.Chunk<"int16"> = await zarr.get(array);
  await zarr.set(array, null, read);
  await setSharded(zarr, array, [null, 1, zarr.slice(2)], read);
  await setSharded(zarr, array, null, 3, {
    prefix: new Uint8Array(3),
    alignment: 8,
    signal: AbortSignal.abort(),
  });
  // @ts-expect-error -- an element of another data type
  await setSharded(zarr, array, null, 3n);
  await zarr.create(store, {
    shape: [1],
    chunkShape: [1],
    dtype: "int8",
    fillValue: 0,
  });
}

export async function read(url: string): Promise<void> {
  const stores = [
    withZarrParts(new zarr.FetchStore(url)),
    zarr.extendStore(new zarr.FetchStore(url), withZarrParts),
    await zarr.extendStore(
      new zarr.FetchStore(url),
      withZarrParts,
      (store) => zarr.withConsolidatedMetadata(store, { format: "v3" }),
    ),
    zarr.extendStore(
      new zarr.FetchStore(url),
      zarr.withRangeCoalescing,
      withZarrParts,
      zarr.withByteCaching,
    ),
    withZarrParts(new HttpStore(url)),
  ];
  for (const store of stores) {
    const array = await zarr.open(store, { kind: "array" });
    await zarr.get(array, null);
    // @ts-expect-error -- it cannot be written
    await zarr.set(array, null, 1);
  }
}

export async function methods(): Promise<void> {
  const memory: ZarrPartsStore<MemoryStore> = withZarrParts(new MemoryStore());
  await Array.fromAsync(memory.list("/"));
  await memory.delete("/c/0");
  // @ts-expect-error -- it would write beside what is shown
  memory.group;
  const fetched = withZarrParts(new zarr.FetchStore(""));
  const url: string | URL = fetched.url;
  await fetched.size("/c/0");
  // @ts-expect-error -- the store below cannot
  await fetched.set("/c/0", new Uint8Array());
  // @ts-expect-error -- the store below cannot
  fetched.list();
  const any: ZarritaStore = fetched;
  const ours: Store = memory;
  return void [url, any, ours];
}
