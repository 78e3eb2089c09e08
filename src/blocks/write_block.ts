import { MemoryLimit, runConcurrently } from "../runtime/mod.ts";
import { type ChangesOf, placeInShard } from "../shards/mod.ts";
import type { ChunkBlock, ElementsAt, Threads } from "../threads/mod.ts";
import type { EncodedChunks } from "./encoded_chunks.ts";
import type { BlockArray } from "./read_block.ts";
import {
  blockOf,
  chunkOf,
  isCovered,
  type Run,
  type Section,
  sectionsIn,
} from "./sections.ts";

/** How many bytes of elements are encoded at the same time, unless two chunks take more. */
const CHUNK_WINDOW = 16 * 2 ** 20;
/** How many bytes of elements lie in the stored chunks that are written at the same time, unless two take more. */
const STORED_WINDOW = 64 * 2 ** 20;
/** The greatest number of stored chunks that are written at the same time. */
const MOST_STORED = 16;
/** How many chunks are gathered for a thread, so that it never waits for the next one; of small ones, those of so many bytes. */
const CHUNKS_PER_THREAD = 6;
const SMALL_BYTES = 256 * 1024;
/** How many calls a thread has in the window. A call gathers chunks that lie one after another, which is faster than one by one. */
const CALLS_PER_THREAD = 1.5;

/** A stored chunk, and its elements that are written. */
export interface WrittenChunk {
  readonly coordinates: readonly number[];
  /** Which elements these are, along each dimension. */
  readonly sections: readonly Section[];
  /** Whether these are all of its elements in the array. */
  readonly isWhole: boolean;
  /**
   * Encodes the inner chunks that change, by their places in the index, or the chunk at 0.
   * Chunks that change in part are asked for.
   */
  readonly encode: ChangesOf;
}

/** Options of {@linkcode writeBlock}. */
interface WriteBlockOptions {
  /** The threads that encode; the calling thread by default. */
  readonly threads?: Threads | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Encodes elements of an array, and has each stored chunk stored: few at the same time, so
 * that the next ones are encoded while a store writes.
 *
 * @param runs The elements along each dimension.
 * @param from The memory that holds them.
 * @param put Stores a chunk. The signal is aborted when another one has failed.
 */
export async function writeBlock(
  array: BlockArray,
  runs: readonly Run[],
  from: ElementsAt,
  put: (stored: WrittenChunk, signal: AbortSignal) => Promise<void>,
  { threads, signal }: WriteBlockOptions = {},
): Promise<void> {
  const { chunks, codecs, fill } = array;
  const each = Math.max(codecs.chunkBytes, SMALL_BYTES);
  const count = codecs.usesThreads(threads) ? threads.count : undefined;
  const window = count === undefined
    ? CHUNK_WINDOW
    : Math.min(CHUNK_WINDOW, CHUNKS_PER_THREAD * count * each);
  const limit = new MemoryLimit(window, 2);
  const sizeOfCalls = (pieces: number) => {
    if (count === undefined) return 1;
    const most = window / codecs.chunkBytes / (CALLS_PER_THREAD * count);
    return Math.max(1, Math.floor(Math.min(most, pieces / (2 * count))));
  };
  await forEachStored(
    chunks,
    runs,
    codecs.format.elementSize,
    async (stored, signal) => {
      const options = { threads, signal };
      const encode: ChangesOf = async (chunkAt) => {
        const changes = new Map<number, Uint8Array>();
        const pieces = Array.from(
          sectionsIn(stored.sections, chunks.chunkShape),
          (sections) => ({
            place: placeOf(chunkOf(sections), chunks),
            block: blockOf(sections, chunks.chunkShape, from),
          }),
        );
        const size = sizeOfCalls(pieces.length);
        const calls = Array.from(
          { length: Math.ceil(pieces.length / size) },
          (_, i) => pieces.slice(i * size, (i + 1) * size),
        );
        const tasks = calls.map(async (some) => {
          const leave = await limit.enter(some.length * codecs.chunkBytes);
          try {
            signal.throwIfAborted();
            const blocks: ChunkBlock[] = [];
            for (const { block, place } of some) {
              const bytes = codecs.isWhole(block) ? undefined : chunkAt(place);
              blocks.push(
                bytes ? await codecs.update(bytes, block, options) : block,
              );
            }
            const encoded = await codecs.encode(blocks, { ...options, fill });
            some.forEach(({ place }, i) => changes.set(place, encoded[i]!));
          } finally {
            leave();
          }
        });
        for (const result of await Promise.allSettled(tasks)) {
          if (result.status === "rejected") throw result.reason;
        }
        return changes;
      };
      await put({ ...stored, encode }, signal);
    },
    signal,
  );
}

/**
 * Calls a function with each stored chunk that has elements of runs, few at the same time.
 *
 * @param elementSize The length of an element in bytes.
 */
export async function forEachStored(
  { array: { shape }, storedShape }: EncodedChunks,
  runs: readonly Run[],
  elementSize: number,
  call: (
    stored: Omit<WrittenChunk, "encode">,
    signal: AbortSignal,
  ) => Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const bytes = storedShape.reduce((product, n) => product * n, elementSize);
  await runConcurrently(
    sectionsIn(runs, storedShape),
    Math.min(MOST_STORED, Math.max(2, Math.floor(STORED_WINDOW / bytes))),
    (sections, signal) =>
      call({
        coordinates: chunkOf(sections),
        sections,
        isWhole: isCovered(sections, storedShape, shape),
      }, signal),
    signal,
  );
}

/** The place of a chunk in the index of its shard; 0 without shards. */
export function placeOf(
  coordinates: readonly number[],
  { division: { layouts: [layout] } }: EncodedChunks,
): number {
  if (layout === undefined) return 0;
  const { chunksPerShard } = layout;
  const path = coordinates.map((c, i) => c % chunksPerShard[i]!);
  return placeInShard(path, layout);
}
