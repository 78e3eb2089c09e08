import { coreDataType } from "../metadata/mod.ts";
import {
  copyBytes,
  joinBytes,
  type NativeZlib,
  nativeZlib,
  uint32,
} from "../runtime/mod.ts";
import { blockEngine, decodedMemory, type Order } from "./block_engine.ts";
import {
  type Compressor,
  COMPRESSORS,
  decodeStream,
  encodeStream,
  FORMATS,
  type StreamFormat,
} from "./blosc_streams.ts";
import { type BytesCodec, type ChunkMetadata, Configuration } from "./codec.ts";
import {
  bytesCodec,
  decodedLength,
  type Libraries,
  TooLong,
} from "./decoded_length.ts";

/**
 * Makes the codec `blosc`: frames of c-blosc 1, whose streams are blosclz, LZ4, Snappy, zlib
 * or zstd. zlib and zstd are those of the codecs of these names.
 *
 * Sources: https://zarr-specs.readthedocs.io/en/latest/v3/codecs/blosc/ and
 * https://github.com/Blosc/c-blosc/blob/main/README_CHUNK_FORMAT.rst
 *
 * @param name `blosc` or `numcodecs.blosc`.
 * @param loadZstd Loads zarrita's `zstd`; needed where the runtime has none.
 */
export function bloscEntry(
  name: string,
  loadZstd: (() => unknown) | undefined,
  native: () => NativeZlib | null = nativeZlib,
): { fromConfig(configuration: unknown, metadata: ChunkMetadata): BytesCodec } {
  return {
    fromConfig(configuration, metadata) {
      const parsed = parseBlosc(name, configuration, metadata.dataType);
      const length = decodedLength(name, metadata);
      const { reusesMemory = false } = metadata;
      const libraries = { loadZstd, native, reusesMemory };
      return bytesCodec("blosc", length, {
        encode: (bytes) => encodeFrame(bytes, parsed, libraries),
        decode: (encoded) => decodeFrame(encoded, length.limit, libraries),
      });
    },
  };
}

/** How bytes are encoded. */
interface BloscConfiguration {
  readonly cname: Compressor;
  readonly clevel: number;
  readonly shuffle: typeof SHUFFLES[number];
  /** The length of an element in bytes. */
  readonly typesize: number;
  /** The length of a block in bytes; 0 for one that fits. */
  readonly blocksize: number;
}

/** The orders of bytes, at the numbers that they have in numcodecs. */
const SHUFFLES = ["noshuffle", "shuffle", "bitshuffle"] as const;
const AUTOSHUFFLE = -1;
const LARGEST_TYPESIZE = 255;

function parseBlosc(
  name: string,
  configuration: unknown,
  dataType: string,
): BloscConfiguration {
  const members = new Configuration(
    name,
    ["cname", "clevel", "shuffle", "typesize", "blocksize"],
    configuration,
  );
  const standard = (coreDataType(dataType)?.bits ?? 8) / 8;
  const size = members.whole("typesize", 1, Infinity, standard);
  const shuffle = members.get("shuffle") ?? 1;
  const order = shuffle === AUTOSHUFFLE
    ? size === 1 ? "bitshuffle" : "shuffle"
    : SHUFFLES[shuffle as number] ?? shuffle;
  if (!SHUFFLES.includes(order as "shuffle")) {
    throw members.refusal(
      "shuffle",
      '"noshuffle", "shuffle" or "bitshuffle", or a number from -1 to 2',
    );
  }
  return {
    cname: members.oneOf("cname", COMPRESSORS, "lz4"),
    clevel: members.whole("clevel", 0, 9, 5),
    shuffle: order as "shuffle",
    typesize: size > LARGEST_TYPESIZE ? 1 : size,
    blocksize: members.whole("blocksize", 0, Infinity, 0),
  };
}

const HEADER_SIZE = 16;
const VERSION = 2;
const STREAM_VERSION = 1;

/** The bits of the third byte. */
const SHUFFLED = 1;
const STORED = 2;
const BIT_SHUFFLED = 4;
const NOT_SPLIT = 16;

/** Blocks are split into the streams of the bytes of elements up to this length of elements. */
const MOST_SPLITS = 16;
/** The least length of such a stream in bytes. */
const LEAST_SPLIT = 128;
/** The least number of bytes to compress; fewer bytes are stored. */
const LEAST_LENGTH = 128;
/** c-blosc decodes no longer chunks. */
const LARGEST_LENGTH = 2 ** 31 - 1 - HEADER_SIZE;

