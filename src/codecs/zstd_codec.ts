import {
  joinBytes,
  loadOnce,
  type NativeZlib,
  nativeZlib,
  outputLimit,
  ownOutput,
  pieceSize,
} from "../runtime/mod.ts";
import {
  type BytesCodec,
  type ChunkMetadata,
  Configuration,
  damaged,
} from "./codec.ts";
import {
  bytesCodec,
  type DecodedLength,
  decodedLength,
  type Libraries,
  TooLong,
} from "./decoded_length.ts";

/** zarrita's class of the codec `zstd`, as the registry holds it. */
interface ZstdEntry {
  fromConfig(configuration: { level: number }): BytesCodec;
}

/**
 * The bytes above the limit that zarrita's decoder may decode from a frame without its
 * length, since the blocks of the frame do not contain their decoded lengths.
 */
const MOST_EXCESS = 2 ** 26;

/** zstd's own default, which the level 0 stands for; zarrita's encoder takes 0 as 1. */
const DEFAULT_LEVEL = 3;

/**
 * Makes the codec `zstd`: by the runtime where it has zstd, and by zarrita's decoder
 * elsewhere. Frames are decoded one at a time, and only if they are whole.
 *
 * Source: https://github.com/zarr-developers/zarr-specs/pull/256
 *
 * @param name The name in the metadata, such as `numcodecs.zstd`.
 * @param loadZstd Loads zarrita's class; needed where the runtime has no zstd.
 */
export function zstdEntry(
  name: string,
  loadZstd: (() => unknown) | undefined,
  native: () => NativeZlib | null = nativeZlib,
): { fromConfig(configuration: unknown, metadata: ChunkMetadata): BytesCodec } {
  return {
    fromConfig(configuration, metadata) {
      const members = new Configuration(
        name,
        ["level", "checksum"],
        configuration,
      );
      const parsed = {
        level: members.whole("level", -131072, 22, 0) || DEFAULT_LEVEL,
        checksum: members.get("checksum") === true,
      };
      const length = decodedLength(name, metadata);
      const { reusesMemory = false } = metadata;
      const libraries = { loadZstd, native, reusesMemory };
      return bytesCodec("zstd", length, zstdCoder(parsed, length, libraries));
    },
  };
}

/** Makes the functions of zstd. */
export function zstdCoder(
  { level, checksum }: { level: number; checksum: boolean },
  length: DecodedLength,
  { loadZstd, native, reusesMemory }: Libraries,
): BytesCodec {
  const loadPeer = loadOnce(async () =>
    (await loadZstd!() as ZstdEntry).fromConfig({ level })
  );
  /**
   * @param limit The most bytes that a frame without a content size may decode to.
   * @param rest The length of the only such frame, if it is known.
   */
  const decodeFrame = async (
    encoded: Uint8Array,
    frame: ZstdFrame,
    limit: number,
    rest: number | undefined,
  ): Promise<Uint8Array> => {
    const { start, end, contentSize, mostBytes } = frame;
    const bytes = encoded.subarray(start, end);
    const most = contentSize ?? Math.min(limit, mostBytes);
    const zlib = native();
    if (zlib?.zstdDecompressSync) {
      const reused = reusesMemory && contentSize !== undefined
        ? decodeAgain(zlib, bytes, contentSize)
        : undefined;
      return reused ?? ownOutput(zlib.zstdDecompressSync(bytes, {
        chunkSize: pieceSize(contentSize ?? rest),
        maxOutputLength: outputLimit(most),
      }));
    }
    if (
      contentSize === undefined && rest === undefined &&
      mostBytes > limit + MOST_EXCESS
    ) {
      throw new SyntaxError(
        `A frame without its length may have up to ${mostBytes} bytes`,
      );
    }
    // zarrita's decoder has no limit but the content size in the header.
    const sized = contentSize === undefined && rest !== undefined
      ? withContentSize(encoded, frame, Math.max(rest, 0))
      : bytes;
    return await (await loadPeer()).decode(sized);
  };
  return {
    async encode(bytes) {
      const zlib = native();
      if (!zlib?.zstdCompressSync) return (await loadPeer()).encode(bytes);
      const { constants } = zlib;
      const options = {
        pledgedSrcSize: bytes.length, // So that the frame has its content size.
        params: {
          [constants.ZSTD_c_compressionLevel!]: level,
          [constants.ZSTD_c_checksumFlag!]: checksum ? 1 : 0,
        },
        // To a frame that fills a piece, Deno adds an empty frame.
        chunkSize: pieceSize(frameBound(bytes.length)),
      };
      return ownOutput(zlib.zstdCompressSync(bytes, options));
    },
    async decode(encoded) {
      const frames = framesOf(encoded);
      const known = frames.reduce(
        (sum, { contentSize }) => sum + (contentSize ?? 0),
        0,
      );
      let left = length.limit - known;
      if (left < 0) throw new TooLong();
      const unsized = frames.filter((frame) => frame.contentSize === undefined);
      const rest = unsized.length === 1 && length.exact !== undefined
        ? length.exact - known
        : undefined;
      const pieces: Uint8Array[] = [];
      for (const frame of frames) {
        const { start, contentSize } = frame;
        const piece = await decodeFrame(encoded, frame, left, rest)
          .catch((cause) => {
            const isTooLong = cause.code === "ERR_BUFFER_TOO_LARGE" &&
              contentSize === undefined;
            if (isTooLong) throw new TooLong("", { cause });
            throw new SyntaxError(cause.message, { cause });
          });
        if (contentSize === undefined) left -= piece.length;
        else if (piece.length !== contentSize) {
          throw damaged(
            encoded,
            `has a zstd frame at ${start} of ${piece.length} bytes, where its header says ${contentSize}`,
          );
        }
        if (left < 0) throw new TooLong();
        pieces.push(piece);
      }
      return pieces.length === 1 ? pieces[0]! : joinBytes(pieces);
    },
  };
}

