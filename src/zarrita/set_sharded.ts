import { describe } from "../errors/mod.ts";
import { assertFirstBytes, assertOtherBytes } from "../shards/mod.ts";
import { describeStore, type StoreKey } from "../stores/mod.ts";
import { splitPlainKey } from "../views/mod.ts";
import {
  assertSelection,
  type DimensionSelection,
  selectedShape,
} from "./selection.ts";
import type {
  SetShardedOptions,
  Zarrita,
  ZarritaArray,
} from "./set_sharded_options.ts";
import { ShardedArray } from "./sharded_array.ts";
import { arraysOf } from "./with_zarr_parts.ts";
import { writeShards } from "./write_shards.ts";
import { writtenValue } from "./written_value.ts";

/**
 * Writes elements of a sharded array, as zarrita's `set` does for other arrays, and
 * stores each shard once.
 *
 * A shard that the selection covers is replaced, also one that is damaged or that a
 * killed writer left. In any other shard, the inner chunks outside of the selection are
 * kept. Head parts, such as a `.header` of `concat-parts`, are always kept; in a new
 * shard they are zeros, or the `prefix`, which must be as long as all head parts
 * together: inner chunks start after them.
 *
 * A shard that is also a file of another format is not destroyed: if it has other bytes
 * that would be lost, or that inner chunks would move away from, the write is refused,
 * unless `container` or `prefix` gives the bytes anew or `otherBytes` is `"replace"`. Of
 * a shard that is replaced, only bytes before the first inner chunk count as such.
 *
 * Calls for the same array run one after another. A shard that is written in part is
 * read, changed and stored under its lock, so that no element that others write at the
 * same time is lost: in all programs if the store has locks, as `FileSystemStore` does, or
 * notices what others have changed, as `S3Store` does.
 *
 * Few shards are in memory at the same time: as many as have 64 MiB of elements
 * together, but at least 2 and at most 16. Beside the value, memory holds their encoded
 * bytes twice, and decoded inner chunks of 16 MiB in all, or two if these are larger.
 *
 * @param zarr zarrita itself: `import * as zarr from "zarrita"`.
 * @param array A sharded array, opened from a store of `withZarrParts`.
 * @param selection The elements to write: a slice, an index or `null` (all elements)
 * for each dimension, or `null` for the whole array.
 * @param value The elements: a typed array of them in C order, a chunk (`data`,
 * `shape`, `stride`) of the selection's shape, or one element for all.
 * @param options `prefix` or `container`, and `alignment` of the shards; `otherBytes`;
 * `signal` and `createQueue` as for zarrita's `set`.
 * @throws {TypeError} If the array is of another store, is not sharded, has nested
 * shards or was created again with other inner chunks since it was opened, if the elements have another data type, if an argument is missing, or if there are a prefix and a container.
 * @throws {RangeError} If the number or the shape of the elements is not that of the
 * selection, if the selection is outside the array, if there is a prefix or a container and the index
 * is at the start, or if the prefix is not as long as the head parts; nothing is
 * written then. Also if the head of a container is not as long as the head parts; that
 * shard is not written.
 * @throws {OtherBytesError} If a stored shard has bytes that the write would destroy;
 * that shard is not written.
 * @throws {DamageError} If a stored shard is damaged that is only partly covered: a `ChecksumError` if the checksum
 * of its index is wrong.
 * @throws {MetadataError} If the metadata of the array is not understood.
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
  const { shape } = array;
  assertSelection(selection, shape);
  const written = writtenValue(
    value,
    selectedShape(selection, shape),
    array.dtype,
  );
  assertFirstBytes(sharded.levels.layouts[0]!, options);
  assertPrefix(options.prefix, sharded);
  assertOtherBytes(options.otherBytes);
  await sharded.runInTurn(
    () => write(zarr, array, selection, written, options),
    options.signal,
  );
}

/** Refuses a prefix that does not fill the head parts exactly: a shorter one would leave inner chunks in them. */
function assertPrefix(
  prefix: Uint8Array | undefined,
  { headSize, levels, root }: ShardedArray,
): void {
  const isAtStart = levels.layouts[0]!.indexLocation === "start";
  if (prefix === undefined || headSize === 0 || isAtStart) return;
  if (prefix.length === headSize) return;
  throw new RangeError(
    `Expected a prefix of ${headSize} bytes for the array at ${
      JSON.stringify(root || "/")
    }, as many as its head parts take, found ${prefix.length} bytes`,
  );
}

async function write(
  zarr: Zarrita,
  array: ZarritaArray,
  selection: DimensionSelection[] | null,
  value: unknown,
  options: SetShardedOptions,
): Promise<void> {
  // The array may have grown since it was opened, so that fewer shards are covered.
  const sharded = await shardedArray(array, { isPresent: true });
  await writeShards(zarr, array, sharded, selection, value, options);
}

/**
 * The sharded array of an array of zarrita's.
 *
 * @param options `isPresent`: whether to read the document of the array again.
 */
async function shardedArray(
  array: ZarritaArray,
  { isPresent = false } = {},
): Promise<ShardedArray> {
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
  // By `resolve`, since zarrita decodes percent escapes in the keys of chunks.
  const key = array.resolve("c").path as StoreKey;
  const { root } = splitPlainKey(key)!;
  const found = isPresent ? await arrays.reload(root) : await arrays.at(root);
  if (found instanceof ShardedArray) {
    assertChunks(array, found);
    return found;
  }
  throw new TypeError(
    `The array at ${
      JSON.stringify(array.path)
    } has no shards: zarrita's own "set" writes it`,
  );
}

/** Refuses an array that was created again with other inner chunks, since it was opened. */
function assertChunks(array: ZarritaArray, { levels }: ShardedArray): void {
  const { chunkShape } = levels;
  if (array.chunks.every((length, i) => length === chunkShape[i])) return;
  throw new TypeError(
    `Expected an array with inner chunks of ${
      describe(chunkShape)
    }, as it is stored at ${JSON.stringify(array.path)}, found one of ${
      describe(array.chunks)
    }: open the array again`,
  );
}
