import { compileModule } from "../checksum/mod.ts";
import { WASM_BINARY } from "./blocks_wasm.ts";
import {
  bitShuffle,
  bitUnshuffle,
  shuffle,
  unshuffle,
} from "./byte_shuffle.ts";
import { decodeLz4, encodeLz4 } from "./lz4_block.ts";

/** An order of the bytes of elements. */
export type Order = "noshuffle" | "shuffle" | "bitshuffle";

/** Decodes and encodes blocks of LZ4 and of blosc. */
export interface BlockEngine {
  /**
   * Decodes a block of LZ4.
   *
   * @param to Takes the decoded bytes, which are exactly as many.
   * @throws {SyntaxError} If the block is damaged.
   */
  decodeLz4(block: Uint8Array, to: Uint8Array): void;
  /** Encodes bytes as a block of LZ4 in memory of its own. */
  encodeLz4(bytes: Uint8Array, acceleration: number): Uint8Array;
  /** Puts the bytes of elements in an order. */
  order(bytes: Uint8Array, to: Uint8Array, order: Order, size: number): void;
  /** Reverses `order`. */
  restore(bytes: Uint8Array, to: Uint8Array, order: Order, size: number): void;
  /**
   * Decodes a block of blosc: streams of LZ4 for equal pieces of the block, whose bytes are
   * in an order. A stream as long as its piece is the piece itself.
   */
  decodeBlock(
    streams: readonly Uint8Array[],
    to: Uint8Array,
    order: Order,
    size: number,
  ): void;
  /** Encodes a block as a number of such streams, in memory of their own. */
  encodeBlock(
    bytes: Uint8Array,
    streams: number,
    order: Order,
    size: number,
    acceleration: number,
  ): Uint8Array[];
}

/** The engine in TypeScript. */
export const PORTABLE_ENGINE: BlockEngine = {
  decodeLz4,
  encodeLz4: (bytes, acceleration) => encodeLz4(bytes, { acceleration }),
  order(bytes, to, order, size) {
    if (order === "noshuffle") to.set(bytes);
    else if (order === "shuffle") shuffle(bytes, to, size);
    else bitShuffle(bytes, to, size);
  },
  restore(bytes, to, order, size) {
    if (order === "noshuffle") to.set(bytes);
    else if (order === "shuffle") unshuffle(bytes, to, size);
    else bitUnshuffle(bytes, to, size);
  },
  decodeBlock(streams, to, order, size) {
    const ordered = order === "noshuffle" ? to : new Uint8Array(to.length);
    const length = to.length / streams.length;
    streams.forEach((stream, i) => {
      const piece = ordered.subarray(i * length, (i + 1) * length);
      if (stream.length === length) piece.set(stream);
      else decodeLz4(stream, piece);
    });
    if (ordered !== to) this.restore(ordered, to, order, size);
  },
  encodeBlock(bytes, streams, order, size, acceleration) {
    let ordered = bytes;
    if (order !== "noshuffle") {
      ordered = new Uint8Array(bytes.length);
      this.order(bytes, ordered, order, size);
    }
    const length = bytes.length / streams;
    return Array.from(
      { length: streams },
      (_, i) =>
        this.encodeLz4(
          ordered.subarray(i * length, (i + 1) * length),
          acceleration,
        ),
    );
  },
};

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
/** Chunks that need more memory are left to the engine in TypeScript, since the memory is kept. */
const LARGEST_MEMORY = 64 * 1024 * 1024;

/**
 * The engine in WebAssembly. Bytes are copied into its memory and out of it. Damaged blocks
 * are decoded again in TypeScript, whose error describes the damage.
 */
class WasmEngine implements BlockEngine {
  readonly #exports: Exports;
  #memory: Uint8Array;

  constructor(module: WebAssembly.Module) {
    const { exports } = new WebAssembly.Instance(module);
    this.#exports = exports as unknown as Exports;
    this.#memory = new Uint8Array(this.#exports.memory.buffer);
  }

