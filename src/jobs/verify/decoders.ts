import type { NamedConfiguration } from "../../metadata/array_metadata.ts";
import { MetadataError } from "../../metadata/metadata_error.ts";
import { nativeZlib } from "../../runtime/native_zlib.ts";
import type { ChunkLevel } from "../chunks/chunk_levels.ts";

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
 */
export async function decoderOf(
  { name, configuration }: NamedConfiguration,
  { codecs, shape, dataType }: ChunkLevel,
): Promise<Decoder | undefined> {
  if (!Object.hasOwn(LOADERS, name)) return undefined;
  const entry = await LOADERS[name]!(name);
  try {
    return entry?.fromConfig(configuration, {
      dataType,
      shape,
      codecs,
    }) as Decoder | undefined;
  } catch (error) {
    if (error instanceof MetadataError) return undefined;
    throw error;
  }
}
