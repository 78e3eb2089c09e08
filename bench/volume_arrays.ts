import * as zarr from "zarrita";
import { createArrayChunks, FileSystemStore } from "../mod.ts";
import {
  getSharded,
  type GetShardedOptions,
  registerCodecs,
  setSharded,
  type SetShardedOptions,
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
  options: SetShardedOptions = {},
): Promise<void> {
  const array = await openVolume(withZarrParts(new FileSystemStore(folder)));
  await setSharded(zarr, array, null, data as never, { container, ...options });
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

function selectionOf(region: Region | undefined): zarr.Slice[] | null {
  return region?.map(([start, end]) => zarr.slice(start, end)) ?? null;
}
