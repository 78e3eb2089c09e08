import pLimit from "p-limit";
import { noteKey, withEncodingThreads } from "../codecs/mod.ts";
import { coreDataType } from "../metadata/mod.ts";
import { copyBytes, rejectOnAbort, runConcurrently } from "../runtime/mod.ts";
import { type ChangesOf, placeInShard } from "../shards/mod.ts";
import type { StoreKey } from "../stores/mod.ts";
import { outsideGrid, splitPlainKey } from "../views/mod.ts";
import {
  coveredRuns,
  type DimensionSelection,
  piecesOf,
  selectedShape,
  type ShardPiece,
} from "./selection.ts";
import type {
  SetShardedOptions,
  Zarrita,
  ZarritaArray,
} from "./set_sharded_options.ts";
import type { ShardedArray } from "./sharded_array.ts";
import { DECODE, type Decode, overlay } from "./with_zarr_parts.ts";

/** How many bytes of elements are cut into inner chunks and encoded at the same time, unless two inner chunks take more. */
const CHUNK_WINDOW = 16 * 1024 * 1024;
/** How many bytes of elements lie in the shards that are written at the same time, unless two shards take more. */
const SHARD_WINDOW = 64 * 1024 * 1024;
const MOST_SHARDS = 16;
/** The fewest bytes of elements that are encoded by several threads, which take some 50 ms to start. */
const THREADED_BYTES = 16 * 1024 * 1024;

/**
 * Writes elements by zarrita's `set`, shard after shard: so few shards are in memory at
 * the same time, and the next ones are encoded while a store writes. A shard that is
 * written in part is read, changed and stored under its lock.
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
  const bytesOf = byteCounter(array.dtype);
  const chunkBytes = bytesOf(sharded.levels.chunkShape);
  const limit = pLimit(Math.max(2, Math.floor(CHUNK_WINDOW / chunkBytes)));
  const runs = coveredRuns(selection, array.shape);

  async function writeShard(
    { shard, selection, value }: ShardPiece,
    failing: AbortSignal,
  ): Promise<void> {
    const isWhole = sharded.isCovered(shard, runs);
    const createQueue = () => {
      const tasks: Promise<void>[] = [];
      return {
        add(task: () => Promise<void>): void {
          tasks.push(limit(() => {
            failing.throwIfAborted(); // Another shard has failed.
            return task();
          }));
        },
        onIdle: () => Promise.all(tasks),
      };
    };
    let finishEncoding = () => {};
    const encoded = new Promise<void>((resolve) => finishEncoding = resolve);
    const encode = async (
      chunkAt: Parameters<ChangesOf>[0],
    ): Promise<Map<number, Uint8Array>> => {
      const changes = new Map<number, Uint8Array>();
      await zarr.set(
        overShard(array, sharded, chunkAt, changes) as never,
        selection as never,
        value as never,
        {
          ...options,
          createQueue: options.createQueue ?? createQueue,
        } as never,
      );
      options.signal?.throwIfAborted();
      failing.throwIfAborted();
      finishEncoding();
      return changes;
    };
    const { prefix, alignment, otherBytes, signal, container: given } = options;
    const container = typeof given === "function" ? given(shard) : given;
    const change = {
      prefix,
      alignment,
      container,
      otherBytes,
      signal,
      isWhole,
    };
    const { key } = sharded.shardAt(shard);
    // A shard that is replaced is encoded before its lock is taken.
    const written = isWhole
      ? encode(() => undefined)
        .then((changes) => sharded.inner.write(key, changes, change))
      : sharded.inner.write(key, encode, change);
    // Shards that are still encoded when another one fails are not waited for.
    const storing = Promise.race([encoded, written]);
    await rejectOnAbort(storing, failing);
    await written;
  }

  const shards = Math.floor(SHARD_WINDOW / bytesOf(sharded.shardShape));
  const most = Math.min(MOST_SHARDS, Math.max(2, shards));
  const pieces = piecesOf(selection, value, array.shape, sharded.shardShape);
  const writing = () => runConcurrently(pieces, most, writeShard);
  const isLarge =
    bytesOf(selectedShape(selection, array.shape)) >= THREADED_BYTES;
  await (isLarge ? withEncodingThreads(writing) : writing());
}

/** Counts the bytes of the elements in a shape. Elements without a fixed size count as 8 bytes. */
function byteCounter(dataType: string): (shape: readonly number[]) => number {
  const elementBytes = (coreDataType(dataType)?.bits ?? 64) / 8;
  return (shape) =>
    shape.reduce((product, length) => product * length, elementBytes);
}

/**
 * An array that zarrita's `set` changes in memory: it reads the inner chunks of a shard, and
 * collects those that are written.
 */
function overShard<A extends ZarritaArray>(
  array: A,
  sharded: ShardedArray,
  chunkAt: (place: number) => Uint8Array | undefined,
  changes: Map<number, Uint8Array>,
): A {
  const placeOf = (plainKey: string) => {
    const found = sharded.locate(plainKey);
    if (found === undefined) throw outsideGrid(plainKey, sharded);
    return placeInShard(found.path[0]!, sharded.levels.layouts[0]!);
  };
  const decode = decoderOf(array);
  return overlay(array, {
    store: {
      set(key: StoreKey, bytes: Uint8Array): Promise<void> {
        changes.set(placeOf(splitPlainKey(key)!.plainKey), bytes);
        return Promise.resolve();
      },
    },
    getChunk(coordinates: number[]) {
      const plainKey = ["c", ...coordinates].join("/");
      const bytes = chunkAt(placeOf(plainKey));
      if (bytes === undefined) return decode(coordinates, undefined);
      // zarrita encodes all of the memory that elements lie in.
      const own = copyBytes(bytes);
      noteKey(own, sharded.locate(plainKey)!.key);
      return decode(coordinates, own);
    },
  });
}

function decoderOf(array: object): Decode {
  const decode = (array as { [DECODE]?: Decode })[DECODE];
  if (decode !== undefined) return decode;
  throw new TypeError(
    "Expected an array that zarr.open gave, found one that zarr.create did, or one of another version of zarrita: open it to write it",
  );
}
