import { compileModule } from "../checksum/mod.ts";
import { WASM_BINARY } from "./blocks_wasm.ts";

/** An order of the bytes of elements. */
export type Order = "noshuffle" | "shuffle" | "bitshuffle";

/** The exports of `wasm/blocks.ts`. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  /** The first place for bytes. */
  readonly start: { readonly value: number };
  decodeLz4(from: number, end: number, to: number, toEnd: number): number;
  encodeLz4(
    from: number,
    length: number,
    to: number,
    acceleration: number,
  ): number;
  shuffle(from: number, to: number, count: number, size: number): void;
  unshuffle(from: number, to: number, count: number, size: number): void;
  bitShuffle: ChangeBits;
  bitUnshuffle: ChangeBits;
}

type ChangeBits = (
  from: number,
  to: number,
  count: number,
  size: number,
  between: number,
) => void;

const PAGE = 64 * 1024;
/** The number of bytes after the end of a piece that vectors may read or write. */
const SLACK = 32;
/** Memory above this size is given back after its use, since that of WebAssembly never shrinks. */
const LARGEST_KEPT = 64 * 1024 * 1024;

/** Decodes and encodes blocks of LZ4 and of blosc in WebAssembly. Bytes are copied into its memory and out of it. */
class BlockEngine {
  readonly #exports: Exports;
  #memory: Uint8Array;

  constructor(module: WebAssembly.Module) {
    const { exports } = new WebAssembly.Instance(module);
    this.#exports = exports as unknown as Exports;
    this.#memory = new Uint8Array(this.#exports.memory.buffer);
  }

  /** The size of its memory in bytes. */
  get size(): number {
    return this.#memory.length;
  }

  /**
   * Decodes a block of LZ4.
   *
   * @param to Takes the decoded bytes, which are exactly as many.
   * @throws {SyntaxError} If the block is damaged.
   */
  decodeLz4(block: Uint8Array, to: Uint8Array): void {
    const [from, start] = this.#places(block.length, to.length) as [
      number,
      number,
    ];
    this.#decode(block, from, start, to.length);
    to.set(this.#memory.subarray(start, start + to.length));
  }