/** A decoder of `node:zlib`, with members that `node:zlib` does not document. */
interface Decoder {
  readonly _handle?: {
    reset(): void;
    writeSync(
      flush: number,
      input: Uint8Array,
      start: number,
      length: number,
      output: Uint8Array,
      outputStart: number,
      outputLength: number,
    ): void;
  };
  /** The number of bytes that were left of the output, and of the input. */
  readonly _writeState?: ArrayLike<number>;
  readonly destroyed?: boolean;
  on(type: "error", listener: () => void): void;
}

let decoder: Decoder | undefined;
let output = new Uint8Array();
/** The spare bytes of the output, by which the decoder notices a frame that decodes to more bytes. */
const ROOM = 64;

/**
 * Decodes a frame by the decoder, and into the memory, of earlier frames: a new decoder
 * with new memory takes a seventh of the time of a read by `getSharded`.
 *
 * @param length The content size of the frame, which is whole.
 * @returns The content, valid until the next call; `undefined` where the runtime has no
 * such decoder, or the frame is not decoded to its length. The documented function tells
 * what is wrong with it.
 */
function decodeAgain(
  native: NativeZlib,
  frame: Uint8Array,
  length: number,
): Uint8Array | undefined {
  try {
    if (decoder === undefined) {
      decoder = new native.ZstdDecompress!({ chunkSize: ROOM }) as Decoder;
      decoder.on("error", () => {}); // Not to end the program.
    }
    const { _handle: handle, _writeState: left } = decoder;
    if (handle === undefined || left === undefined) return undefined;
    if (frame.buffer === output.buffer) return undefined;
    if (output.length < length + ROOM) output = new Uint8Array(length + ROOM);
    handle.reset();
    const end = native.constants.ZSTD_e_end!;
    const room = length + ROOM;
    handle.writeSync(end, frame, 0, frame.length, output, 0, room);
    if (!decoder.destroyed && left[0] === ROOM && left[1] === 0) {
      return output.subarray(0, length);
    }
  } catch {
    // The next frame gets a new decoder.
  }
  decoder = undefined;
  return undefined;
}

/** A length that no frame with bytes of a length reaches. Source: ZSTD_COMPRESSBOUND in zstd.h */
function frameBound(length: number): number {
  return length + (length >>> 8) + 128;
}

function framesOf(encoded: Uint8Array): ZstdFrame[] {
  try {
    return zstdFrames(encoded);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw damaged(encoded, error.message);
  }
}

/**
 * A frame of zstd data that is whole. Offsets and lengths are in bytes.
 *
 * Source: RFC 8878, section 3, https://www.rfc-editor.org/rfc/rfc8878.html
 */
interface ZstdFrame {
  readonly start: number;
  /** The end of the frame, with its checksum. */
  readonly end: number;
  /** The end of the header. */
  readonly firstBlock: number;
  /** The length of the decoded frame, if the header has it. */
  readonly contentSize: number | undefined;
  /** The length that the decoded frame cannot exceed by the number of its blocks. */
  readonly mostBytes: number;
}

const MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50;
/** The largest length of a decoded block. */
const LARGEST_BLOCK = 2 ** 17;
const RLE_BLOCK = 1;
const COMPRESSED_BLOCK = 2;
const CHECKSUM_SIZE = 4;

