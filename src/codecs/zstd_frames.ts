/**
 * The structure of zstd data: frames of blocks, as in RFC 8878, section 3.
 * Source: https://www.rfc-editor.org/rfc/rfc8878.html
 */

/** A frame of zstd data that is whole. Offsets and lengths are in bytes. */
export interface ZstdFrame {
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
export function withContentSize(
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
