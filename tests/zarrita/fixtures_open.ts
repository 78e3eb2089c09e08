import { FileSystemStore as ZarritaFileSystemStore } from "@zarrita/storage";
import * as zarr from "zarrita";
import type { FoundNode } from "./fixtures_found.ts";

export type OpenArray = zarr.Array<zarr.DataType, zarr.AsyncReadable>;

/** A folder, as zarrita reads it without this package. */
export function direct(folder: string): zarr.AsyncReadable {
  return new ZarritaFileSystemStore(folder);
}

/** A path of any characters; zarrita takes it for that of a URL. */
export function locationOf<S extends zarr.Readable>(
  store: S,
  path: string,
): zarr.Location<S> {
  const escaped = path.split("/").map(encodeURIComponent).join("/");
  return new zarr.Location(store, `/${escaped}`);
}

export function openArray(
  store: zarr.AsyncReadable,
  { path, kind }: Pick<FoundNode, "path" | "kind">,
): Promise<OpenArray> {
  const open = kind === "v2 array" ? zarr.open.v2 : zarr.open.v3;
  return open(locationOf(store, path), { kind: "array" });
}

/** The properties of an array in zarrita, without its chunks. */
export function described(array: OpenArray): Record<string, unknown> {
  const { shape, chunks, dtype, attrs, dimensionNames, fillValue } = array;
  return { shape, chunks, dtype, attrs, dimensionNames, fillValue };
}
