import { noteKey } from "../codecs/mod.ts";
import { coreDataType } from "../metadata/mod.ts";
import { copyBytes } from "../runtime/mod.ts";
import type { StoreKey } from "../stores/mod.ts";
import {
  type ChunkBlock,
  type ChunkFormat,
  copyElements,
  copyIntoChunk,
  isCheapToDecode,
  type Threads,
} from "../threads/mod.ts";
import {
  bytesOf,
  type Context,
  contextOf,
  type Elements,
  formatOf,
  hasOwnMethod,
} from "./array_context.ts";
import {
  type Along,
  blockOf,
  dividedAlong,
  productOf,
  type ShardPiece,
} from "./selection.ts";
import { arraysOf, DECODE, type Decode } from "./with_zarr_parts.ts";

/** The part of zarrita's `Array` that an encoder uses. */
interface WrittenArray {
  readonly store: object;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly getChunk: object;
}

/** The elements of a chunk that a write changes. */
export interface ChunkPiece {
  /** The grid coordinates of the chunk. */
  readonly coordinates: number[];
  /** The place of the elements in the chunk and in the value. */
  readonly block: ChunkBlock;
  /** Whether all elements of the chunk are written, also those outside of the array. */
  readonly isWhole: boolean;
}

/** A stored chunk, and the key of its shard. */
export interface StoredChunk {
  readonly bytes: Uint8Array;
  readonly key: StoreKey;
}

/**
 * Gathers the elements of chunks from the value of a write, and encodes the chunks: in
 * threads, or by the codecs of zarrita. The bytes are those of zarrita's `set`.
 */
export class ChunkEncoder {
  /** How the chunks are encoded, if threads should do it. */
  readonly format: ChunkFormat | undefined;
  /** The threads that encode, if there are any. */
  threads: Threads | undefined;
  readonly #context: Context;
  readonly #decode: Decode;
  readonly #shape: readonly number[];
  readonly #elementSize: number;
  /** The strides of the elements of a chunk, in the order in which they are stored. */
  readonly #strides: readonly number[];

  private constructor(
    { shape }: WrittenArray,
    context: Context,
    decode: Decode,
    format: ChunkFormat | undefined,
  ) {
    this.format = format;
    this.#context = context;
    this.#decode = decode;
    this.#shape = shape;
    this.#elementSize = new context.TypedArray(0).BYTES_PER_ELEMENT!;
    this.#strides = context.getStrides(context.chunkShape);
  }

  /**
   * Returns an encoder for a write, or `undefined` if zarrita has to do it: for elements
   * that are no numbers, for arrays that an extension has changed or that `zarr.create`
   * gave, and for values whose elements lie in other memory than those of the array.
   *
   * @param root The root of the array in the store.
   * @param value The value, as `writtenValue` gives it.
   */
  static async create(
    array: WrittenArray,
    root: string,
    value: unknown,
  ): Promise<ChunkEncoder | undefined> {
    const context = contextOf(array);
    const decode = (array as { [DECODE]?: Decode })[DECODE];
    const isNumeric = coreDataType(array.dtype)?.bits !== undefined &&
      array.shape.length > 0;
    if (!context || !decode || !isNumeric || !hasOwnMethod(array)) {
      return undefined;
    }
    const { BYTES_PER_ELEMENT: size } = new context.TypedArray(0);
    if (size === undefined || !hasMemory(value, size)) return undefined;
    const format = await formatOf(
      arraysOf(array.store)!,
      root,
      array,
      context,
    );
    const threaded = format && !isCheapToDecode(format.codecs)
      ? format
      : undefined;
    return new ChunkEncoder(array, context, decode, threaded);
  }

