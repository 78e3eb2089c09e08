import { describe, sentence } from "../errors/mod.ts";
import type { DataType } from "./data_type.ts";
import { isMembers } from "./json.ts";
import type { NamedConfiguration } from "./schema.ts";

/** The kinds of codecs, in the order in which chunks are encoded. */
const STAGES: readonly CodecKind[] = [
  "array_to_array",
  "array_to_bytes",
  "bytes_to_bytes",
];

/** The part of a data type that codecs depend on. */
export type Elements = Pick<DataType, "bits" | "toBytes">;

/**
 * Writes out a list of codecs: names become objects, the configuration that
 * readers require is filled in with zarr-python's defaults, and the codec from
 * array to bytes is added if it is missing.
 *
 * @param codecs Names or objects with a name. No codec is added to a list with an unknown
 * codec, since this may be the codec from array to bytes.
 * @param elements The array's elements.
 * @param option The option's name, for messages.
 * @throws {TypeError} If a codec is neither a name nor an object with a name, or
 * lacks configuration that has no default.
 * @throws {RangeError} If the codecs are not in the order of a pipeline.
 */
export function completeCodecs(
  codecs: readonly (string | NamedConfiguration)[],
  elements: Elements,
  option: string,
): NamedConfiguration[] {
  if (!Array.isArray(codecs)) {
    throw new TypeError(
      `Expected ${option} to be a list of codecs, found ${describe(codecs)}`,
    );
  }
  const named = codecs.map((codec: string | NamedConfiguration) => {
    const long = typeof codec === "string" ? { name: codec } : codec;
    if (typeof long?.name !== "string" || long.name === "") {
      const found = describe(codec);
      throw new TypeError(
        `Expected a codec in ${option}, a name or an object with a name, found ${found}`,
      );
    }
    const { configuration = {} } = long;
    if (isMembers(configuration)) return long;
    throw new TypeError(
      sentence`Expected the configuration of the codec ${long.name} to be an object, found ${configuration}`,
    );
  });
  const kinds = named.map(({ name }) => codecKind(name));
  if (!kinds.includes("array_to_bytes") && !kinds.includes(undefined)) {
    const first = kinds.indexOf("bytes_to_bytes");
    const end = first < 0 ? named.length : first;
    named.splice(end, 0, { name: elements.toBytes });
  }
  assertOrder(named, option);
  return named.map((codec) => complete(codec, elements.bits));
}

/** Refuses known codecs that do not follow each other in the order of a pipeline. */
function assertOrder(
  codecs: readonly NamedConfiguration[],
  option: string,
): void {
  const known = codecs.flatMap(({ name }) => {
    const kind = codecKind(name);
    return kind === undefined ? [] : [{ name: describe(name), kind }];
  });
  for (const [i, { name, kind }] of known.entries()) {
    const before = known[i - 1];
    if (before === undefined) continue;
    if (kind === "array_to_bytes" && before.kind === kind) {
      throw new RangeError(
        `Expected one codec from array to bytes in ${option}, found ${before.name} and ${name}`,
      );
    }
    if (STAGES.indexOf(before.kind) <= STAGES.indexOf(kind)) continue;
    const [first, second] = [before.kind, kind].map((each) =>
      each.replaceAll("_", " ")
    );
    throw new RangeError(
      `Codec ${name} (${second}) follows ${before.name} (${first}) in ${option}; expected codecs from array to array first, then one from array to bytes, then those from bytes to bytes`,
    );
  }
}

function complete(
  { name, configuration, ...rest }: NamedConfiguration,
  bits: number | undefined,
): NamedConfiguration {
  const completed = { ...defaults(name, bits), ...configuration };
  if (name === "transpose" && completed.order === undefined) {
    throw new TypeError(
      'Expected the codec "transpose" to have an order, such as { name: "transpose", configuration: { order: [1, 0] } }',
    );
  }
  // An empty configuration is kept, since zarrita needs one in shards.
  return configuration === undefined && Object.keys(completed).length === 0
    ? { name, ...rest }
    : { name, configuration: completed, ...rest };
}

function defaults(
  name: string,
  bits: number | undefined,
): Readonly<Record<string, unknown>> | undefined {
  switch (name) {
    case "bytes":
      return bits === 8 ? undefined : { endian: "little" };
    case "gzip":
      return { level: 5 };
    case "zstd":
      return { level: 0, checksum: false };
    case "blosc": {
      const typesize = Math.ceil((bits ?? 8) / 8);
      return {
        cname: "zstd",
        clevel: 5,
        shuffle: typesize === 1 ? "bitshuffle" : "shuffle",
        typesize,
        blocksize: 0,
      };
    }
  }
}

/** The kinds of codecs, by their input and output. */
export type CodecKind = "array_to_array" | "array_to_bytes" | "bytes_to_bytes";

