import { sentence, shortened } from "../errors/mod.ts";
import { CODEC_BY_NAME } from "../metadata/mod.ts";
import { hasNativeZstd } from "../runtime/mod.ts";
import type { ChunkMetadata, CodecEntry } from "./codec.ts";

/**
 * The part of zarrita's `registry` that this package uses: a map from the name of a
 * codec to a function that loads it.
 *
 * @example
 * ```ts
 * import type { CodecRegistry } from "@zarr-parts/zarr-parts/zarrita";
 * import * as zarr from "zarrita";
 *
 * const registry: CodecRegistry = zarr.registry;
 * ```
 */
export interface CodecRegistry {
  /** Returns the function that loads a codec, if there is one. */
  get(name: string): (() => unknown) | undefined;
  /** Registers a codec, in place of an earlier one with the same name. */
  set(name: string, load: () => Promise<object>): unknown;
}

/**
 * Registers codecs in zarrita, for all stores and arrays:
 *
 * - `crc32c` in place of zarrita's, which cannot write and does not verify. Damaged
 *   bytes are a {@linkcode ChecksumError}, or a {@linkcode DamageError} if they are too
 *   few for a checksum, which names the key if the store is one of `withZarrParts`.
 *   Source: https://zarr-specs.readthedocs.io/en/latest/v3/codecs/crc32c/
 * - `packbits`, for bool and all numbers, with each `padding_encoding` and with
 *   `first_bit` and `last_bit`. Other bits are not stored. Bytes of a wrong length or
 *   with wrong padding are a {@linkcode DamageError}.
 *   Source: https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/packbits
 * - `zstd`, `gzip`, `zlib` and these names with `numcodecs.` in place of zarrita's.
 *   They use `node:zlib` in Deno and in Node. Elsewhere, `zstd` uses zarrita's decoder,
 *   and the others the streams of the web, which have one `level`. All of them encode
 *   and decode. Bytes that are cut short, damaged, or of another length than the
 *   elements of the chunk once decoded are a {@linkcode DamageError}; zarrita's `zstd`
 *   never returns for some of them.
 * - `imagecodecs_delta`, `imagecodecs_floatpred`, `imagecodecs_lzw`,
 *   `imagecodecs_packbits`, `imagecodecs_deflate`, `imagecodecs_zlib` and
 *   `imagecodecs_zstd`, the codecs of TIFF, with the configurations of the Python
 *   package imagecodecs. Predictors take integers and floats, and `dist` of
 *   `imagecodecs_delta` is 1.
 * - `imagecodecs_packints`, unsigned integers of any number of bits, as TIFF has them.
 * - `imagecodecs_jpeg`, for reading only: pictures of 8 bits per sample, baseline or
 *   progressive, with the samples of libjpeg-turbo, bit for bit.
 * - `imagecodecs_lerc`, for reading only, and `zarr-parts.bitorder`, bytes with the lowest
 *   bit first, as TIFFs have them.
 * - `cast_value` and `scale_offset` in place of zarrita's, which do not write, or change
 *   values that do not fit.
 * - `blosc`, `lz4`, `bitround` and `vlen-utf8` in place of zarrita's, `vlen-bytes`, these
 *   names with `numcodecs.`, and of numcodecs `shuffle`, `delta`, `fixedscaleoffset`,
 *   `quantize`, `astype`, `packbits`, `crc32`, `crc32c`, `adler32`, `fletcher32` and
 *   `jenkins_lookup3`, with the configurations of the Python package numcodecs. All of them
 *   encode and decode, except that `blosc` with `snappy` and `bitround` of integers decode
 *   only. Damaged bytes are a {@linkcode DamageError}.
 * - `numcodecs.bz2`, for reading only.
 *
 * An array with unknown codecs is then refused with the names of all of them, by an error
 * with the name `UnknownCodecError`. Without this, two unknown codecs end the process.
 *
 * Registering them again changes nothing. zarrita throws the error of a codec as the
 * `cause` of a `CodecPipelineError`. An invalid configuration of a codec is a
 * {@linkcode MetadataError} at the first chunk.
 *
 * @param zarr zarrita itself (`import * as zarr from "zarrita"`), or its registry
 * (`zarr.registry`).
 * @throws {TypeError} If the argument is neither, or the registry lacks the codec
 * `bytes`.
 *
 * @example One bit per element, and a checksum
 * ```ts
 * import { registerCodecs } from "@zarr-parts/zarr-parts/zarrita";
 * import { assertEquals, assertInstanceOf, assertRejects } from "@std/assert";
 * import { ChecksumError } from "@zarr-parts/zarr-parts";
 * import * as zarr from "zarrita";
 *
 * registerCodecs(zarr);
 *
 * const store = new Map<string, Uint8Array>();
 * const array = await zarr.create(store, {
 *   shape: [12],
 *   chunkShape: [12],
 *   dtype: "bool",
 *   fillValue: false,
 *   codecs: [
 *     { name: "packbits", configuration: { padding_encoding: "first_byte" } },
 *     { name: "crc32c", configuration: {} },
 *   ],
 * });
 * await zarr.set(array, null, true);
 *
 * const chunk = store.get("/c/0")!;
 * assertEquals(Array.from(chunk.subarray(0, 3)), [4, 0b11111111, 0b1111]);
 * assertEquals(chunk.length, 7);
 *
 * chunk[1]! ^= 1;
 * const error = await assertRejects(() => zarr.get(array), zarr.CodecPipelineError);
 * assertInstanceOf(error.cause, ChecksumError);
 * ```
 */
