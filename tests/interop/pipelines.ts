import { bytes } from "./interop_array.ts";

export const TRANSPOSE = {
  name: "transpose",
  configuration: { order: [1, 0] },
};
const GZIP = { name: "gzip", configuration: { level: 5 } };
export const ZSTD = {
  name: "zstd",
  configuration: { level: 3, checksum: false },
};
const ZSTD_CHECKED = {
  name: "zstd",
  configuration: { level: 3, checksum: true },
};
export const CRC32C = { name: "crc32c" };
/** The codecs of chunks and inner chunks, by name. */
export const PIPELINES = {
  "none": [bytes("int16")],
  "gzip": [bytes("int16"), GZIP],
  "zstd": [bytes("int16"), ZSTD],
  "zstd checked": [bytes("int16"), ZSTD_CHECKED],
  "blosc lz4": [bytes("int16"), blosc("lz4", "shuffle")],
  "blosc zstd": [bytes("int16"), blosc("zstd", "bitshuffle")],
  "blosc blosclz": [bytes("int16"), blosc("blosclz", "noshuffle")],
  "crc32c": [bytes("int16"), CRC32C],
  "gzip crc32c": [bytes("int16"), GZIP, CRC32C],
  "transpose": [TRANSPOSE, bytes("int16")],
  "all": [TRANSPOSE, bytes("int16", "big"), ZSTD, CRC32C],
};

function blosc(cname: string, shuffle: string) {
  const configuration = {
    cname,
    clevel: 5,
    shuffle,
    typesize: 2,
    blocksize: 0,
  };
  return { name: "blosc", configuration };
}
