import * as zarr from "zarrita";
import { createArrayChunks, FileSystemStore } from "../mod.ts";
import { registerCodecs, setSharded, withZarrParts } from "../zarrita.ts";
import type { Volume } from "./volume_data.ts";
import { ZARRITA_CODECS } from "./zarrita_codecs.ts";

/** The codec `zstd` of zarrita, and that of this package. */
export type Codecs = "zarrita's codecs" | "registerCodecs";

const ZSTD = "zstd" as const;
const loaders: Record<Codecs, (() => unknown) | undefined> = {
  "zarrita's codecs": ZARRITA_CODECS.get(ZSTD),
  registerCodecs: (registerCodecs(zarr), zarr.registry.get(ZSTD)),
};

/** Lets all arrays that are opened from now on use one of the codecs. */
export function useCodecs(codecs: Codecs): void {
  zarr.registry.set(ZSTD, loaders[codecs] as never);
}

/** An array of uint16 of zarrita. */
export type VolumeArray = zarr.Array<"uint16">;

/** Opens the array of a volume by zarrita. */
export async function openVolume(
  store: zarr.AsyncReadable,
): Promise<VolumeArray> {
  return await zarr.open.v3(store, { kind: "array" }) as VolumeArray;
}

/** Reads all elements of an array. */
export async function readElements(array: VolumeArray): Promise<Uint16Array> {
  return (await zarr.get(array)).data;
}

/** Creates an array in a folder, in place of what is there, and opens it. */
export async function createVolume(
  folder: string,
  metadata: Volume["metadata"],
): Promise<VolumeArray> {
  await Deno.remove(folder, { recursive: true }).catch(() => {});
  const store = new FileSystemStore(folder);
  await createArrayChunks(store, "", metadata);
  return await openVolume(withZarrParts(store));
}

/** Writes all elements of an array by `setSharded`. */
export async function writeElements(
  array: VolumeArray,
  { data }: Pick<Volume, "data">,
): Promise<void> {
  await setSharded(zarr, array, null, data);
}