export function registerCodecs(
  zarr: CodecRegistry | { readonly registry: CodecRegistry },
): void {
  const registry = isModule(zarr) ? zarr.registry : zarr;
  if (
    typeof registry?.get !== "function" || typeof registry.set !== "function"
  ) {
    throw new TypeError(
      sentence`Expected the module of zarrita or its registry, found ${registry}`,
    );
  }
  const loadBytes = registry.get("bytes");
  if (typeof loadBytes !== "function") {
    throw new TypeError(
      'Expected the registry of zarrita, found one without the codec "bytes"',
    );
  }
  if (!zstdLoaders.has(registry)) {
    zstdLoaders.set(registry, registry.get("zstd"));
  }
  const peers = { bytes: loadBytes, zstd: zstdLoaders.get(registry) };
  registeredZstd = peers.zstd ?? registeredZstd;
  for (const [name, { by = "" }] of CODEC_BY_NAME) {
    const load = LOADERS[by];
    const lacksZstd = peers.zstd === undefined &&
      (by === "zstd" || by === "blosc");
    if (load === undefined || lacksZstd) continue;
    registry.set(name, async () => (await load(name, peers))!);
  }
  refuseUnknownCodecs(registry);
}

/** zarrita's own loaders of `zstd`, which `registerCodecs` replaces. */
const zstdLoaders = new WeakMap<
  CodecRegistry,
  (() => unknown) | undefined
>();

/** zarrita's `zstd` of the latest registry, for jobs where the runtime has no zstd. */
let registeredZstd: (() => unknown) | undefined;

/** Functions that load the codecs of zarrita that codecs of this package use. */
interface PeerCodecs {
  readonly bytes?: (() => unknown) | undefined;
  readonly zstd?: (() => unknown) | undefined;
}

/**
 * Loads a codec of this package.
 *
 * @param name The name of the codec in the metadata of arrays.
 * @param peers Functions that load the codecs of zarrita, or others like them.
 * @returns `undefined` if there is none of this name, or it needs a codec of zarrita:
 * `packbits` needs `bytes`, and `zstd` needs that of zarrita, given or registered before, where the runtime has none.
 */
export async function loadCodec(
  name: string,
  peers: PeerCodecs = {},
): Promise<CodecEntry | undefined> {
  const all = { zstd: registeredZstd, ...peers };
  return await LOADERS[CODEC_BY_NAME.get(name)?.by ?? ""]?.(name, all);
}

