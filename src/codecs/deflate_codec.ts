import { refuse } from "../metadata/mod.ts";
import {
  joinBytes,
  type NativeZlib,
  nativeZlib,
  outputLimit,
  ownBytes,
  pieceSize,
} from "../runtime/mod.ts";
import {
  checkWhole,
  type ChunkMetadata,
  damaged,
  parseCodecConfiguration,
} from "./codec.ts";
import {
  type DecodedLength,
  decodedLength,
  tooLong,
  wholeChunk,
} from "./decoded_length.ts";

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
 * @param name The name in the metadata, such as `numcodecs.zlib`.
 */
export function deflateEntry(
  name: string,
  native: NativeZlib | null = nativeZlib(),
): {
  fromConfig(configuration: unknown, metadata: ChunkMetadata): DeflateCodec;
} {
  const parse = name === "imagecodecs_deflate"
    ? parseImagecodecsDeflate
    : parseDeflate;
  return {
    fromConfig(configuration, metadata) {
      const length = decodedLength(name, metadata);
      const parsed = parse(name, configuration);
      const { reusesMemory = false } = metadata;
      return new DeflateCodec(parsed, length, native, reusesMemory);
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
  const { level } = parseCodecConfiguration(name, ["level"], configuration);
  const standard = name.startsWith("imagecodecs_")
    ? IMAGECODECS_LEVEL
    : DEFAULT_LEVEL;
  return {
    format: name.endsWith("gzip") ? "gzip" : "zlib",
    level: checkWhole(name, "level", level ?? standard, -1, HIGHEST_LEVEL),
  };
}

function parseImagecodecsDeflate(
  name: string,
  configuration: unknown,
): DeflateConfiguration {
  const { level, raw = false } = parseCodecConfiguration(
    name,
    ["level", "raw"],
    configuration,
  );
  if (typeof raw !== "boolean") {
    refuse(`raw of ${name} to be true or false`, raw, "/configuration/raw");
  }
  const checked = checkWhole(
    name,
    "level",
    level ?? IMAGECODECS_LEVEL,
    0,
    HIGHEST_LIBDEFLATE_LEVEL,
  );
  return {
    format: raw ? "deflate" : "zlib",
    level: Math.min(checked, HIGHEST_LEVEL),
  };
}

/**
 * The codecs `gzip`, `numcodecs.zlib` and `imagecodecs_deflate`.
 *
 * Source: https://zarr-specs.readthedocs.io/en/latest/v3/codecs/gzip/
 */
export class DeflateCodec {
  readonly kind = "bytes_to_bytes";
  readonly #format: DeflateFormat;
  readonly #level: number;
  readonly #length: DecodedLength;
  readonly #native: NativeZlib | null;
  readonly #reusesMemory: boolean;

  constructor(
    { format, level }: DeflateConfiguration,
    length: DecodedLength,
    native: NativeZlib | null,
    reusesMemory = false,
  ) {
    this.#format = format;
    this.#reusesMemory = reusesMemory;
    this.#level = level;
    this.#length = length;
    this.#native = native;
  }

  async encode(bytes: Uint8Array): Promise<Uint8Array> {
    if (this.#native === null) {
      return await transformBytes(
        bytes,
        new CompressionStream(FORMATS[this.#format].stream),
      );
    }
    const { encode } = FORMATS[this.#format];
    const options = {
      level: this.#level,
      chunkSize: pieceSize(bytes.length),
    };
    return ownBytes(this.#native[encode](bytes, options));
  }

  async decode(encoded: Uint8Array): Promise<Uint8Array> {
    let decoded: Uint8Array;
    try {
      decoded = this.#native === null
        ? await this.#decodeByStream(encoded)
        : this.#decodeNatively(encoded, this.#native);
    } catch (cause) {
      const { message, code } = cause as Error & { code?: string };
      if (cause instanceof TooLongError || code === "ERR_BUFFER_TOO_LARGE") {
        throw tooLong(encoded, this.#length, this.#format, cause);
      }
      throw damaged(
        encoded,
        `is not decoded by ${this.#format}: ${message}`,
        cause,
      );
    }
    return wholeChunk(encoded, decoded, this.#length, this.#format);
  }

  #decodeNatively(encoded: Uint8Array, native: NativeZlib): Uint8Array {
    const decode = native[FORMATS[this.#format].decode];
    const { exact } = this.#length;
    const { buffer, engine } = decode(encoded, {
      info: true,
      // With memory to spare, the decoder is called once.
      chunkSize: pieceSize(exact && exact + (this.#reusesMemory ? 64 : 0)),
      maxOutputLength: outputLimit(this.#length.limit),
    }) as unknown as { buffer: Uint8Array; engine: { bytesWritten: number } };
    // Programs leave bytes after the zlib data of TIFFs, which has a checksum of its own.
    if (engine.bytesWritten !== encoded.length && this.#format !== "zlib") {
      throw new SyntaxError(
        `The data ends after ${engine.bytesWritten} of ${encoded.length} bytes`,
      );
    }
    return this.#reusesMemory ? buffer : ownBytes(buffer);
  }

  /** Some streams return what they have of zlib data that is cut short. */
  async #decodeByStream(encoded: Uint8Array): Promise<Uint8Array> {
    const { stream } = FORMATS[this.#format];
    const decode = (bytes: Uint8Array) =>
      transformBytes(
        bytes,
        new DecompressionStream(stream),
        this.#length.limit,
      );
    if (this.#format !== "zlib") return await decode(encoded);
    const decoded = await decode(encoded).catch(async (error) => {
      const end = error instanceof TooLongError
        ? undefined
        : await endOfZlib(encoded, this.#length.exact);
      if (end === undefined) throw error;
      return await decode(encoded.subarray(0, end));
    });
    const stored = checksumOf(decoded);
    if (placeOf(encoded, stored) >= 0) return decoded;
    throw new SyntaxError("Its checksum does not match");
  }
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

const MODULUS = 65521;
/** The sums of this many bytes stay below 2^31. */
const ADLER32_PIECE = 3800;

/** The checksum at the end of zlib data. Source: https://www.rfc-editor.org/rfc/rfc1950 */
export function adler32(bytes: Uint8Array): number {
  let low = 1;
  let high = 0;
  for (let start = 0; start < bytes.length; start += ADLER32_PIECE) {
    const end = Math.min(start + ADLER32_PIECE, bytes.length);
    for (let i = start; i < end; i++) {
      low = low + bytes[i]! | 0;
      high = high + low | 0;
    }
    low %= MODULUS;
    high %= MODULUS;
  }
  return high * 2 ** 16 + low;
}

/** Thrown if the output of a stream is longer than its limit. */
class TooLongError extends Error {}

/** Deflate expands a piece of the input at most 1032 times before the limit is checked. */
const PIECE = 2 ** 14;

/**
 * Sends bytes through a stream that encodes or decodes them.
 *
 * @param limit The most bytes that the stream may produce.
 * @param options `piece`: the number of bytes that the stream gets at once; `pieces`:
 * takes what the stream produces, also before an error.
 * @throws {TooLongError} If the stream produces more bytes.
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
      if (length > limit) throw new TooLongError();
      pieces.push(piece);
    },
  });
  await source.pipeThrough(stream).pipeTo(sink);
  return joinBytes(pieces);
}
