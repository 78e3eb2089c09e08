import { deflateEntry } from "../../src/codecs/deflate_codec.ts";
import { zstdEntry } from "../../src/codecs/zstd_codec.ts";
import { OWN_CODECS } from "./zarrita_codecs.ts";

const loadPeer = OWN_CODECS.get("zstd")!;

/** Whether `node:zlib` is used. The other way is what browsers use. */
export const WAYS = ["native", "portable"] as const;

export type Way = (typeof WAYS)[number];

/** A codec of one way for chunks of `length` bytes, or for an unknown length. */
export function compression(
  name: "zstd" | "gzip" | "zlib" | "imagecodecs_deflate",
  way: Way,
  length?: number,
  configuration: unknown = {},
): {
  encode(bytes: Uint8Array): Promise<Uint8Array>;
  decode(bytes: Uint8Array): Promise<Uint8Array>;
} {
  const native = way === "native" ? [] : [() => null];
  const entry = name === "zstd"
    ? zstdEntry(name, loadPeer, ...native)
    : deflateEntry(name, ...native);
  const codec = entry.fromConfig(configuration, {
    dataType: "uint8",
    shape: [length ?? 0],
    codecs: length === undefined ? [] : [{ name: "bytes" }, { name }],
  });
  return {
    encode: async (bytes) => await codec.encode(bytes),
    decode: async (bytes) => await codec.decode(bytes),
  };
}

/** The compressions that all tests are made with. */
export const NAMES = ["zstd", "gzip", "zlib", "imagecodecs_deflate"] as const;

/** Bytes that compress, but not to almost nothing. */
export function sample(length: number): Uint8Array {
  let state = length + 1;
  return Uint8Array.from({ length }, () => {
    state = Math.imul(state, 1664525) + 1013904223 | 0;
    return state >>> 29;
  });
}