type LoadCodec = (
  name: string,
  peers: PeerCodecs,
) => Promise<CodecEntry | undefined>;

/** Functions that load the codecs of this package, by what the table of codecs names in `by`. */
const LOADERS: Readonly<Record<string, LoadCodec>> = {
  async packbits(_, { bytes }) {
    if (bytes === undefined) return undefined;
    return await (await import("./packbits_codec.ts")).loadPackbits(bytes);
  },
  async zstd(name, { zstd }) {
    if (!hasZstd(zstd)) return undefined;
    return (await import("./zstd_codec.ts")).zstdEntry(name, zstd);
  },
  async deflate(name) {
    return (await import("./deflate_codec.ts")).deflateEntry(name);
  },
  async blosc(name, { zstd }) {
    if (!hasZstd(zstd)) return undefined;
    return (await import("./blosc_codec.ts")).bloscEntry(name, zstd);
  },
  async lz4(name) {
    return (await import("./lz4_codec.ts")).lz4Entry(name);
  },
  async bzip2() {
    return (await import("./bzip2_codec.ts")).BZ2;
  },
  async lzw() {
    return (await import("./lzw_codec.ts")).LZW;
  },
  async run_length() {
    return (await import("./run_length_codec.ts")).PACKBITS;
  },
  async shuffle() {
    return (await import("./shuffle_codec.ts")).SHUFFLE;
  },
  async checksum(name) {
    return (await import("./checksum_codecs.ts")).checksumEntry(name);
  },
  async filter(name, { bytes }) {
    if (bytes === undefined) return undefined;
    const { loadFilter } = await import("./number_filters.ts");
    return await loadFilter(name, bytes);
  },
  async vlen(name) {
    return (await import("./vlen_codecs.ts")).vlenEntry(name);
  },
  async packints() {
    return (await import("./packints_codec.ts")).PACKINTS_CODEC;
  },
  async jpeg() {
    return (await import("./jpeg_codec.ts")).JPEG_CODEC;
  },
  async lerc() {
    return (await import("./lerc_codec.ts")).LERC;
  },
  async bit_order() {
    return (await import("./shuffle_codec.ts")).BIT_ORDER;
  },
};

function hasZstd(zstd: PeerCodecs["zstd"]): boolean {
  return zstd !== undefined || hasNativeZstd();
}

function isModule(
  zarr: CodecRegistry | { readonly registry: CodecRegistry },
): zarr is { readonly registry: CodecRegistry } {
  return typeof zarr === "object" && zarr !== null && "registry" in zarr;
}

type Registry = Pick<CodecRegistry, "get">;

/**
 * Makes a registry answer for unknown codecs, so that arrays with them are refused
 * with the names of all of them. zarrita loads all codecs of an array at once and
 * waits for one after the other: without this, the second unknown codec is an
 * unhandled rejection, which ends the process.
 */
function refuseUnknownCodecs(registry: Registry): void {
  if (refusing.has(registry)) return;
  refusing.add(registry);
  const get = registry.get.bind(registry);
  registry.get = (name) => get(name) ?? (() => refusal(get));
}

const refusing = new WeakSet<Registry>();

/** A codec that refuses every array, by the names of its unknown codecs. */
function refusal(get: Registry["get"]): object {
  return {
    fromConfig(_configuration: unknown, { codecs = [] }: ChunkMetadata): never {
      const names = codecs
        .map(({ name }) => name)
        .filter((name) => get(name) === undefined);
      throw new UnknownCodecError([...new Set(names)]);
    },
  };
}

/** Has the name of zarrita's own error and, for a single codec, the message of that error. */
class UnknownCodecError extends Error {
  override readonly name = "UnknownCodecError";

  constructor(names: readonly string[]) {
    const codecs = names.length === 1 ? "codec" : "codecs";
    super(`Unknown ${codecs}: ${shortened(names.join(", "))}`);
  }
}
