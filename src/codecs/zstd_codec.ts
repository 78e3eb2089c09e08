import {
  joinBytes,
  type NativeZlib,
  nativeZlib,
  outputLimit,
  ownBytes,
  pieceSize,
} from "../runtime/mod.ts";
import {
  type BytesCoder,
  checkLevel,
  type ChunkMetadata,
  parseCodecConfiguration,
} from "./codec.ts";
import {
  damaged,
  type DecodedLength,
  decodedLength,
  tooLong,
  wholeChunk,
} from "./decoded_length.ts";
import { encodeNatively } from "./encode_natively.ts";
import { withContentSize, type ZstdFrame, zstdFrames } from "./zstd_frames.ts";

/** zarrita's class of the codec `zstd`, as the registry holds it. */
export interface ZstdEntry {
  fromConfig(configuration: { level: number }): BytesCoder;
}

/**
 * The bytes above the limit that zarrita's decoder may decode from a frame without its
 * length, since the blocks of the frame do not tell the length of what they hold.
 */
const MOST_EXCESS = 2 ** 26;

/** zstd's own default, which the level 0 stands for; zarrita's encoder takes 0 as 1. */
const DEFAULT_LEVEL = 3;

/**
 * Makes the codec `zstd`: by the runtime where it has zstd, and by zarrita's decoder
 * elsewhere. Frames are decoded one at a time, and only if they are whole.
 *
 * @param name The name in the metadata: `zstd` or `numcodecs.zstd`.
 * @param loadPeer Loads zarrita's class.
 */
export function zstdEntry(
  name: string,
  loadPeer: () => unknown,
  native: NativeZlib | null = nativeZlib(),
): {
  fromConfig(configuration: unknown, metadata: ChunkMetadata): ZstdCodec;
} {
  return {
    fromConfig(configuration, metadata) {
      const { level = DEFAULT_LEVEL, checksum = false } =
        parseCodecConfiguration(name, ["level", "checksum"], configuration);
      const parsed = {
        level: checkLevel(level ?? DEFAULT_LEVEL, name, -131072, 22) ||
          DEFAULT_LEVEL,
        checksum: checksum === true,
      };
      const length = decodedLength(name, metadata);
      return new ZstdCodec(parsed, length, loadPeer, native);
    },
  };
}

/** Zarr's codec `zstd`. Source: https://github.com/zarr-developers/zarr-specs/pull/256 */
export class ZstdCodec {
  readonly kind = "bytes_to_bytes";
  readonly #configuration: { level: number; checksum: boolean };
  readonly #length: DecodedLength;
  readonly #native: NativeZlib | null;
  readonly #loadPeer: () => unknown;
  #peer: Promise<BytesCoder> | undefined;

  constructor(
    configuration: { level: number; checksum: boolean },
    length: DecodedLength,
    loadPeer: () => unknown,
    native: NativeZlib | null,
  ) {
    this.#configuration = configuration;
    this.#length = length;
    this.#loadPeer = loadPeer;
    this.#native = native;
  }

  async encode(bytes: Uint8Array): Promise<Uint8Array> {
    const { level, checksum } = this.#configuration;
    if (!this.#native?.zstdCompressSync) {
      return await (await this.#loadedPeer()).encode(bytes);
    }
    const { constants } = this.#native;
    return await encodeNatively(this.#native, "zstdCompressSync", bytes, {
      chunkSize: pieceSize(bytes.length),
      pledgedSrcSize: bytes.length, // So that the frame has its content size.
      params: {
        [constants.ZSTD_c_compressionLevel!]: level,
        [constants.ZSTD_c_checksumFlag!]: checksum ? 1 : 0,
      },
    });
  }

  async decode(encoded: Uint8Array): Promise<Uint8Array> {
    const frames = framesOf(encoded);
    const known = frames.reduce(
      (sum, { contentSize }) => sum + (contentSize ?? 0),
      0,
    );
    let left = this.#length.limit - known;
    if (left < 0) throw tooLong(encoded, this.#length, "zstd");
    const unsized = frames.filter((frame) => frame.contentSize === undefined);
    const rest = unsized.length === 1 && this.#length.exact !== undefined
      ? this.#length.exact - known
      : undefined;
    const pieces: Uint8Array[] = [];
    for (const frame of frames) {
      const piece = await this.#decodeFrame(encoded, frame, left, rest);
      if (frame.contentSize === undefined) left -= piece.length;
      if (left < 0) throw tooLong(encoded, this.#length, "zstd");
      pieces.push(piece);
    }
    const decoded = pieces.length === 1 ? pieces[0]! : joinBytes(pieces);
    return wholeChunk(encoded, decoded, this.#length, "zstd");
  }

  /**
   * @param limit The most bytes that a frame without a content size may decode to.
   * @param rest The length of the only such frame, if it is known.
   */
  async #decodeFrame(
    encoded: Uint8Array,
    frame: ZstdFrame,
    limit: number,
    rest: number | undefined,
  ): Promise<Uint8Array> {
    const { start, end, contentSize, mostBytes } = frame;
    const bytes = encoded.subarray(start, end);
    const most = contentSize ?? Math.min(limit, mostBytes);
    let decoded: Uint8Array;
    try {
      if (this.#native?.zstdDecompressSync) {
        decoded = ownBytes(this.#native.zstdDecompressSync(bytes, {
          chunkSize: pieceSize(contentSize ?? rest),
          maxOutputLength: outputLimit(most),
        }));
      } else if (
        contentSize === undefined && rest === undefined &&
        mostBytes > limit + MOST_EXCESS
      ) {
        throw new SyntaxError(
          `A frame without its length may have up to ${mostBytes} bytes`,
        );
      } else {
        // zarrita's decoder has no limit but the content size in the header.
        const sized = contentSize === undefined && rest !== undefined
          ? withContentSize(encoded, frame, Math.max(rest, 0))
          : bytes;
        decoded = await (await this.#loadedPeer()).decode(sized);
      }
    } catch (cause) {
      const { message, code } = cause as Error & { code?: string };
      if (code === "ERR_BUFFER_TOO_LARGE" && contentSize === undefined) {
        throw tooLong(encoded, this.#length, "zstd", cause);
      }
      throw damaged(encoded, `is not decoded by zstd: ${message}`, cause);
    }
    if (contentSize === undefined || decoded.length === contentSize) {
      return decoded;
    }
    throw damaged(
      encoded,
      `has a zstd frame at ${start} of ${decoded.length} bytes, where its header says ${contentSize}`,
    );
  }

  #loadedPeer(): Promise<BytesCoder> {
    return this.#peer ??= Promise.resolve(this.#loadPeer()).then((entry) =>
      (entry as ZstdEntry).fromConfig({ level: this.#configuration.level })
    );
  }
}

function framesOf(encoded: Uint8Array): ZstdFrame[] {
  try {
    return zstdFrames(encoded);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw damaged(encoded, error.message);
  }
}