  /** The length of a decoded chunk in bytes. */
  get chunkBytes(): number {
    return this.#context.chunkShape
      .reduce((product, n) => product * n, this.#elementSize);
  }

  /** Divides a part of the write by the chunks that it changes, in C order. */
  *chunksOf({ selection, value }: ShardPiece): Generator<ChunkPiece> {
    const { chunkShape } = this.#context;
    const { bytes, strides } = this.#memoryOf(value, selection);
    const runs = this.#shape.map((length, i) => [
      ...dividedAlong(selection[i]!, length, chunkShape[i]!),
    ]);
    for (const along of productOf(runs)) {
      yield {
        coordinates: along.map(({ shard }) => shard),
        block: blockOf(along, chunkShape, bytes, strides),
        isWhole: isWhole(along, chunkShape),
      };
    }
  }

  /**
   * Encodes a chunk with the elements of a piece.
   *
   * @param stored The chunk that the piece changes; `undefined` for an absent one.
   * @param signal Ends the wait for a thread.
   * @throws {Error} If the stored chunk is damaged and kept in part, or if a thread ends
   * before it has encoded the chunk.
   */
  async encode(
    piece: ChunkPiece,
    stored: StoredChunk | undefined,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    if (this.threads !== undefined) {
      const encoded = await this.#encodeByThread(piece, stored, signal);
      if (encoded !== undefined) return encoded;
    }
    const { TypedArray, codec, chunkShape: shape } = this.#context;
    // All of the memory, as zarrita's codecs take it.
    const { buffer } = await this.#gather(piece, stored);
    const count = buffer.byteLength / this.#elementSize;
    const data = new TypedArray(buffer, 0, count);
    return await codec.encode({ data, shape, stride: this.#strides });
  }

  /** Encodes a chunk in a thread; returns `undefined` if it fails there, as zarrita encodes then, or throws its error. */
  async #encodeByThread(
    piece: ChunkPiece,
    stored: StoredChunk | undefined,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    const { block, isWhole } = piece;
    const isGathered = block.bytes.buffer instanceof ArrayBuffer ||
      !isWhole && stored !== undefined;
    const job = {
      kind: "encode" as const,
      elements: isGathered ? await this.#gather(piece, stored) : block,
      strides: this.#strides,
      fill: isGathered || isWhole ? undefined : this.#fillBytes(),
    };
    const [result] = await this.threads!
      .run(this.format!, [job], this.chunkBytes, signal);
    return result instanceof Uint8Array ? result : undefined;
  }

  /** Returns the elements of a chunk with those of a piece, in memory of their own. */
  async #gather(
    { coordinates, block, isWhole }: ChunkPiece,
    stored: StoredChunk | undefined,
  ): Promise<Uint8Array> {
    let bytes: Uint8Array;
    if (!isWhole && stored !== undefined) {
      // zarrita encodes all of the memory that elements lie in.
      const own = copyBytes(stored.bytes);
      noteKey(own, stored.key);
      const { data } = await this.#decode(coordinates, own);
      bytes = bytesOf(data as Elements);
    } else {
      bytes = new Uint8Array(this.chunkBytes);
      if (!isWhole) this.#fill(bytes);
    }
    const chunk = { bytes, strides: this.#strides };
    copyIntoChunk(block, chunk, this.#elementSize);
    return bytes;
  }

  /** Sets all elements of a chunk to the fill value. */
  #fill(bytes: Uint8Array): void {
    const fill = this.#fillBytes();
    if (fill.every((byte) => byte === 0)) return void bytes.fill(0);
    copyElements(
      { bytes, offset: 0, strides: this.#strides },
      { bytes: fill, offset: 0, strides: this.#strides.map(() => 0) },
      this.#context.chunkShape,
      this.#elementSize,
    );
  }

  #fillBytes(): Uint8Array {
    return this.#elementBytes(this.#context.fillValue);
  }

  #elementBytes(value: unknown): Uint8Array {
    const element = new this.#context.TypedArray(1);
    element.fill(value);
    return bytesOf(element);
  }

  /** The memory of a value, and its strides along the dimensions of the array. */
  #memoryOf(
    value: unknown,
    selection: readonly unknown[],
  ): { bytes: Uint8Array; strides: readonly number[] } {
    if (!isChunk(value)) {
      const bytes = this.#elementBytes(value);
      return { bytes, strides: selection.map(() => 0) };
    }
    const steps = [...value.stride];
    const strides = selection.map((along) =>
      typeof along === "number" ? 0 : steps.shift()!
    );
    return { bytes: bytesOf(value.data), strides };
  }
}

interface Chunk {
  readonly data: Elements;
  readonly stride: readonly number[];
}

function isChunk(value: unknown): value is Chunk {
  return typeof value === "object" && value !== null;
}

/** Whether a value is one element, or its elements have some length in memory. */
function hasMemory(value: unknown, elementSize: number): boolean {
  if (!isChunk(value)) return true;
  const { data, stride } = value;
  return data.BYTES_PER_ELEMENT === elementSize && data.buffer !== undefined &&
    data.byteOffset !== undefined && data.byteLength !== undefined &&
    stride.every(Number.isInteger);
}

/** Whether a selection has all elements of a chunk, also those outside of the array. */
function isWhole(
  along: readonly Along[],
  chunkShape: readonly number[],
): boolean {
  return along.every(({ selection, run }, i) =>
    run?.count === chunkShape[i] &&
    (selection as { step: number }).step === 1
  );
}
