import type { ArrayMetadata } from "../../mod.ts";
import { concatParts } from "../support/metadata.ts";

/** Composes how chunks are stored, for chunks of at least `least` bytes. */
export type StorageWay = (
  least: number,
) => Pick<ArrayMetadata, "chunk_key_encoding" | "storage_transformers">;

function suffix(suffix: string, base_encoding?: unknown) {
  const configuration = { suffix, ...base_encoding ? { base_encoding } : {} };
  return { name: "suffix", configuration };
}

/** Ways to store an array, by name. */
export const STORAGE_WAYS: Readonly<Record<string, StorageWay>> = {
  "a suffix": () => ({ chunk_key_encoding: suffix(".tiff") }),
  "v2 keys": () => ({ chunk_key_encoding: "v2" }),
  "two suffixes over v2 keys": () => ({
    chunk_key_encoding: suffix(
      ".zip",
      suffix(".shard", { name: "v2", configuration: { separator: "/" } }),
    ),
  }),
  "default keys with dots and a tail part": (least) => ({
    chunk_key_encoding: { name: "default", configuration: { separator: "." } },
    storage_transformers: [
      concatParts({ key_suffix: ".data" }, {
        key_suffix: ".tail",
        size: Math.min(least, 4),
      }),
    ],
  }),
  "a suffix, head parts and tail parts": (least) => {
    const size = Math.floor(least / 5);
    return {
      chunk_key_encoding: suffix(".tiff"),
      storage_transformers: [
        concatParts(
          { key_suffix: "/header", size },
          { key_suffix: "/second header ü", size },
          { key_suffix: "/data" },
          { key_suffix: "/index", size: 2 * size },
          { key_suffix: "/nothing", size: 0 },
        ),
      ],
    };
  },
  "parts in parts": (least) => ({
    chunk_key_encoding: suffix(".bin", "v2"),
    storage_transformers: [
      concatParts({ key_suffix: "" }, {
        key_suffix: ".tail",
        size: Math.floor(least / 2),
      }),
      concatParts(
        { key_suffix: "-a", size: Math.floor(least / 4) },
        { key_suffix: "-b" },
      ),
    ],
  }),
};