  /** Encodes bytes as a block of LZ4 in memory of its own. */
  encodeLz4(bytes: Uint8Array, acceleration: number): Uint8Array {
    const { length } = bytes;
    const [from, to] = this.#places(length, mostEncoded(length)) as [
      number,
      number,
    ];
    this.#memory.set(bytes, from);
    const size = this.#exports.encodeLz4(from, length, to, acceleration);
    return this.#memory.slice(to, to + size);
  }

  /** Puts the bytes of elements in an order, or back in their own one. */
  reorder(
    bytes: Uint8Array,
    to: Uint8Array,
    direction: "order" | "restore",
    order: Order,
    size: number,
  ): void {
    const { length } = bytes;
    const places = this.#places(length, length, length);
    this.#memory.set(bytes, places[0]);
    const start = this.#reorder(direction, places, length, order, size);
    to.set(this.#memory.subarray(start, start + length));
  }

  /**
   * Decodes a block of blosc: streams of LZ4 for equal pieces of the block, whose bytes are
   * in an order. A stream as long as its piece is the piece itself.
   *
   * @param to Takes the decoded bytes, which are exactly as many.
   * @throws {SyntaxError} If a stream is damaged.
   */
  decodeBlock(
    streams: readonly Uint8Array[],
    to: Uint8Array,
    order: Order,
    size: number,
  ): void {
    const { length } = to;
    const longest = Math.max(...streams.map(({ length }) => length));
    const [from, ...places] = this.#places(longest, length, length, length);
    const piece = length / streams.length;
    streams.forEach((stream, i) => {
      const start = places[0]! + i * piece;
      if (stream.length === piece) this.#memory.set(stream, start);
      else this.#decode(stream, from!, start, piece);
    });
    const start = this.#reorder("restore", places, length, order, size);
    to.set(this.#memory.subarray(start, start + length));
  }

  /**
   * Encodes a block of blosc, as {@linkcode decodeBlock} decodes it.
   *
   * @param count The number of streams.
   * @param acceleration That of LZ4: higher numbers are faster, and compress less.
   * @returns The streams, in memory of their own.
   */
  encodeBlock(
    bytes: Uint8Array,
    count: number,
    order: Order,
    size: number,
    acceleration: number,
  ): Uint8Array[] {
    const { length } = bytes;
    const piece = length / count;
    const [to, ...places] = this.#places(
      mostEncoded(piece),
      length,
      length,
      length,
    );
    this.#memory.set(bytes, places[0]);
    const start = this.#reorder("order", places, length, order, size);
    return Array.from({ length: count }, (_, i) => {
      const from = start + i * piece;
      const encoded = this.#exports.encodeLz4(from, piece, to!, acceleration);
      return encoded < piece
        ? this.#memory.slice(to, to! + encoded)
        : this.#memory.slice(from, from + piece);
    });
  }

  #decode(block: Uint8Array, from: number, to: number, length: number): void {
    this.#memory.set(block, from);
    const end = from + block.length;
    if (this.#exports.decodeLz4(from, end, to, to + length)) return;
    throw new SyntaxError(
      `The data is cut short, or no block of LZ4 of ${length} bytes`,
    );
  }

  /** Changes the order of bytes, and returns the place of the changed ones. */
  #reorder(
    direction: "order" | "restore",
    [from, to, between]: readonly number[],
    length: number,
    order: Order,
    size: number,
  ): number {
    const count = Math.floor(length / size);
    const isForward = direction === "order";
    if (order === "shuffle") {
      const change = isForward ? "shuffle" : "unshuffle";
      this.#exports[change](from!, to!, count, size);
    } else if (order === "bitshuffle" && count % 8 === 0) {
      const change = isForward ? "bitShuffle" : "bitUnshuffle";
      this.#exports[change](from!, to!, count, size, between!);
    } else return from!;
    const whole = count * size;
    this.#memory.copyWithin(to! + whole, from! + whole, from! + length);
    return to!;
  }

  /** Places for pieces of these lengths. */
  #places(...lengths: number[]): number[] {
    let end = this.#exports.start.value;
    const places: number[] = [];
    for (const length of lengths) {
      places.push(end);
      end += Math.ceil(length / 16) * 16 + SLACK;
    }
    const missing = end - this.#memory.length;
    if (missing > 0) {
      this.#exports.memory.grow(Math.ceil(missing / PAGE));
      this.#memory = new Uint8Array(this.#exports.memory.buffer);
    }
    return places;
  }
}

/** The most bytes of a block of LZ4 for some bytes. */
function mostEncoded(length: number): number {
  return length + Math.ceil(length / 255) + 16;
}

let engine: BlockEngine | undefined;

/**
 * The engine of this thread.
 *
 * @throws {TypeError} Where WebAssembly does not run.
 */
export function blockEngine(): BlockEngine {
  if (engine !== undefined && engine.size <= LARGEST_KEPT) return engine;
  const module = compileModule(WASM_BINARY);
  if (module === undefined) {
    throw new TypeError("blosc, lz4 and shuffle need WebAssembly");
  }
  return engine = new BlockEngine(module);
}

let reused = new Uint8Array();

/**
 * Memory for decoded bytes of a length in a header, which may be damaged.
 *
 * @param reuses Whether the next call may return the same memory.
 * @param encoded Bytes that are still read, which may lie in that memory.
 */
export function decodedMemory(
  length: number,
  reuses: boolean,
  encoded: Uint8Array,
): Uint8Array {
  try {
    if (!reuses || encoded.buffer === reused.buffer) {
      return new Uint8Array(length);
    }
    if (reused.length < length) reused = new Uint8Array(length);
    return reused.subarray(0, length);
  } catch {
    throw new SyntaxError(`Its header says ${length} bytes`);
  }
}
