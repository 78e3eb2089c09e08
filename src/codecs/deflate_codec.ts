import {
  joinBytes,
  type NativeZlib,
  nativeZlib,
  outputLimit,
  ownOutput,
  pieceSize,
} from "../runtime/mod.ts";
import { type BytesCodec, type ChunkMetadata, Configuration } from "./codec.ts";
import {
  bytesCodec,
  type DecodedLength,
  decodedLength,
  type Libraries,
  TooLong,
} from "./decoded_length.ts";
import { adler32 } from "./encode_stored.ts";

/** How zlib, gzip and the streams of the web name the formats of deflated data. */
const FORMATS = {
  gzip: { stream: "gzip", encode: "gzipSync", decode: "gunzipSync" },
  zlib: { stream: "deflate", encode: "deflateSync", decode: "inflateSync" },
  deflate: {
    stream: "deflate-raw",
    encode: "deflateRawSync",
    decode: "inflateRawSync",
  },
} as const;

/** A format of deflated data. `deflate` has neither a header nor a checksum. */
type DeflateFormat = keyof typeof FORMATS;

/** The default levels of numcodecs and imagecodecs. */
const DEFAULT_LEVEL = 1;
const IMAGECODECS_LEVEL = 6;

/** The highest levels of zlib, and of libdeflate, which imagecodecs uses. */
const HIGHEST_LEVEL = 9;
const HIGHEST_LIBDEFLATE_LEVEL = 12;

/** The length of the checksum at the end of zlib data. */
const ADLER_SIZE = 4;

/**
 * Makes the codec `gzip` or `zlib`, or `imagecodecs_deflate`, which is `zlib` with the
 * levels of libdeflate, or with `raw` deflated data alone. They use `node:zlib` where the
 * runtime has it, and elsewhere the streams of the web, which have one level.
 *
 * Source: https://zarr-specs.readthedocs.io/en/latest/v3/codecs/gzip/
 *
 * @param name The name in the metadata, such as `numcodecs.zlib`.
 */
export function deflateEntry(
  name: string,
  native: () => NativeZlib | null = nativeZlib,
): { fromConfig(configuration: unknown, metadata: ChunkMetadata): BytesCodec } {
  return {
    fromConfig(configuration, metadata) {
      const parsed = parseDeflate(name, configuration);
      const length = decodedLength(name, metadata);
      const { reusesMemory = false } = metadata;
      const coder = deflateCoder(parsed, length, { native, reusesMemory });
      return bytesCodec(parsed.format, length, coder);
    },
  };
}

interface DeflateConfiguration {
  readonly format: DeflateFormat;
  readonly level: number;
}

function parseDeflate(
  name: string,
  configuration: unknown,
): DeflateConfiguration {
  const isLibdeflate = name === "imagecodecs_deflate";
  const members = new Configuration<"level" | "raw">(
    name,
    isLibdeflate ? ["level", "raw"] : ["level"],
    configuration,
  );
  const raw = members.get("raw") ?? false;
  if (typeof raw !== "boolean") throw members.refusal("raw", "true or false");
  const standard = name.startsWith("imagecodecs_")
    ? IMAGECODECS_LEVEL
    : DEFAULT_LEVEL;
  const [least, most] = isLibdeflate
    ? [0, HIGHEST_LIBDEFLATE_LEVEL]
    : [-1, HIGHEST_LEVEL];
  const checked = members.whole("level", least, most, standard);
  const compressed = name.endsWith("gzip") ? "gzip" : "zlib";
  return {
    format: raw ? "deflate" : compressed,
    level: Math.min(checked, HIGHEST_LEVEL),
  };
}

