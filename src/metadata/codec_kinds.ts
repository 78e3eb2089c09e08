/** What a codec encodes, and what it makes of it. */
export type CodecKind = "array_to_array" | "array_to_bytes" | "bytes_to_bytes";

/** The names of codecs, of which those with `*` are known with and without `numcodecs.`. */
const KINDS: Readonly<Record<CodecKind, readonly string[]>> = {
  array_to_array: [
    "transpose",
    "reshape",
    "*bitround",
    "cast_value",
    "scale_offset",
    "numcodecs.delta",
    "numcodecs.fixedscaleoffset",
    "numcodecs.quantize",
    "numcodecs.astype",
    "numcodecs.packbits",
    "imagecodecs_delta",
    "imagecodecs_floatpred",
  ],
  array_to_bytes: [
    "bytes",
    "packbits",
    "sharding_indexed",
    "*vlen-utf8",
    "*vlen-bytes",
    "*json2",
    "zfp",
    "numcodecs.zfpy",
    "numcodecs.pcodec",
    "imagecodecs_packints",
    "imagecodecs_jpeg",
  ],
  bytes_to_bytes: [
    "*zstd",
    "*gzip",
    "*zlib",
    "*blosc",
    "*lz4",
    "*crc32c",
    "numcodecs.bz2",
    "numcodecs.lzma",
    "numcodecs.shuffle",
    "numcodecs.crc32",
    "numcodecs.adler32",
    "numcodecs.fletcher32",
    "numcodecs.jenkins_lookup3",
    "imagecodecs_deflate",
    "imagecodecs_zlib",
    "imagecodecs_zstd",
    "imagecodecs_lzw",
    "imagecodecs_packbits",
  ],
};

const KIND_OF: ReadonlyMap<string, CodecKind> = /* @__PURE__ */ new Map(
  /* @__PURE__ */ Object.entries(KINDS).flatMap(([kind, names]) =>
    names
      .flatMap((name) =>
        name.startsWith("*")
          ? [name.slice(1), `numcodecs.${name.slice(1)}`]
          : [name]
      )
      .map((name) => [name, kind as CodecKind] as const)
  ),
);

/**
 * The kind of a codec by its name in metadata; `undefined` for an unknown codec.
 *
 * Sources: https://github.com/zarr-developers/zarr-extensions/tree/main/codecs and, for names
 * that start with `numcodecs.`, `zarr.codecs.numcodecs` of zarr-python 3.1.6
 */
export function codecKind(name: string): CodecKind | undefined {
  return KIND_OF.get(name);
}