async function encodeFrame(
  bytes: Uint8Array,
  configuration: BloscConfiguration,
  libraries: Libraries,
): Promise<Uint8Array> {
  const { cname, clevel, shuffle: order, typesize } = configuration;
  if (cname === "snappy") {
    throw new TypeError(
      'blosc with cname "snappy" is read, and not written; "lz4" is as fast',
    );
  }
  if (bytes.length > LARGEST_LENGTH) {
    throw new RangeError(
      `Expected at most ${LARGEST_LENGTH} bytes for blosc, found ${bytes.length}`,
    );
  }
  const format = cname === "lz4hc" ? "lz4" : cname;
  const blocksize = blockSize(bytes.length, configuration);
  const isSplit = splits(cname, typesize, blocksize);
  const header = new Uint8Array(HEADER_SIZE);
  const view = new DataView(header.buffer);
  header[0] = VERSION;
  header[1] = STREAM_VERSION;
  header[2] = FORMATS.indexOf(format) << 5 | (isSplit ? 0 : NOT_SPLIT) |
    (order === "shuffle" && typesize > 1 ? SHUFFLED : 0) |
    (order === "bitshuffle" && blocksize >= typesize ? BIT_SHUFFLED : 0);
  header[3] = typesize;
  view.setUint32(4, bytes.length, true);
  view.setUint32(8, blocksize, true);
  const pieces = clevel > 0 && bytes.length >= LEAST_LENGTH
    ? await encodeBlocks(
      bytes,
      readHeader(header),
      (block, count) =>
        encodeBlock(block, count, { ...configuration, cname }, libraries),
    )
    : undefined;
  if (pieces === undefined) header[2]! |= STORED;
  const encoded = joinBytes([header, ...pieces ?? [bytes]]);
  new DataView(encoded.buffer).setUint32(12, encoded.length, true);
  return encoded;
}

/** Returns the table of blocks and the streams; `undefined` if they take more than the bytes. */
async function encodeBlocks(
  bytes: Uint8Array,
  frame: Frame,
  encode: (block: Uint8Array, count: number) => Promise<Uint8Array[]>,
): Promise<Uint8Array[] | undefined> {
  const { blocksize } = frame;
  const table = new Uint8Array(4 * frame.blocks);
  const starts = new DataView(table.buffer);
  const pieces: Uint8Array[] = [table];
  let size = HEADER_SIZE + table.length;
  for (let block = 0; block < frame.blocks; block++) {
    starts.setUint32(4 * block, size, true);
    const start = block * blocksize;
    const plain = bytes.subarray(start, start + blocksize);
    for (const stream of await encode(plain, streamsOf(frame, plain.length))) {
      pieces.push(uint32(stream.length), stream);
      size += 4 + stream.length;
    }
    if (size >= HEADER_SIZE + bytes.length) return undefined;
  }
  return pieces;
}

/** A configuration whose compressor encodes. */
type Encoder = BloscConfiguration & {
  readonly cname: Exclude<Compressor, "snappy">;
};

/** Encodes a block as streams of equal pieces. A piece that does not become shorter is stored. */
async function encodeBlock(
  block: Uint8Array,
  count: number,
  { cname, clevel, shuffle: order, typesize }: Encoder,
  libraries: Libraries,
): Promise<Uint8Array[]> {
  // lz4hc is encoded as lz4, which has the same format.
  if (cname === "lz4" || cname === "lz4hc") {
    const acceleration = cname === "lz4" ? 10 - clevel : 1;
    return blockEngine()
      .encodeBlock(block, count, order, typesize, acceleration);
  }
  const ordered = new Uint8Array(block.length);
  blockEngine().reorder(block, ordered, "order", order, typesize);
  const length = block.length / count;
  const streams: Uint8Array[] = [];
  for (let start = 0; start < block.length; start += length) {
    const piece = ordered.subarray(start, start + length);
    const encoded = await encodeStream(piece, cname, clevel, libraries);
    streams.push(encoded.length < length ? encoded : piece);
  }
  return streams;
}

