import { isMetadataKey } from "../stores/store_key.ts";
import type { StoreKey } from "../stores/store.ts";

const TYPES: Readonly<Record<string, string>> = {
  gif: "image/gif",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  json: "application/json",
  md: "text/plain; charset=utf-8",
  ozx: "application/zip",
  png: "image/png",
  tif: "image/tiff",
  tiff: "image/tiff",
  txt: "text/plain; charset=utf-8",
  zip: "application/zip",
};

/** Returns the media type of a value by the end of its key. */
export function contentTypeOf(key: StoreKey): string {
  if (isMetadataKey(key)) return "application/json";
  const extension = /\.(\w+)$/.exec(key)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(TYPES, extension)
    ? TYPES[extension]!
    : "application/octet-stream";
}
