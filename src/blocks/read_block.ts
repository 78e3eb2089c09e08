import { MemoryLimit, runConcurrently } from "../runtime/mod.ts";
import {
  type ChunkBlock,
  type ElementsAt,
  repeatElement,
  type Threads,
} from "../threads/mod.ts";
import {
  changedError,
  type ElementCodecs,
  type EncodedChunk,
} from "./element_codecs.ts";
import type { EncodedChunks, ReadChunk } from "./encoded_chunks.ts";
import {
  blockOf,
  chunkOf,
  type Run,
  type Section,
  sectionsIn,
} from "./sections.ts";

/** The bytes of decoded chunks that are requested from the store at once, so that close ranges are read together. */
const BATCH_BYTES = 4 * 2 ** 20;
/** The least bytes of chunks that are requested at once, if there are more. */
const LEAST_BATCH_BYTES = 2 ** 19;
/** The most bytes of chunks in memory, unless the threads need more. */
const MEMORY = 64 * 2 ** 20;
/** The greatest number of requests of close chunks at the same time. */
const MOST_BATCHES = 64;

/** The encoded chunks of an array, as far as they are read. */
export interface ChunkSource
  extends Pick<EncodedChunks, "chunkShape" | "storedShape"> {
  /** Reads chunks, as {@linkcode EncodedChunks.read} does. */
  read(
    chunks: readonly (readonly number[])[],
    options: { signal: AbortSignal },
  ): Promise<ReadChunk[][]>;
  nameOf(
    coordinates: readonly number[],
  ): { readonly what: string; readonly key: string };
}

/** An array whose elements are read and written in blocks. */
export interface BlockArray<Chunks = EncodedChunks> {
  readonly chunks: Chunks;
  readonly codecs: ElementCodecs;
  /** The element of absent chunks; `undefined` if it is not known. */
  readonly fill: Uint8Array | undefined;
}

/** A chunk, and its elements that are read or written. */
export interface ChunkPiece {
  readonly coordinates: readonly number[];
  readonly block: ChunkBlock;
}

/** Options of {@linkcode readBlock}. */
export interface ReadBlockOptions {
  /** The threads that decode; the calling thread by default. */
  readonly threads?: Threads | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The most bytes of chunks, encoded and decoded, that are in memory at the same time, unless one chunk needs more. */
  readonly memory?: number | undefined;
  /** Whether a stored chunk may be there: not if a listing has not found it. */
  readonly mayHave?: ((stored: readonly number[]) => boolean) | undefined;
  /** Called after each chunk. */
  readonly onChunk?:
    | ((piece: ChunkPiece, isPresent: boolean) => void)
    | undefined;
  /** Reads a chunk that cannot be decoded in another way, or throws. By default, damage is a `DamageError`. */
  readonly onFailed?:
    | ((piece: ChunkPiece, signal: AbortSignal) => Promise<void>)
    | undefined;
}

/**
 * Reads elements of an array into memory: chunks of one shard together, few at the same time.
 * Threads store them there themselves if the memory is shared.
 *
 * @param runs The elements along each dimension.
 * @param to The memory for them. New memory of zeros need not be filled with the fill value 0.
 * @throws {DamageError} If a chunk is damaged.
 * @throws {TypeError} If a chunk is absent, and the fill value is not known.
 */
export async function readBlock(
  array: BlockArray<ChunkSource>,
  runs: readonly Run[],
  to: ElementsAt,
  options: ReadBlockOptions = {},
): Promise<void> {
  const { chunkBytes } = array.codecs;
  const { threads, signal } = options;
  const count = Math.max(1, threads?.count ?? 1);
  const memory = options.memory ?? Math.max(MEMORY, 4 * chunkBytes * count);
  const total = runs.reduce((product, { start, stop, step }, i) => {
    const length = Math.max(step, array.chunks.chunkShape[i]!);
    return product * Math.max(0, Math.ceil((stop - start) / length));
  }, 1);
  const chunksIn = (bytes: number) =>
    Math.max(1, Math.ceil(bytes / chunkBytes));
  const size = Math.min(
    chunksIn(BATCH_BYTES),
    // So many that each thread gets some, of one request each.
    Math.max(chunksIn(LEAST_BATCH_BYTES), Math.ceil(total / (2 * count))),
    chunksIn(memory / 8),
  );
  const limit = new MemoryLimit(memory, 1);
  const read = new BlockRead(array, to, options);
  await runConcurrently(
    read.batches(runs, size),
    MOST_BATCHES,
    async (pieces, signal) => {
      const leave = await limit.enter(2 * chunkBytes * pieces.length);
      try {
        signal.throwIfAborted();
        await read.run(pieces, signal);
      } finally {
        leave();
      }
    },
    signal,
  );
}

