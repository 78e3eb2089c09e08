import type { NamedConfiguration } from "../../metadata/array_metadata.ts";
import { MetadataError } from "../../metadata/metadata_error.ts";
import { nativeZlib } from "../../runtime/native_zlib.ts";
import type { CodecRegistry } from "../../zarrita/register_codecs.ts";
import type { ChunkLevel } from "../chunks/chunk_levels.ts";

/** A registry of codecs, such as that of zarrita. */
export type Codecs = Pick<CodecRegistry, "get">;

/** The decoder of a codec. */
interface Decoder {
  decode(bytes: Uint8Array): unknown;
}

/** Makes a decoder by the metadata of chunks. */
interface Entry {
  fromConfig(
    configuration: unknown,
    metadata: Pick<ChunkLevel, "dataType" | "shape" | "codecs">,
  ): unknown;
}

const deflate = (format: "gzip" | "zlib") => async (name: string) => {
  const { deflateEntry } = await import(
    "../../zarrita/codecs/deflate_codec.ts"
  );
  return deflateEntry(name, format);
};

const imagecodecs = (codec: "LZW" | "PACKBITS") => async () =>
  (await import("../../zarrita/codecs/imagecodecs.ts"))[codec];

/** Functions that load the modules of codecs, by the names of the codecs. */
const LOADERS: Readonly<
  Record<string, (name: string) => Promise<Entry | undefined>>
> = {
  gzip: deflate("gzip"),
  "numcodecs.gzip": deflate("gzip"),
  zlib: deflate("zlib"),
  "numcodecs.zlib": deflate("zlib"),
  imagecodecs_zlib: deflate("zlib"),
  async imagecodecs_deflate() {
    const codec = await import("../../zarrita/codecs/deflate_codec.ts");
    return codec.imagecodecsDeflateEntry();
  },
  zstd: loadZstd,
  "numcodecs.zstd": loadZstd,
  imagecodecs_zstd: loadZstd,
  imagecodecs_lzw: imagecodecs("LZW"),
  imagecodecs_packbits: imagecodecs("PACKBITS"),
  async imagecodecs_packints() {
    const codec = await import("../../zarrita/codecs/packints_codec.ts");
    return codec.PackintsCodec;
  },
  async imagecodecs_jpeg() {
    return (await import("../../zarrita/codecs/jpeg_codec.ts")).JpegCodec;
  },
};

/** Loads `zstd` where the runtime has it. */
async function loadZstd(name: string): Promise<Entry | undefined> {
  const native = nativeZlib();
  if (!native?.zstdDecompressSync) return undefined;
  const { zstdEntry } = await import("../../zarrita/codecs/zstd_codec.ts");
  return zstdEntry(name, () => undefined, native);
}

/**
 * Returns the decoder of a codec, or `undefined` if none is at hand. A decoder that gives
 * no bytes is the last one of a chunk.
 *
 * @param codecs Codecs besides those of this package.
 */
export async function decoderOf(
  { name, configuration }: NamedConfiguration,
  { codecs: all, shape, dataType }: ChunkLevel,
  codecs: Codecs | undefined,
): Promise<Decoder | undefined> {
  const own = Object.hasOwn(LOADERS, name)
    ? await LOADERS[name]!(name)
    : undefined;
  try {
    const entry = own ?? await codecs?.get(name)?.() as Entry | undefined;
    return entry?.fromConfig(configuration, {
      dataType,
      shape,
      codecs: all,
    }) as Decoder | undefined;
  } catch (error) {
    // The registry of `registerCodecs` refuses codecs that it does not know.
    if (error instanceof MetadataError) return undefined;
    if (own === undefined) return undefined;
    throw error;
  }
}
