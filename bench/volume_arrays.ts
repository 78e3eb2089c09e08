/** How the arrays of volumes are stored, read and written. */
import * as zarr from "zarrita";
import {
  arrayMetadata,
  createArrayChunks,
  FileSystemStore,
  MemoryStore,
} from "../mod.ts";
import {
  getSharded,
  type GetShardedOptions,
  registerCodecs,
  setSharded,
  type SetShardedOptions,
  type ThreadPool,
  withZarrParts,
} from "../zarrita.ts";
import type { Elements, Layout, Region } from "./volume_data.ts";

registerCodecs(zarr);

/** An array of zarrita. */
export type VolumeArray = zarr.Array<"uint8" | "uint16" | "float32">;

/** Opens the array of a volume by zarrita. */
export async function openVolume(
  store: zarr.AsyncReadable,
): Promise<VolumeArray> {
  return await zarr.open.v3(store, { kind: "array" }) as VolumeArray;
}

/** Creates an array in a folder, in place of what is there. */
export async function createVolume(
  folder: string,
  { metadata }: Layout,
): Promise<void> {
  await Deno.remove(folder, { recursive: true }).catch(() => {});
  await createArrayChunks(new FileSystemStore(folder), "", metadata);
}

/** Opens the array in a folder, and writes all elements by `setSharded`. */
export async function writeVolume(
  folder: string,
  { container }: Layout,
  data: Elements,
  threads?: SetShardedOptions["threads"],
): Promise<void> {
  const array = await openVolume(withZarrParts(new FileSystemStore(folder)));
  await setSharded(zarr, array, null, data as never, { container, threads });
}

/** Reads all elements, or those of a region, by zarrita. */
export async function get(
  array: VolumeArray,
  region?: Region,
): Promise<Elements> {
  return (await zarr.get(array, selectionOf(region))).data;
}

/** Reads all elements, or those of a region, by `getSharded`. */
export async function getWith(
  threads: GetShardedOptions["threads"],
  array: VolumeArray,
  region?: Region,
): Promise<Elements> {
  const selection = selectionOf(region);
  return (await getSharded(zarr, array, selection, { threads })).data;
}

/** Writes the elements of a region by `setSharded`. */
export async function setWith(
  threads: SetShardedOptions["threads"],
  array: VolumeArray,
  region: Region,
  elements: Elements,
): Promise<void> {
  const shape = region.map(([start, end]) => end - start);
  const stride = shape.map((_, i) =>
    shape.slice(i + 1).reduce((product, n) => product * n, 1)
  );
  const value = { data: elements, shape, stride };
  const selection = selectionOf(region);
  await setSharded(zarr, array, selection, value as never, { threads });
}

/** Starts the threads of a pool, which end when there has been no work for some time. */
export async function startThreads(threads: ThreadPool): Promise<void> {
  await getWith(threads, await (small ??= makeSmall()));
}

let small: Promise<VolumeArray> | undefined;

/** An array in memory of 16 chunks of 256 KiB. */
async function makeSmall(): Promise<VolumeArray> {
  const store = new MemoryStore();
  const metadata = arrayMetadata({
    shape: [16, 2 ** 18],
    dataType: "uint8",
    chunkShape: [1, 2 ** 18],
    codecs: ["zstd"],
  });
  await createArrayChunks(store, "", metadata);
  const array = await openVolume(withZarrParts(store));
  await setSharded(zarr, array as zarr.Array<"uint8">, null, 1);
  return array;
}

function selectionOf(region: Region | undefined): zarr.Slice[] | null {
  return region?.map(([start, end]) => zarr.slice(start, end)) ?? null;
}