/** A codec, as `docs/threads-and-codecs.md` lists it. */
interface KnownCodec {
  /** The name in metadata; with `*`, the codec has it with and without `numcodecs.`. */
  readonly name: string;
  /** What implements the codec: zarrita, or a loader of `registerCodecs`; `undefined` where nothing does. */
  readonly by?: string;
  /** What is written: everything by default. */
  readonly written?: "nothing" | "floats";
  /**
   * The length of encoded bytes: the number of bytes that the codec adds, never much more
   * than it gets, or that of packed integers; `undefined` where the elements decide it.
   */
  readonly length?: number | "compressed" | "packed";
}

/**
 * All known codecs by their kinds.
 *
 * Sources: https://github.com/zarr-developers/zarr-extensions/tree/main/codecs and, for names
 * that start with `numcodecs.`, `zarr.codecs.numcodecs` of zarr-python 3.1.6
 */
export const CODECS: Readonly<Record<CodecKind, readonly KnownCodec[]>> = {
  array_to_array: [
    { name: "transpose", by: "zarrita", length: 0 },
    { name: "reshape" },
    { name: "*bitround", by: "filter", written: "floats", length: 0 },
    { name: "cast_value", by: "filter", length: 0 },
    { name: "scale_offset", by: "filter", length: 0 },
    { name: "numcodecs.delta", by: "filter", length: 0 },
    { name: "numcodecs.fixedscaleoffset", by: "filter", length: 0 },
    { name: "numcodecs.quantize", by: "filter", length: 0 },
    { name: "numcodecs.astype", by: "filter", length: 0 },
    { name: "numcodecs.packbits", by: "filter", length: 0 },
    { name: "imagecodecs_delta", by: "filter", length: 0 },
    { name: "imagecodecs_floatpred", by: "filter", length: 0 },
  ],
  array_to_bytes: [
    { name: "bytes", by: "zarrita", length: 0 },
    { name: "packbits", by: "packbits" },
    { name: "sharding_indexed", by: "shards" },
    { name: "*vlen-utf8", by: "vlen" },
    { name: "*vlen-bytes", by: "vlen" },
    { name: "*json2", by: "zarrita" },
    { name: "zfp" },
    { name: "numcodecs.zfpy" },
    { name: "numcodecs.pcodec" },
    { name: "imagecodecs_packints", by: "packints", length: "packed" },
    { name: "imagecodecs_jpeg", by: "jpeg", written: "nothing" },
    {
      name: "imagecodecs_lerc",
      by: "lerc",
      written: "nothing",
      length: "compressed",
    },
  ],
  bytes_to_bytes: [
    { name: "*zstd", by: "zstd", length: "compressed" },
    { name: "*gzip", by: "deflate", length: "compressed" },
    { name: "*zlib", by: "deflate", length: "compressed" },
    { name: "*blosc", by: "blosc", length: "compressed" },
    { name: "*lz4", by: "lz4", length: "compressed" },
    {
      name: "numcodecs.bz2",
      by: "bzip2",
      written: "nothing",
      length: "compressed",
    },
    { name: "numcodecs.lzma" },
    { name: "numcodecs.shuffle", by: "shuffle", length: 0 },
    { name: "crc32c", by: "checksum", length: 4 },
    { name: "numcodecs.crc32c", by: "checksum", length: 4 },
    { name: "numcodecs.crc32", by: "checksum", length: 4 },
    { name: "numcodecs.adler32", by: "checksum", length: 4 },
    { name: "numcodecs.fletcher32", by: "checksum", length: 4 },
    { name: "numcodecs.jenkins_lookup3", by: "checksum", length: 4 },
    { name: "imagecodecs_deflate", by: "deflate", length: "compressed" },
    { name: "imagecodecs_zlib", by: "deflate", length: "compressed" },
    { name: "imagecodecs_zstd", by: "zstd", length: "compressed" },
    { name: "imagecodecs_lzw", by: "lzw", length: "compressed" },
    { name: "imagecodecs_packbits", by: "run_length", length: "compressed" },
    { name: "zarr-parts.bitorder", by: "bit_order", length: 0 },
  ],
};

/** All known codecs by the names in metadata. */
export const CODEC_BY_NAME: ReadonlyMap<
  string,
  KnownCodec & { readonly kind: CodecKind }
> = /* @__PURE__ */ new Map(
  /* @__PURE__ */ Object.entries(CODECS).flatMap(([kind, codecs]) =>
    codecs.flatMap((codec) =>
      namesOf(codec).map((name) =>
        [name, { ...codec, kind: kind as CodecKind }] as const
      )
    )
  ),
);

function namesOf({ name }: KnownCodec): string[] {
  return name.startsWith("*")
    ? [name.slice(1), `numcodecs.${name.slice(1)}`]
    : [name];
}

/** The kind of a codec by its name in metadata; `undefined` for an unknown codec. */
export function codecKind(name: string): CodecKind | undefined {
  return CODEC_BY_NAME.get(name)?.kind;
}

/** Codecs from array to array that change the shape of chunks otherwise than `transpose`. */
const RESHAPING: readonly string[] = ["reshape", "numcodecs.packbits"];

/** Whether chunks have the same shape behind a codec; `false` for `transpose` and for unknown codecs. */
export function keepsShape(name: string): boolean {
  return name !== "transpose" && !RESHAPING.includes(name) &&
    codecKind(name) === "array_to_array";
}
