import { MemoryLimit, nextTurn, runConcurrently } from "../runtime/mod.ts";
import {
  type ChunkBlock,
  type ElementsAt,
  repeatElement,
  type Threads,
} from "../threads/mod.ts";
import { changedError, type ElementCodecs } from "./element_codecs.ts";
import type { EncodedChunks, ReadChunk } from "./encoded_chunks.ts";
import {
  blockOf,
  chunkOf,
  type Run,
  type Section,
  sectionsIn,
} from "./sections.ts";

/** The bytes of decoded chunks of a shard that are requested from the store at once, so that close ranges are read together. */
const BATCH_BYTES = 4 * 2 ** 20;
/** The least bytes of chunks that are requested at once, if there are more, and the most without shards. */
const LEAST_BATCH_BYTES = 2 ** 19;
/** The most bytes of chunks in memory, unless the threads need more. */
const MEMORY = 64 * 2 ** 20;
/** The memory that the reading of a chunk takes besides its bytes. */
const CHUNK_COST = 1024;
/** How many chunks that cannot be there are passed over in one turn, which takes some milliseconds. */
const ABSENT_AT_ONCE = 1000;
/** The greatest number of requests of close chunks at the same time. */
const MOST_BATCHES = 64;

/** The encoded chunks of an array, as far as they are read. */
export interface ChunkSource
  extends Pick<EncodedChunks, "chunkShape" | "storedShape" | "isSharded"> {
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

/** Options of {@linkcode readChunks}. */
interface ReadChunksOptions {
  /** The threads that take the chunks; the calling thread by default. */
  readonly threads?: Threads | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The most bytes of chunks, encoded and decoded, that are in memory at the same time, unless one chunk needs more. */
  readonly memory?: number | undefined;
  /** Whether a stored chunk may be there: not if a listing has not found it. */
  readonly mayHave?: ((stored: readonly number[]) => boolean) | undefined;
}

/** Options of {@linkcode readBlock}. */
interface ReadBlockOptions extends ReadChunksOptions {
  /** Called after each chunk; for a stored chunk that cannot be there, once. */
  readonly onChunk?:
    | ((piece: ChunkPiece, isPresent: boolean) => void)
    | undefined;
  /** Reads a chunk that cannot be decoded in another way, or throws. By default, damage is a `DamageError`. */
  readonly onFailed?:
    | ((piece: ChunkPiece, signal: AbortSignal) => Promise<void>)
    | undefined;
}

/** A chunk that was read. */
export interface FoundChunk extends Omit<ReadChunk, "place"> {
  readonly sections: readonly Section[];
}

/** What {@linkcode readChunks} calls. */
interface ChunkTaker {
  /** Takes chunks that are there. They may share memory, which belongs to the taker. */
  found(chunks: readonly FoundChunk[], signal: AbortSignal): Promise<void>;
  /** Takes a chunk that is absent, or a stored chunk that cannot be there. */
  absent(sections: readonly Section[], shape: readonly number[]): void;
}

/**
 * Reads elements of an array into memory. Threads store them there themselves if the memory is
 * shared.
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
  const { chunks, codecs } = array;
  const read = new BlockRead(array, to, options);
  await readChunks(chunks, runs, codecs.chunkBytes, read, options);
}

/**
 * Reads the encoded chunks that have elements of runs: those of one shard together, few at the
 * same time.
 *
 * @param runs The elements along each dimension.
 * @param chunkBytes The length of a decoded chunk.
 */
export async function readChunks(
  chunks: ChunkSource,
  runs: readonly Run[],
  chunkBytes: number,
  taker: ChunkTaker,
  options: ReadChunksOptions,
): Promise<void> {
  const { threads, signal } = options;
  const count = Math.max(1, threads?.count ?? 1);
  const memory = options.memory ?? Math.max(MEMORY, 4 * chunkBytes * count);
  const total = runs.reduce((product, { start, stop, step }, i) => {
    const length = Math.max(step, chunks.chunkShape[i]!);
    return product * Math.max(0, Math.ceil((stop - start) / length));
  }, 1);
  const cost = chunkBytes + CHUNK_COST;
  const chunksIn = (bytes: number) => Math.max(1, Math.ceil(bytes / cost));
  const size = Math.min(
    chunksIn(chunks.isSharded ? BATCH_BYTES : LEAST_BATCH_BYTES),
    // So many that each thread gets some, of one request each.
    Math.max(chunksIn(LEAST_BATCH_BYTES), Math.ceil(total / (2 * count))),
    chunksIn(memory / 8),
  );
  const limit = new MemoryLimit(memory, 1);
  await runConcurrently(
    batchesIn(chunks, runs, size, taker, options),
    MOST_BATCHES,
    async (batch, signal) => {
      const leave = await limit.enter(2 * cost * batch.length);
      try {
        signal.throwIfAborted();
        await readBatch(chunks, batch, taker, signal);
      } finally {
        leave();
      }
    },
    signal,
  );
}

/** The chunks of runs: some of one shard at a time, which are read together. */
async function* batchesIn(
  { chunkShape, storedShape, isSharded }: ChunkSource,
  runs: readonly Run[],
  size: number,
  taker: ChunkTaker,
  { mayHave, signal }: ReadChunksOptions,
): AsyncGenerator<Section[][]> {
  let batch: Section[][] = [];
  let count = 0;
  for (const stored of sectionsIn(runs, storedShape)) {
    if (++count % ABSENT_AT_ONCE === 0) {
      await nextTurn(); // So that timers, messages and signals are heard.
      signal?.throwIfAborted();
    }
    if (mayHave?.(chunkOf(stored)) === false) {
      taker.absent(stored, storedShape);
      continue;
    }
    for (const sections of sectionsIn(stored, chunkShape)) {
      batch.push(sections);
      if (batch.length < size) continue;
      yield batch;
      batch = [];
    }
    if (!isSharded || batch.length === 0) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

async function readBatch(
  chunks: ChunkSource,
  batch: readonly Section[][],
  taker: ChunkTaker,
  signal: AbortSignal,
): Promise<void> {
  const absent = new Set(batch);
  const reads = await chunks.read(batch.map(chunkOf), { signal });
  const tasks = reads.map(async (read) => {
    const found = read.map(({ place, ...chunk }) => {
      const sections = batch[place]!;
      absent.delete(sections);
      return { ...chunk, sections };
    });
    if (found.length > 0) await taker.found(found, signal);
  });
  for (const result of await Promise.allSettled(tasks)) {
    if (result.status === "rejected") throw result.reason;
  }
  for (const sections of absent) taker.absent(sections, chunks.chunkShape);
}

/** Decodes the chunks of one call of {@linkcode readBlock}. */
class BlockRead implements ChunkTaker {
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

  #pieceOf(
    sections: readonly Section[],
    shape: readonly number[],
  ): ChunkPiece {
    return {
      coordinates: chunkOf(sections),
      block: blockOf(sections, shape, this.#to),
    };
  }

  async found(
    found: readonly FoundChunk[],
    signal: AbortSignal,
  ): Promise<void> {
    const { threads, onChunk } = this.#options;
    const { chunks, codecs } = this.#array;
    const pieces = found.map(({ sections, bytes, rows }) => ({
      ...this.#pieceOf(sections, chunks.chunkShape),
      bytes,
      rows,
    }));
    const failed = await codecs.decode(pieces, { threads, signal });
    for (const piece of pieces) {
      if (failed.includes(piece)) await this.#decodeAgain(piece, signal);
      onChunk?.(piece, true);
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

  absent(sections: readonly Section[], shape: readonly number[]): void {
    const { fill, codecs, chunks } = this.#array;
    const piece = this.#pieceOf(sections, shape);
    const { block } = piece;
    if (fill === undefined) {
      const coordinates = sections.map(({ start }, i) =>
        Math.floor(start / chunks.chunkShape[i]!)
      );
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