  decodeLz4(block: Uint8Array, to: Uint8Array): void {
    const places = this.#places(block.length, to.length);
    if (places === undefined) return PORTABLE_ENGINE.decodeLz4(block, to);
    const [from, decoded] = places as [number, number];
    this.#memory.set(block, from);
    this.#decode(from, block, decoded, to.length);
    to.set(this.#memory.subarray(decoded, decoded + to.length));
  }

  encodeLz4(bytes: Uint8Array, acceleration: number): Uint8Array {
    const { length } = bytes;
    const places = this.#places(length, lz4Bound(length));
    if (places === undefined) {
      return PORTABLE_ENGINE.encodeLz4(bytes, acceleration);
    }
    const [from, to] = places as [number, number];
    this.#memory.set(bytes, from);
    const size = this.#exports.encodeLz4(from, length, to, acceleration);
    return this.#memory.slice(to, to + size);
  }

  order(bytes: Uint8Array, to: Uint8Array, order: Order, size: number): void {
    this.#change("order", bytes, to, order, size);
  }

  restore(bytes: Uint8Array, to: Uint8Array, order: Order, size: number): void {
    this.#change("restore", bytes, to, order, size);
  }

  #change(
    direction: "order" | "restore",
    bytes: Uint8Array,
    to: Uint8Array,
    order: Order,
    size: number,
  ): void {
    const { length } = bytes;
    const places = this.#places(length, length, length);
    if (places === undefined || order === "noshuffle") {
      return PORTABLE_ENGINE[direction](bytes, to, order, size);
    }
    const [from, changed, between] = places as [number, number, number];
    this.#memory.set(bytes, from);
    this.#reorder(direction, from, changed, length, order, size, between);
    to.set(this.#memory.subarray(changed, changed + length));
  }

  decodeBlock(
    streams: readonly Uint8Array[],
    to: Uint8Array,
    order: Order,
    size: number,
  ): void {
    const { length } = to;
    const places = this.#places(
      Math.max(...streams.map(({ length }) => length)),
      length,
      length,
      length,
    );
    if (places === undefined) {
      return PORTABLE_ENGINE.decodeBlock(streams, to, order, size);
    }
    const [from, ordered, decoded, between] = places as number[];
    const piece = length / streams.length;
    streams.forEach((stream, i) => {
      const start = ordered! + i * piece;
      if (stream.length === piece) return this.#memory.set(stream, start);
      this.#memory.set(stream, from!);
      this.#decode(from!, stream, start, piece);
    });
    let end = ordered!;
    if (order !== "noshuffle") {
      end = decoded!;
      this.#reorder("restore", ordered!, end, length, order, size, between!);
    }
    to.set(this.#memory.subarray(end, end + length));
  }

  encodeBlock(
    bytes: Uint8Array,
    streams: number,
    order: Order,
    size: number,
    acceleration: number,
  ): Uint8Array[] {
    const { length } = bytes;
    const piece = length / streams;
    const places = this.#places(length, length, length, lz4Bound(piece));
    if (places === undefined) {
      return PORTABLE_ENGINE.encodeBlock(
        ...[bytes, streams, order, size, acceleration] as const,
      );
    }
    const [from, ordered, between, to] = places as number[];
    this.#memory.set(bytes, from);
    let start = from!;
    if (order !== "noshuffle") {
      start = ordered!;
      this.#reorder("order", from!, start, length, order, size, between!);
    }
    return Array.from({ length: streams }, (_, i) => {
      const size = this.#exports.encodeLz4(
        ...[start + i * piece, piece, to!, acceleration] as const,
      );
      return this.#memory.slice(to!, to! + size);
    });
  }

  #decode(
    from: number,
    block: Uint8Array,
    to: number,
    length: number,
  ): void {
    const end = from + block.length;
    if (this.#exports.decodeLz4(from, end, to, to + length)) return;
    PORTABLE_ENGINE.decodeLz4(block, new Uint8Array(length));
    throw new SyntaxError("The data is no block of LZ4");
  }

  #reorder(
    direction: "order" | "restore",
    from: number,
    to: number,
    length: number,
    order: Order,
    size: number,
    between: number,
  ): void {
    const count = Math.floor(length / size);
    const whole = count * size;
    const isForward = direction === "order";
    if (order === "shuffle") {
      const change = isForward ? "shuffle" : "unshuffle";
      this.#exports[change](from, to, count, size);
    } else if (count % 8 === 0) {
      const change = isForward ? "bitShuffle" : "bitUnshuffle";
      this.#exports[change](from, to, count, size, between);
    } else {
      return void this.#memory.copyWithin(to, from, from + length);
    }
    this.#memory.copyWithin(to + whole, from + whole, from + length);
  }

  /** Places for pieces of these lengths; `undefined` if there is no memory for them. */
  #places(...lengths: number[]): number[] | undefined {
    let end = this.#exports.start.value;
    const places: number[] = [];
    for (const length of lengths) {
      places.push(end);
      end += Math.ceil(length / 16) * 16 + SLACK;
    }
    if (end > LARGEST_MEMORY) return undefined;
    const missing = end - this.#memory.length;
    if (missing > 0) {
      try {
        this.#exports.memory.grow(Math.ceil(missing / PAGE));
      } catch {
        return undefined;
      }
      this.#memory = new Uint8Array(this.#exports.memory.buffer);
    }
    return places;
  }
}

/** The most bytes that a block of LZ4 of bytes of some length has. */
function lz4Bound(length: number): number {
  return length + Math.ceil(length / 255) + 16;
}

/** The engine in WebAssembly, or `undefined` where it does not run. */
export function openWasmEngine(): BlockEngine | undefined {
  try {
    const module = compileModule(WASM_BINARY);
    return module && new WasmEngine(module);
  } catch {
    return undefined;
  }
}

let engine: BlockEngine | undefined;

/** The engine for this runtime. */
export function blockEngine(): BlockEngine {
  return engine ??= openWasmEngine() ?? PORTABLE_ENGINE;
}

let reused = new Uint8Array();

/**
 * Memory for decoded bytes.
 *
 * @param reuses Whether the next call may return the same memory.
 * @param encoded Bytes that are still read, which may lie in that memory.
 */
export function decodedMemory(
  length: number,
  reuses: boolean,
  encoded: Uint8Array,
): Uint8Array {
  if (!reuses || encoded.buffer === reused.buffer) {
    return new Uint8Array(length);
  }
  if (reused.length < length) reused = new Uint8Array(length);
  return reused.subarray(0, length);
}