/**
 * Finds the frames of zstd data by their headers and the headers of their blocks.
 * Skippable frames are left out. Decoders may never return for frames that are cut
 * short, or decode the blocks that are there.
 *
 * @throws {SyntaxError} If the structure is damaged. The message continues after the
 * name of the data.
 */
export function zstdFrames(bytes: Uint8Array): ZstdFrame[] {
  const reader = new Reader(bytes);
  const frames: ZstdFrame[] = [];
  while (reader.offset < bytes.length) {
    const start = reader.offset;
    const magic = reader.read(4);
    if (magic === MAGIC) frames.push(readFrame(reader, start));
    else if (magic - magic % 16 === SKIPPABLE_MAGIC) {
      reader.skip(reader.read(4));
    } else {
      throw new SyntaxError(
        `has the bytes 0x${
          magic.toString(16).padStart(8, "0")
        } at ${start}, where a zstd frame starts with 0xfd2fb528`,
      );
    }
  }
  if (frames.length > 0) return frames;
  throw new SyntaxError("has no zstd frame");
}

function readFrame(reader: Reader, start: number): ZstdFrame {
  const descriptor = reader.read(1);
  if ((descriptor & 0b1000) !== 0) {
    throw new SyntaxError(
      `has a reserved bit in the header of the zstd frame at ${start}`,
    );
  }
  const isSingleSegment = (descriptor & 0b10_0000) !== 0;
  const windowSize = isSingleSegment ? undefined : readWindowSize(reader);
  reader.skip([0, 1, 2, 4][descriptor & 3]!);
  const contentSize = readContentSize(reader, descriptor >> 6, isSingleSegment);
  const firstBlock = reader.offset;
  const largestBlock = Math.min(windowSize ?? contentSize!, LARGEST_BLOCK);
  let mostBytes = 0;
  for (let isLast = false; !isLast;) {
    const block = reader.offset;
    const header = reader.read(3);
    isLast = (header & 1) === 1;
    const type = header >> 1 & 3;
    const size = header >> 3;
    if (type > COMPRESSED_BLOCK || size > largestBlock) {
      throw new SyntaxError(
        `has a zstd block at ${block} of type ${type} and ${size} bytes, where types are 0 to 2 and blocks take at most ${largestBlock} bytes`,
      );
    }
    mostBytes += type === COMPRESSED_BLOCK ? largestBlock : size;
    reader.skip(type === RLE_BLOCK ? 1 : size);
  }
  if ((descriptor & 0b100) !== 0) reader.skip(CHECKSUM_SIZE);
  if (contentSize !== undefined && contentSize > mostBytes) {
    throw new SyntaxError(
      `has ${contentSize} as the content size of the zstd frame at ${start}, where its blocks hold at most ${mostBytes} bytes`,
    );
  }
  return {
    start,
    end: reader.offset,
    firstBlock,
    contentSize,
    mostBytes,
  };
}

function readWindowSize(reader: Reader): number {
  const window = reader.read(1);
  const base = 2 ** (10 + (window >> 3));
  return base + base / 8 * (window & 7);
}

function readContentSize(
  reader: Reader,
  flag: number,
  isSingleSegment: boolean,
): number | undefined {
  if (flag === 0) return isSingleSegment ? reader.read(1) : undefined;
  return flag === 1 ? reader.read(2) + 256 : reader.read(flag === 2 ? 4 : 8);
}

/**
 * A copy of a frame without a content size, with this content size in its header.
 * Decoders then stop at that length.
 */
function withContentSize(
  bytes: Uint8Array,
  frame: ZstdFrame,
  contentSize: number,
): Uint8Array {
  const { start, end, firstBlock } = frame;
  const header = firstBlock - start;
  const copy = new Uint8Array(end - start + 8);
  copy.set(bytes.subarray(start, firstBlock));
  copy[4]! |= 0b1100_0000;
  new DataView(copy.buffer).setBigUint64(header, BigInt(contentSize), true);
  copy.set(bytes.subarray(firstBlock, end), header + 8);
  return copy;
}

/** Reads little-endian numbers, and never beyond the end. */
class Reader {
  readonly #bytes: Uint8Array;
  offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  read(size: number): number {
    const start = this.offset;
    this.skip(size);
    let value = 0;
    for (let i = size - 1; i >= 0; i--) {
      value = value * 256 + this.#bytes[start + i]!;
    }
    return value;
  }

  skip(size: number): void {
    this.offset += size;
    if (this.offset <= this.#bytes.length) return;
    throw new SyntaxError(
      `is cut short: its zstd frame needs ${this.offset} bytes or more, found ${this.#bytes.length}`,
    );
  }
}