async function decodeFrame(
  encoded: Uint8Array,
  limit: number,
  libraries: Libraries,
): Promise<Uint8Array> {
  const frame = readHeader(encoded);
  const { length, blocksize, flags, typesize, order } = frame;
  if (length > limit) throw new TooLong();
  if (frame.size !== encoded.length) {
    throw new SyntaxError(
      `Its header says ${frame.size} bytes, found ${encoded.length}`,
    );
  }
  const tableEnd = HEADER_SIZE + 4 * frame.blocks;
  if (flags & STORED) {
    if (frame.size === HEADER_SIZE + length) return encoded.slice(HEADER_SIZE);
    throw new SyntaxError(
      `It stores ${frame.size - HEADER_SIZE} of ${length} bytes`,
    );
  }
  if (tableEnd > encoded.length) {
    throw new SyntaxError(
      `Its ${frame.blocks} blocks take ${tableEnd} bytes or more, found ${encoded.length}`,
    );
  }
  const view = new DataView(encoded.buffer, encoded.byteOffset);
  const decoded = decodedMemory(length, libraries.reusesMemory, encoded);
  for (let block = 0; block < frame.blocks; block++) {
    const start = block * blocksize;
    const plain = decoded.subarray(start, start + blocksize);
    const count = streamsOf(frame, plain.length);
    const part = plain.length / count;
    const streams: Uint8Array[] = [];
    let at = view.getUint32(HEADER_SIZE + 4 * block, true);
    for (let i = 0; i < count; i++) {
      if (at < tableEnd || at + 4 > encoded.length) {
        throw new SyntaxError(`A stream of block ${block} starts at ${at}`);
      }
      const size = view.getUint32(at, true);
      at += 4;
      if (size > encoded.length - at) {
        throw new SyntaxError(
          `A stream of block ${block} has ${size} bytes, where ${
            encoded.length - at
          } are left`,
        );
      }
      const stream = encoded.subarray(at, at + size);
      at += size;
      if (size === part || frame.format === "lz4") streams.push(stream);
      else {
        const bytes = await decodeStream(stream, part, frame.format, libraries);
        streams.push(count === 1 ? bytes : copyBytes(bytes));
      }
    }
    if (streams[0]!.length === plain.length && order === "noshuffle") {
      plain.set(streams[0]!);
    } else blockEngine().decodeBlock(streams, plain, order, typesize);
  }
  return decoded;
}

/** The header of a frame. */
interface Frame {
  readonly flags: number;
  readonly format: StreamFormat;
  readonly order: Order;
  readonly typesize: number;
  /** The number of decoded bytes. */
  readonly length: number;
  readonly blocksize: number;
  readonly blocks: number;
  /** The number of encoded bytes. */
  readonly size: number;
}

function readHeader(bytes: Uint8Array): Frame {
  if (bytes.length < HEADER_SIZE) {
    throw new SyntaxError(
      `It has ${bytes.length} bytes, where its header takes ${HEADER_SIZE}`,
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const [version, , flags, typesize] = bytes as Uint8Array & number[];
  const length = view.getUint32(4, true);
  const blocksize = view.getUint32(8, true);
  const format = FORMATS[flags! >> 5];
  if (version !== VERSION) {
    throw new SyntaxError(
      `Its version is ${version}, where ${VERSION} is known`,
    );
  }
  if (format === undefined) {
    throw new SyntaxError(
      `Its format is ${flags! >> 5}, where 0 to 4 are known`,
    );
  }
  if (typesize === 0 || blocksize === 0 && length > 0) {
    throw new SyntaxError("Its elements or its blocks have no bytes");
  }
  const isBytes = flags! & SHUFFLED && typesize! > 1;
  const isBits = flags! & BIT_SHUFFLED && blocksize >= typesize!;
  return {
    flags: flags!,
    format,
    order: isBytes ? "shuffle" : isBits ? "bitshuffle" : "noshuffle",
    typesize: typesize!,
    length,
    blocksize,
    blocks: length === 0 ? 0 : Math.ceil(length / blocksize),
    size: view.getUint32(12, true),
  };
}

/** The number of streams of a block of some length. */
function streamsOf(
  { flags, typesize, blocksize }: Frame,
  length: number,
): number {
  return length === blocksize && !(flags & NOT_SPLIT) &&
      isSplittable(typesize, blocksize)
    ? typesize
    : 1;
}

function isSplittable(typesize: number, blocksize: number): boolean {
  return typesize <= MOST_SPLITS && blocksize / typesize >= LEAST_SPLIT &&
    blocksize % typesize === 0;
}

/** Whether c-blosc splits blocks of a compressor by default. */
function splits(cname: string, typesize: number, blocksize: number): boolean {
  return cname !== "zstd" && isSplittable(typesize, blocksize);
}

/** The length of a block as c-blosc chooses it. Source: `compute_blocksize` in blosc.c */
function blockSize(
  length: number,
  { cname, clevel, typesize, blocksize }: BloscConfiguration,
): number {
  let size = length;
  const isSlow = ["lz4hc", "zlib", "zstd"].includes(cname);
  if (blocksize > 0) size = Math.max(blocksize, LEAST_LENGTH);
  else if (length >= 2 ** 15) {
    const factor = [1 / 4, 1 / 2, 1, 2, 4, 4, 8, 8, 8, 8][clevel]!;
    size = 2 ** 15 * factor * (isSlow ? 2 : 1);
    if (clevel === 9 && isSlow) size *= 2;
  }
  if (blocksize === 0 && clevel > 0 && splits(cname, typesize, size)) {
    size = Math.min(size, 2 ** 18) * typesize;
    size = Math.min(Math.max(size, 2 ** 16), 2 ** 20);
  }
  size = Math.min(size, length);
  return size > typesize ? size - size % typesize : Math.max(size, 1);
}
