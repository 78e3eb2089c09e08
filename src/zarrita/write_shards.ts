import { coreDataType } from "../metadata/data_type.ts";
import type { StoreKey } from "../stores/store.ts";
import { splitPlainKey } from "../views/translation.ts";
import { withEncodingThreads } from "./codecs/encode_natively.ts";
import { LimitedTasks } from "./limited_tasks.ts";
import { overlay } from "./overlay.ts";
import {
  coveredRuns,
  type DimensionSelection,
  selectedShape,
} from "./selection.ts";
import type { SetShardedOptions } from "./set_sharded_options.ts";
import { isDivisible, piecesOf } from "./shard_pieces.ts";
import { ShardWriter } from "./shard_writer.ts";
import type { ShardedArray } from "./sharded_array.ts";
import type { Zarrita, ZarritaArray } from "./zarrita.ts";

/** How many bytes of elements are cut into inner chunks and encoded at the same time, unless two inner chunks take more. */
const CHUNK_WINDOW = 16 * 1024 * 1024;
/** How many bytes of elements lie in the shards that are written at the same time, unless two shards take more. */
const SHARD_WINDOW = 64 * 1024 * 1024;
const MOST_SHARDS = 16;
/** The fewest bytes of elements that are encoded by several threads, which take some 50 ms to start. */
const THREADED_BYTES = 16 * 1024 * 1024;

/**
 * Writes elements by zarrita's `set`, shard after shard: so few shards are in memory at
 * the same time, and the next ones are encoded while a store writes.
 *
 * @param value The elements, as `writtenValue` gives them.
 */
export async function writeShards(
  zarr: Zarrita,
  array: ZarritaArray,
  sharded: ShardedArray,
  selection: DimensionSelection[] | null,
  value: unknown,
  options: SetShardedOptions,
): Promise<void> {
  const runs = coveredRuns(selection, array.shape);
  const covers = (shard: readonly number[]) => sharded.isCovered(shard, runs);
  const writers = new Set<ShardWriter>();
  async function write(
    piece: { selection: DimensionSelection[] | null; value: unknown },
    options: SetShardedOptions,
  ): Promise<void> {
    const writer = new ShardWriter(sharded, covers, options);
    writers.add(writer);
    await zarr.set(
      withWriter(array, writer, sharded, covers) as never,
      piece.selection as never,
      piece.value as never,
      options as never,
    );
    await writer.finish();
    writers.delete(writer);
  }

  const bytesOf = byteCounter(array.dtype);
  const chunkBytes = bytesOf(sharded.levels.chunkShape);
  const tasks = new LimitedTasks(
    Math.max(2, Math.floor(CHUNK_WINDOW / chunkBytes)),
  );
  const limited = { ...options, createQueue: () => tasks.queue() };
  const shards = Math.floor(SHARD_WINDOW / bytesOf(sharded.shardShape));
  const most = Math.min(MOST_SHARDS, Math.max(2, shards));
  const pieces = options.createQueue === undefined && isDivisible(value)
    ? piecesOf(selection, value, array.shape, sharded.shardShape)
    : undefined;
  const writing = pieces === undefined
    ? () => write({ selection, value }, options)
    : () => forEach(pieces, (piece) => write(piece, limited), most);
  const isLarge =
    bytesOf(selectedShape(selection, array.shape)) >= THREADED_BYTES;
  try {
    await (isLarge ? withEncodingThreads(writing) : writing());
  } catch (error) {
    tasks.close();
    // zarrita continues with the other chunks.
    await Promise.all([...writers].map((writer) => writer.abandon()));
    throw error;
  }
}

/** Runs a task for each item, `most` at the same time. Begins no more after a failure. */
async function forEach<T>(
  items: Generator<T>,
  task: (item: T) => Promise<void>,
  most: number,
): Promise<void> {
  async function work(): Promise<void> {
    // A failure ends the loop, and so the generator for all.
    for (const item of items) await task(item);
  }
  await Promise.all(Array.from({ length: most }, work));
}

/** Counts the bytes of the elements in a shape. Elements without a fixed size count as 8 bytes. */
function byteCounter(dataType: string): (shape: readonly number[]) => number {
  const elementBytes = (coreDataType(dataType)?.bits ?? 64) / 8;
  return (shape) =>
    shape.reduce((product, length) => product * length, elementBytes);
}

/**
 * An array that writes its chunks with a writer. Chunks at the edge of the array,
 * which zarrita reads before it writes them, are read as absent ones where their shard
 * is replaced, so that a damaged shard can be replaced.
 */
function withWriter<A extends ZarritaArray>(
  array: A,
  writer: ShardWriter,
  { levels: { gridShape, layouts } }: ShardedArray,
  covers: (shard: readonly number[]) => boolean,
): A {
  const store = {
    set: (key: StoreKey, bytes: Uint8Array) =>
      writer.set(splitPlainKey(key)!.plainKey, bytes),
  };
  const { chunksPerShard } = layouts[0]!;
  const getChunk = (coordinates: number[], ...options: []) => {
    const shard = coordinates.map((c, i) => Math.floor(c / chunksPerShard[i]!));
    // Chunks outside the grid are absent.
    const read = covers(shard) ? [...gridShape] : coordinates;
    return array.getChunk(read, ...options);
  };
  return overlay(array, { store, getChunk });
}
