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
  const { chunks, codecs } = array;
  const each = Math.max(codecs.chunkBytes, SMALL_BYTES);
  const window = codecs.usesThreads(threads)
    ? Math.min(CHUNK_WINDOW, CHUNKS_PER_THREAD * threads.count * each)
    : CHUNK_WINDOW;
  const limit = new MemoryLimit(window, 2);
  await forEachStored(
    chunks,
    runs,
    codecs.format.elementSize,
    async (stored, signal) => {
      const encode: ChangesOf = async (chunkAt) => {
        const changes = new Map<number, Uint8Array>();
        const tasks = Array.from(
          sectionsIn(stored.sections, chunks.chunkShape),
          async (sections) => {
            const leave = await limit.enter(codecs.chunkBytes);
            try {
              signal.throwIfAborted();
              const place = placeOf(chunkOf(sections), chunks);
              const block = blockOf(sections, chunks.chunkShape, from);
              const bytes = await encodeChunk(
                array,
                block,
                () => chunkAt(place),
                { threads, signal },
              );
              changes.set(place, bytes);
            } finally {
              leave();
            }
          },
        );
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

/** Encodes a chunk with the elements of a block, and the others as they are stored, or as the fill value. */
async function encodeChunk(
  { codecs, fill }: BlockArray,
  block: ChunkBlock,
  read: () => Uint8Array | undefined,
  options: Required<WriteBlockOptions>,
): Promise<Uint8Array> {
  const stored = codecs.isWhole(block) ? undefined : read();
  const whole = stored && await codecs.update(stored, block, options);
  const [encoded] = await codecs.encode([whole ?? block], { ...options, fill });
  return encoded!;
}
