import { describe } from "../metadata/describe.ts";
import {
  chunkCount,
  encodeShardIndex,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/**
 * Options of {@linkcode encodeShard}.
 *
 * @example A header before the inner chunks
 * ```ts
 * import type { EncodeShardOptions } from "@zarr-parts/zarr-parts";
 *
 * const options: EncodeShardOptions = { prefix: new Uint8Array(64), alignment: 512 };
 * ```
 */
export interface EncodeShardOptions {
  /** Bytes at the start of the shard, such as the header of a file format. Offsets count them. */
  prefix?: Uint8Array | undefined;
  /** Inner chunks start at multiples of this number of bytes, with zeros between them. Defaults to 1. */
  alignment?: number | undefined;
}

/**
 * Encodes a shard from its inner chunks.
 *
 * @param chunks The inner chunks in C order, encoded; `undefined` for absent ones.
 * @param layout The layout of the shard.
 * @param options The prefix of the shard and the alignment of its inner chunks.
 * @returns The shard, with its index.
 * @throws {RangeError} If the number of chunks is not that of the layout, if the
 * alignment is not a whole number from 1, or if there is a prefix and the index is
 * at the start.
 * @throws {TypeError} If a chunk or the prefix is not a `Uint8Array`.
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
  options: EncodeShardOptions = {},
): Uint8Array {
  return encodeShardAfter(options.prefix, chunks, layout, options);
}

/**
 * Encodes a shard as {@linkcode encodeShard} does, with inner chunks after a head.
 *
 * @param head The first bytes of the shard. An index at the start replaces as many of
 * them as it takes.
 */
export function encodeShardAfter(
  head: Uint8Array | undefined,
  chunks: readonly (Uint8Array | undefined)[],
  layout: ShardLayout,
  { prefix, alignment = 1 }: EncodeShardOptions,
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
  for (const bytes of [head, prefix, ...chunks]) {
    if (bytes === undefined || bytes instanceof Uint8Array) continue;
    throw new TypeError(
      `Expected the bytes of a shard as Uint8Array, found ${describe(bytes)}`,
    );
  }
  const isAtStart = layout.indexLocation === "start";
  if (isAtStart && prefix?.length) {
    throw new RangeError(
      `A prefix of ${prefix.length} bytes would come before the index, which this shard has at its start`,
    );
  }
  const indexSize = shardIndexSize(layout);
  let end = Math.max(head?.length ?? 0, isAtStart ? indexSize : 0);
  const index: ShardIndex = chunks.map((chunk) => {
    if (chunk === undefined) return undefined;
    const offset = Math.ceil(end / alignment) * alignment;
    end = offset + chunk.length;
    return { offset, length: chunk.length };
  });
  const shard = new Uint8Array(isAtStart ? end : end + indexSize);
  if (head !== undefined) shard.set(head);
  shard.set(encodeShardIndex(index, layout), isAtStart ? 0 : end);
  chunks.forEach((chunk, i) => chunk && shard.set(chunk, index[i]!.offset));
  return shard;
}
