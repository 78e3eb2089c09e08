import { describe } from "../metadata/describe.ts";
import {
  chunkCount,
  encodeShardIndex,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/**
 * How {@linkcode encodeShard} lays inner chunks.
 *
 * @example A header that the shard's offsets count
 * ```ts
 * import type { EncodeShardOptions } from "@zarr-parts/zarr-parts";
 *
 * const options: EncodeShardOptions = { prefix: new Uint8Array(64), alignment: 512 };
 * ```
 */
export interface EncodeShardOptions {
  /** What the shard starts with, such as the header of a file format. Offsets include it. */
  prefix?: Uint8Array | undefined;
  /** Inner chunks start at multiples of so many bytes, with zeros before them; 1 if not given. */
  alignment?: number | undefined;
}

/**
 * Makes a shard of its inner chunks.
 *
 * @param chunks The inner chunks in C order, encoded; `undefined` for absent ones.
 * @param layout The layout of the shard.
 * @param options What comes first, and where inner chunks may start.
 * @returns The shard, with its index.
 * @throws {RangeError} Another number of chunks than the layout has, an alignment
 * that is not a whole number from 1, or a prefix where the index is at the start.
 * @throws {TypeError} A chunk or a prefix that is no `Uint8Array`.
 *
 * @example
 * ```ts
 * import { decodeShardIndex, encodeShard } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const layout = {
 *   chunksPerShard: [3],
 *   indexLocation: "end",
 *   indexEndian: "little",
 *   indexHasChecksum: true,
 * } as const;
 * const chunks = [new Uint8Array([1, 2, 3]), undefined, new Uint8Array([4])];
 * const shard = encodeShard(chunks, layout, { prefix: new Uint8Array(64), alignment: 8 });
 *
 * assertEquals(shard.length, 73 + 52);
 * assertEquals(decodeShardIndex(shard.subarray(-52), layout), [
 *   { offset: 64, length: 3 },
 *   undefined,
 *   { offset: 72, length: 1 },
 * ]);
 * ```
 */
export function encodeShard(
  chunks: readonly (Uint8Array | undefined)[],
  layout: ShardLayout,
  { prefix = new Uint8Array(), alignment = 1 }: EncodeShardOptions = {},
): Uint8Array {
  if (chunks.length !== chunkCount(layout)) {
    throw new RangeError(
      `Expected ${
        chunkCount(layout)
      } inner chunks, absent ones as undefined, found ${chunks.length}`,
    );
  }
  if (!Number.isSafeInteger(alignment) || alignment < 1) {
    throw new RangeError(
      `Expected an alignment of a whole number of bytes from 1, found ${
        describe(alignment)
      }`,
    );
  }
  for (const bytes of [prefix, ...chunks]) {
    if (bytes === undefined || bytes instanceof Uint8Array) continue;
    throw new TypeError(
      `Expected the bytes of a shard as Uint8Array, found ${describe(bytes)}`,
    );
  }
  const isAtStart = layout.indexLocation === "start";
  if (isAtStart && prefix.length > 0) {
    throw new RangeError(
      `A prefix of ${prefix.length} bytes would come before the index, which this shard has at its start`,
    );
  }
  const indexSize = shardIndexSize(layout);
  let end = isAtStart ? indexSize : prefix.length;
  const index: ShardIndex = chunks.map((chunk) => {
    if (chunk === undefined) return undefined;
    const offset = Math.ceil(end / alignment) * alignment;
    end = offset + chunk.length;
    return { offset, length: chunk.length };
  });
  const shard = new Uint8Array(isAtStart ? end : end + indexSize);
  shard.set(prefix);
  shard.set(encodeShardIndex(index, layout), isAtStart ? 0 : end);
  chunks.forEach((chunk, i) => chunk && shard.set(chunk, index[i]!.offset));
  return shard;
}
