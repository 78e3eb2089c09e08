import { keyOf, noteKey } from "../read_keys.ts";
import { adler32 } from "./adler32.ts";
import type { ChunkMetadata } from "./codec.ts";
import { parseCodecConfiguration } from "./codec_configuration.ts";
import {
  assertDecodedLength,
  damaged,
  decodedLength,
  decodedLimit,
  tooLong,
} from "./decoded_length.ts";
import { checkLevel } from "./level.ts";
import {
  type NativeZlib,
  nativeZlib,
  pieceSize,
} from "../../runtime/native_zlib.ts";
import { ownBytes } from "./own_bytes.ts";
import { TooLongError, transformBytes } from "./transform_bytes.ts";

/** numcodecs' default for both formats. */
const DEFAULT_LEVEL = 1;

/** The length of the checksum at the end of zlib data. */
const ADLER_SIZE = 4;

/**
 * Makes the codec `gzip` or `zlib`: by `node:zlib` where the runtime has it, and by
 * the streams of the web elsewhere, which have one level.
 *
 * @param name The name in the metadata, such as `numcodecs.zlib`.
 */
export function deflateEntry(
  name: string,
  format: "gzip" | "zlib",
  native: NativeZlib | null = nativeZlib(),
): {
  fromConfig(configuration: unknown, metadata: ChunkMetadata): DeflateCodec;
} {
  return {
    fromConfig(configuration, metadata) {
      const { level } = parseCodecConfiguration(name, ["level"], configuration);
      return new DeflateCodec(
        format,
        checkLevel(level ?? DEFAULT_LEVEL, name, -1, 9),
        decodedLength(name, metadata),
        native,
      );
    },
  };
}

/**
 * The codecs `gzip` and `numcodecs.zlib`.
 *
 * Source: https://zarr-specs.readthedocs.io/en/latest/v3/codecs/gzip/
 */
export class DeflateCodec {
  readonly kind = "bytes_to_bytes";
  readonly #format: "gzip" | "zlib";
  readonly #level: number;
  readonly #expected: number | undefined;
  readonly #native: NativeZlib | null;

  constructor(
    format: "gzip" | "zlib",
    level: number,
    expected: number | undefined,
    native: NativeZlib | null,
  ) {
    this.#format = format;
    this.#level = level;
    this.#expected = expected;
    this.#native = native;
  }

  async encode(bytes: Uint8Array): Promise<Uint8Array> {
    if (this.#native === null) {
      return await transformBytes(
        bytes,
        new CompressionStream(this.#streamFormat()),
      );
    }
    const { gzipSync, deflateSync } = this.#native;
    const encodeNow = this.#format === "gzip" ? gzipSync : deflateSync;
    return ownBytes(encodeNow(bytes, {
      level: this.#level,
      chunkSize: pieceSize(bytes.length),
    }));
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
        throw tooLong(encoded, this.#expected!, this.#format, cause);
      }
      throw damaged(
        encoded,
        `is not decoded by ${this.#format}: ${message}`,
        cause,
      );
    }
    assertDecodedLength(
      encoded,
      decoded.length,
      this.#expected,
      this.#format,
    );
    const key = keyOf(encoded);
    if (key !== "") noteKey(decoded, key); // For the next codecs.
    return decoded;
  }

  #decodeNatively(encoded: Uint8Array, native: NativeZlib): Uint8Array {
    const { gunzipSync, inflateSync } = native;
    const decodeNow = this.#format === "gzip" ? gunzipSync : inflateSync;
    const { buffer, engine } = decodeNow(encoded, {
      info: true,
      chunkSize: pieceSize(this.#expected),
      ...(this.#expected === undefined
        ? {}
        : { maxOutputLength: decodedLimit(this.#expected) }),
    }) as unknown as { buffer: Uint8Array; engine: { bytesWritten: number } };
    if (engine.bytesWritten !== encoded.length) {
      throw new SyntaxError(
        `The data ends after ${engine.bytesWritten} of ${encoded.length} bytes`,
      );
    }
    return ownBytes(buffer);
  }

  /** Some streams return what they have of zlib data that is cut short. */
  async #decodeByStream(encoded: Uint8Array): Promise<Uint8Array> {
    const decoded = await transformBytes(
      encoded,
      new DecompressionStream(this.#streamFormat()),
      decodedLimit(this.#expected),
    );
    if (this.#format === "gzip") return decoded;
    const { buffer, byteOffset, length } = encoded;
    const end = length - ADLER_SIZE;
    const stored = end > 0
      ? new DataView(buffer, byteOffset).getUint32(end)
      : undefined;
    if (stored === adler32(decoded)) return decoded;
    throw new SyntaxError("Its checksum does not match");
  }

  #streamFormat(): "gzip" | "deflate" {
    return this.#format === "gzip" ? "gzip" : "deflate";
  }
}