/** Makes the functions of a format. */
export function deflateCoder(
  { format, level }: DeflateConfiguration,
  length: DecodedLength,
  { native, reusesMemory }: Omit<Libraries, "loadZstd">,
): BytesCodec {
  const names = FORMATS[format];
  return {
    encode(bytes) {
      const zlib = native();
      if (zlib === null) {
        return transformBytes(bytes, new CompressionStream(names.stream));
      }
      const options = { level, chunkSize: pieceSize(bytes.length) };
      return ownOutput(zlib[names.encode](bytes, options));
    },
    decode(encoded) {
      const zlib = native();
      if (zlib === null) {
        return decodeByStream(encoded, format, length).catch(refuseData);
      }
      try {
        const { exact, limit } = length;
        const { buffer, engine } = zlib[names.decode](encoded, {
          info: true,
          // With memory to spare, the decoder is called once.
          chunkSize: pieceSize(exact && exact + (reusesMemory ? 64 : 0)),
          maxOutputLength: outputLimit(limit),
        }) as unknown as {
          buffer: Uint8Array;
          engine: { bytesWritten: number };
        };
        // Programs leave bytes after the zlib data of TIFFs, which has a checksum of its own.
        if (engine.bytesWritten !== encoded.length && format !== "zlib") {
          throw new SyntaxError(
            `The data ends after ${engine.bytesWritten} of ${encoded.length} bytes`,
          );
        }
        return reusesMemory ? buffer : ownOutput(buffer);
      } catch (error) {
        refuseData(error);
      }
    },
  };
}

/** Throws the error of a library as that of a decoder. */
function refuseData(cause: unknown): never {
  const { message, code } = cause as Error & { code?: string };
  if (cause instanceof TooLong) throw cause;
  if (code === "ERR_BUFFER_TOO_LARGE") throw new TooLong(message, { cause });
  throw new SyntaxError(message, { cause });
}

/** Some streams return what they have of zlib data that is cut short. */
async function decodeByStream(
  encoded: Uint8Array,
  format: DeflateFormat,
  { exact, limit }: DecodedLength,
): Promise<Uint8Array> {
  const { stream } = FORMATS[format];
  const decode = (bytes: Uint8Array) =>
    transformBytes(bytes, new DecompressionStream(stream), limit);
  if (format !== "zlib") return await decode(encoded);
  const decoded = await decode(encoded).catch(async (error) => {
    const end = error instanceof TooLong
      ? undefined
      : await endOfZlib(encoded, exact);
    if (end === undefined) throw error;
    return await decode(encoded.subarray(0, end));
  });
  const stored = checksumOf(decoded);
  if (placeOf(encoded, stored) >= 0) return decoded;
  throw new SyntaxError("Its checksum does not match");
}

/**
 * The end of zlib data with other bytes after it, which streams refuse: that of the
 * checksum of what they return before.
 */
async function endOfZlib(
  encoded: Uint8Array,
  length: number | undefined,
): Promise<number | undefined> {
  const pieces: Uint8Array[] = [];
  await transformBytes(
    encoded,
    new DecompressionStream("deflate"),
    length,
    { piece: 1, pieces },
  ).catch(() => {});
  const checksum = checksumOf(joinBytes(pieces));
  const place = placeOf(encoded, checksum);
  return place < 0 ? undefined : place + checksum.length;
}

/** The last place of some bytes among others; -1 if they are not there. */
function placeOf(bytes: Uint8Array, searched: Uint8Array): number {
  for (let at = bytes.length - searched.length; at >= 0; at--) {
    if (searched.every((byte, i) => bytes[at + i] === byte)) return at;
  }
  return -1;
}

/** The checksum at the end of zlib data. */
function checksumOf(decoded: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(ADLER_SIZE);
  new DataView(bytes.buffer).setUint32(0, adler32(decoded));
  return bytes;
}

/** Deflate expands a piece of the input at most 1032 times before the limit is checked. */
const PIECE = 2 ** 14;

/**
 * Sends bytes through a stream that encodes or decodes them.
 *
 * @param limit The most bytes that the stream may produce.
 * @param options `piece`: the number of bytes that the stream gets at once; `pieces`:
 * takes what the stream produces, also before an error.
 * @throws {TooLong} If the stream produces more bytes.
 */
async function transformBytes(
  bytes: Uint8Array,
  stream: GenericTransformStream,
  limit: number = Infinity,
  { piece: size = PIECE, pieces = [] }: {
    piece?: number;
    pieces?: Uint8Array[];
  } = {},
): Promise<Uint8Array> {
  let offset = 0;
  const source = new ReadableStream({
    pull(controller) {
      if (offset >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(offset, offset + size));
      offset += size;
    },
  });
  let length = 0;
  const sink = new WritableStream<Uint8Array>({
    write(piece) {
      length += piece.length;
      if (length > limit) throw new TooLong();
      pieces.push(piece);
    },
  });
  await source.pipeThrough(stream).pipeTo(sink);
  return joinBytes(pieces);
}
