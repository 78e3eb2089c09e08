import { describe } from "../metadata/describe.ts";
import type { EncodeShardOptions } from "../shards/encode_shard.ts";
import { describeStore } from "../stores/describe_store.ts";
import type { StoreKey } from "../stores/store.ts";
import { splitPlainKey } from "../views/translation.ts";
import { overlay } from "./overlay.ts";
import {
  assertSelection,
  coveredRuns,
  type DimensionSelection,
  selectedShape,
} from "./selection.ts";
import { ShardWriter } from "./shard_writer.ts";
import { ShardedArray } from "./sharded_array.ts";
import { arraysOf } from "./with_zarr_parts.ts";
import { writtenValue } from "./written_value.ts";
import type { Zarrita, ZarritaArray } from "./zarrita.ts";

/**
 * How {@linkcode setSharded} makes shards, and what else zarrita's `set` accepts.
 *
 * @example A header of 64 bytes in each shard
 * ```ts
 * import type { SetShardedOptions } from "@zarr-parts/zarr-parts/zarrita";
 *
 * const options: SetShardedOptions = { prefix: new Uint8Array(64), alignment: 512 };
 * ```
 */
export interface SetShardedOptions extends EncodeShardOptions {
  /** Aborts the writing; shards that are stored by then stay. */
  signal?: AbortSignal;
  /** Makes what runs the writing of the inner chunks, as zarrita's `set` takes it. */
  createQueue?: () => {
    add(task: () => Promise<void>): void;
    onIdle(): Promise<void[]>;
  };
}

/**
 * Writes into an array in shards, as zarrita's `set` does into others. Each shard
 * is stored once. One of which the selection covers every inner chunk is made
 * anew; of others the inner chunks beside it, and what comes before the first of
 * them, are kept. Head parts, such as a `.header` that `concat-parts` puts before
 * the rest, are kept in any case, and are zeros in a new shard, unless a `prefix`
 * says what they are. Nothing else between inner chunks is kept: what a prefix
 * says of their places is yours to make right.
 *
 * Calls on one array wait for each other. What others write at the same time, by
 * zarrita's own `set` or in another program, may be lost.
 *
 * @param zarr zarrita itself: `import * as zarr from "zarrita"`.
 * @param array An array in shards, opened from what `withZarrParts` gave.
 * @param selection What to write, in elements: a slice, an index or `null` for all
 * of each dimension, or `null` for the whole array.
 * @param value The elements: a typed array of them in C order, a chunk (`data`,
 * `shape`, `stride`) of the selection's shape, or one element for all.
 * @param options `prefix` and `alignment` of the shards; `signal` and
 * `createQueue` as for zarrita's `set`.
 * @throws {TypeError} An array of another store, one without shards, or one whose
 * shards are made of shards; elements of another data type; no selection.
 * @throws {RangeError} Elements of another number or shape than are selected, a
 * selection outside the array, a prefix where the index is at the start, or a shard
 * that is there, and damaged.
 * @throws {ChecksumError} A shard that is there, and whose index is damaged.
 * @throws {MetadataError} An array that is not understood.
 *
 * @example
 * ```ts
 * import { createArrayChunks, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { registerCodecs, setSharded, withZarrParts } from "@zarr-parts/zarr-parts/zarrita";
 * import { assertEquals } from "@std/assert";
 * import * as zarr from "zarrita";
 *
 * registerCodecs(zarr);
 * const stored = new MemoryStore();
 * await createArrayChunks(stored, "", {
 *   zarr_format: 3,
 *   node_type: "array",
 *   shape: [8],
 *   data_type: "uint8",
 *   chunk_grid: { name: "regular", configuration: { chunk_shape: [4] } },
 *   chunk_key_encoding: "default",
 *   fill_value: 0,
 *   codecs: [{
 *     name: "sharding_indexed",
 *     configuration: {
 *       chunk_shape: [2],
 *       codecs: [{ name: "bytes" }],
 *       index_codecs: [
 *         { name: "bytes", configuration: { endian: "little" } },
 *         { name: "crc32c" },
 *       ],
 *     },
 *   }],
 * });
 *
 * const array = await zarr.open(withZarrParts(stored), { kind: "array" });
 * const data = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]);
 * await setSharded(zarr, array, null, data);
 * assertEquals((await stored.get("/c/1"))?.subarray(0, 4), data.subarray(4));
 * assertEquals((await zarr.get(array, [zarr.slice(3, 6)])).data, data.subarray(3, 6));
 * ```
 */
export async function setSharded<A extends ZarritaArray>(
  zarr: Zarrita,
  array: A,
  selection: DimensionSelection[] | null,
  value:
    | NonNullable<A["fillValue"]>
    | Awaited<ReturnType<A["getChunk"]>>
    | Awaited<ReturnType<A["getChunk"]>>["data"],
  options: SetShardedOptions = {},
): Promise<void> {
  if (typeof zarr?.set !== "function") {
    throw new TypeError(
      `Expected the module of zarrita as the first argument, found ${
        describe(zarr)
      }`,
    );
  }
  const sharded = await shardedArray(array);
  const { shape } = sharded.levels;
  assertSelection(selection, shape);
  const written = writtenValue(
    value,
    selectedShape(selection, shape),
    array.dtype,
  );
  await sharded.inTurn(
    () => write(zarr, array, sharded, selection, written, options),
    options.signal,
  );
}

async function write(
  zarr: Zarrita,
  array: ZarritaArray,
  sharded: ShardedArray,
  selection: DimensionSelection[] | null,
  value: unknown,
  options: SetShardedOptions,
): Promise<void> {
  // Inner chunks that are covered in part are read first, as they are by now.
  sharded.refresh();
  const runs = coveredRuns(selection, sharded.levels.shape);
  const writer = new ShardWriter(
    sharded,
    (shard) => sharded.isCovered(shard, runs),
    options,
  );
  try {
    await zarr.set(
      into(array, writer) as never,
      selection as never,
      value as never,
      options as never,
    );
    await writer.finish();
  } catch (error) {
    await writer.abandon(); // zarrita goes on with the other chunks.
    if ((error as Error | undefined)?.name !== "UnsupportedError") throw error;
    throw new TypeError(
      "Expected an array that zarr.open gave, found one that zarr.create did: open it to write it",
      { cause: error },
    );
  }
}

/** The array behind one of zarrita's. */
async function shardedArray(array: ZarritaArray): Promise<ShardedArray> {
  if (typeof array?.store !== "object" || array.store === null) {
    throw new TypeError(
      `Expected an array that was opened from withZarrParts(store) as the second argument, found ${
        describe(array)
      }`,
    );
  }
  const arrays = arraysOf(array.store);
  if (arrays === undefined) {
    throw new TypeError(
      `Expected an array that was opened from withZarrParts(store), found the array at ${
        JSON.stringify(array.path)
      } of ${describeStore(array.store)}`,
    );
  }
  // As zarrita makes the keys of chunks, which undoes escapes.
  const key = array.resolve("c").path as StoreKey;
  const found = await arrays.at(splitPlainKey(key)!.root);
  if (found instanceof ShardedArray) return found;
  throw new TypeError(
    `The array at ${
      JSON.stringify(array.path)
    } has no shards: zarrita's own "set" writes it`,
  );
}

/** The array, with a writer in the place of its store. */
function into<A extends ZarritaArray>(array: A, writer: ShardWriter): A {
  const store = {
    set: (key: StoreKey, bytes: Uint8Array) =>
      writer.set(splitPlainKey(key)!.plainKey, bytes),
  };
  return overlay(array, { store });
}