/** One call of {@linkcode readBlock}. */
class BlockRead {
  readonly #array: BlockArray<ChunkSource>;
  readonly #to: ElementsAt;
  readonly #options: ReadBlockOptions;

  constructor(
    array: BlockArray<ChunkSource>,
    to: ElementsAt,
    options: ReadBlockOptions,
  ) {
    this.#array = array;
    this.#to = to;
    this.#options = options;
  }

  /** The chunks of runs: some of one stored chunk at a time, which are read together. */
  *batches(runs: readonly Run[], size: number): Generator<ChunkPiece[]> {
    const { chunkShape, storedShape } = this.#array.chunks;
    for (const stored of sectionsIn(runs, storedShape)) {
      const isThere = this.#options.mayHave?.(chunkOf(stored)) ?? true;
      let batch: ChunkPiece[] = [];
      for (const sections of sectionsIn(stored, chunkShape)) {
        const piece = this.#pieceOf(sections);
        if (!isThere) {
          this.#fill(piece);
          continue;
        }
        batch.push(piece);
        if (batch.length < size) continue;
        yield batch;
        batch = [];
      }
      if (batch.length > 0) yield batch;
    }
  }

  #pieceOf(sections: readonly Section[]): ChunkPiece {
    return {
      coordinates: chunkOf(sections),
      block: blockOf(sections, this.#array.chunks.chunkShape, this.#to),
    };
  }

  /** Reads and decodes chunks of one stored chunk. */
  async run(pieces: readonly ChunkPiece[], signal: AbortSignal): Promise<void> {
    const absent = new Set(pieces);
    const coordinates = pieces.map(({ coordinates }) => coordinates);
    const reads = await this.#array.chunks.read(coordinates, { signal });
    const tasks = reads.map((chunks) => {
      const found = chunks.map(({ place, bytes, rows }) => {
        const piece = pieces[place]!;
        absent.delete(piece);
        return { ...piece, bytes, rows };
      });
      return this.#decode(found, signal);
    });
    for (const result of await Promise.allSettled(tasks)) {
      if (result.status === "rejected") throw result.reason;
    }
    for (const piece of absent) this.#fill(piece);
  }

  /** Decodes chunks, which may share memory. */
  async #decode(
    chunks: readonly (ChunkPiece & EncodedChunk)[],
    signal: AbortSignal,
  ): Promise<void> {
    const { threads, onChunk } = this.#options;
    const { codecs } = this.#array;
    const failed = await codecs.decode(chunks, { threads, signal });
    for (const chunk of chunks) {
      if (failed.includes(chunk)) await this.#decodeAgain(chunk, signal);
      onChunk?.(chunk, true);
    }
  }

  async #decodeAgain(piece: ChunkPiece, signal: AbortSignal): Promise<void> {
    const { codecs, chunks } = this.#array;
    const { onFailed } = this.#options;
    const { coordinates, block } = piece;
    if (onFailed !== undefined) return await onFailed(piece, signal);
    // A thread may have taken the memory.
    const [read] = (await chunks.read([coordinates], { signal })).flat();
    const name = chunks.nameOf(coordinates);
    if (read === undefined) throw changedError(name);
    await codecs.decodeNamed({ ...read, block }, name);
  }

  /** Sets the elements of an absent chunk. */
  #fill(piece: ChunkPiece): void {
    const { fill, codecs, chunks } = this.#array;
    const { block, coordinates } = piece;
    if (fill === undefined) {
      throw new TypeError(
        `${
          chunks.nameOf(coordinates).what
        } is absent, and the fill value of its array is not understood`,
      );
    }
    // As new memory is.
    if (fill.some((byte) => byte !== 0)) {
      repeatElement(block, fill, block.counts, codecs.format.elementSize);
    }
    this.#options.onChunk?.(piece, false);
  }
}
