import { checkOption, describe, sentence } from "../errors/mod.ts";
import { isMembers } from "../metadata/mod.ts";
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
  /** The bytes of a file format around the inner chunks, in place of a prefix. The index must be at the end. */
  container?: ShardContainer | undefined;
}

/**
 * The bytes of a file format around the inner chunks of a shard. With them, a shard is
 * a complete file of that format. All offsets are in bytes from the start of the shard.
 *
 * @example A file that starts with the number of its inner chunks
 * ```ts
 * import { encodeShard, type ShardContainer } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const container: ShardContainer = {
 *   head: (index) => new Uint8Array([index.length]),
 *   before: (place) => new Uint8Array([100 + place]),
 *   tail: (index, offset) => new Uint8Array([index[1]!.offset, offset]),
 * };
 * const layout = {
 *   chunksPerShard: [2],
 *   indexLocation: "end",
 *   indexEndian: "little",
 *   indexHasChecksum: false,
 * } as const;
 * const chunks = [new Uint8Array([7, 7]), new Uint8Array([8])];
 * const shard = encodeShard(chunks, layout, { container });
 * assertEquals([...shard.subarray(0, -32)], [2, 100, 7, 7, 101, 8, 5, 6]);
 * ```
 */
export interface ShardContainer {
  /**
   * Gives the bytes at the start of the shard. This function is called twice: first with
   * offsets as if the head had no bytes, to learn its length, and then with the offsets in
   * the shard. The length must be the same both times.
   */
  head?(index: ShardIndex): Uint8Array;
  /**
   * Gives the bytes right before an inner chunk.
   *
   * @param place The place of the inner chunk in the index.
   * @param chunk The inner chunk, encoded.
   */
  before?(place: number, chunk: Uint8Array): Uint8Array;
  /**
   * Gives the bytes after the last inner chunk. The index of the shard follows them.
   *
   * @param offset The place of these bytes in the shard.
   */
  tail?(index: ShardIndex, offset: number): Uint8Array;
}

/**
 * Encodes a shard from its inner chunks.
 *
 * @param chunks The inner chunks in C order, encoded; `undefined` for absent ones.
 * @param layout The layout of the shard.
 * @param options The prefix or the container of the shard, and the alignment of its
 * inner chunks.
 * @returns The shard, with its index.
 * @throws {RangeError} If the number of chunks is not that of the layout, if the
 * alignment is not a whole number from 1, if there is a prefix or a container and the
 * index is at the start, or if the length of the container's head varies.
 * @throws {TypeError} If a chunk, the prefix or a result of the container is not a
 * `Uint8Array`, if the container is a function, or if there are a prefix and a
 * container.
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
 * @param head The first bytes of the shard, unless there is a container. An index at
 * the start replaces as many of them as it takes.
 * @param headSize The number of bytes that the head of a container must have, unless 0.
 */
export function encodeShardAfter(
  head: Uint8Array | undefined,
  chunks: readonly (Uint8Array | undefined)[],
  layout: ShardLayout,
  options: EncodeShardOptions,
  headSize = 0,
): Uint8Array {
  assertOptions(head, chunks, layout, options);
  const { alignment = 1, container } = options;
  const isAtStart = layout.indexLocation === "start";
  const indexSize = shardIndexSize(layout);
  const before = chunks.map((chunk, place) =>
    chunk && container?.before &&
    assertBytes(container.before(place, chunk), '"before" of the container')
  );
  const layOut: LayOut = (headSize) => {
    let end = Math.max(headSize, isAtStart ? indexSize : 0);
    const index = chunks.map((chunk, place) => {
      if (chunk === undefined) return undefined;
      const start = end + (before[place]?.length ?? 0);
      const offset = Math.ceil(start / alignment) * alignment;
      end = offset + chunk.length;
      return { offset, length: chunk.length };
    });
    return { index, end };
  };
  const first = container ? containerHead(container, layOut) : head;
  if (container) assertHeadSize(first, headSize);
  const { index, end } = layOut(first?.length ?? 0);
  const tail = container?.tail &&
    assertBytes(container.tail(index, end), '"tail" of the container');
  const indexStart = isAtStart ? 0 : end + (tail?.length ?? 0);
  const shard = new Uint8Array(isAtStart ? end : indexStart + indexSize);
  if (first !== undefined) shard.set(first);
  if (tail !== undefined) shard.set(tail, end);
  shard.set(encodeShardIndex(index, layout), indexStart);
  chunks.forEach((chunk, place) => {
    if (chunk === undefined) return;
    const { offset } = index[place]!;
    const bytes = before[place];
    if (bytes !== undefined) shard.set(bytes, offset - bytes.length);
    shard.set(chunk, offset);
  });
  return shard;
}

/** Refuses a head of a container that does not fill the head parts exactly: behind a shorter one, inner chunks would lie in head parts. */
function assertHeadSize(head: Uint8Array | undefined, headSize: number): void {
  const length = head?.length ?? 0;
  if (headSize === 0 || length === headSize) return;
  throw new RangeError(
    `Expected a container with a head of ${headSize} bytes, as many as the head parts of the array take, found a head of ${length} bytes`,
  );
}

function assertOptions(
  head: Uint8Array | undefined,
  chunks: readonly (Uint8Array | undefined)[],
  layout: ShardLayout,
  { prefix, alignment = 1, container }: EncodeShardOptions,
): void {
  if (chunks.length !== chunkCount(layout)) {
    throw new RangeError(
      `Expected ${
        chunkCount(layout)
      } inner chunks, absent ones as undefined, found ${chunks.length}`,
    );
  }
  checkOption("alignment", alignment, {
    expected: "a whole number of bytes from 1",
    isValid: (value) => Number.isSafeInteger(value) && value as number >= 1,
    outOfRange: "all",
  });
  for (const bytes of [head, prefix, ...chunks]) {
    if (bytes !== undefined) assertBytes(bytes, "the bytes of a shard");
  }
  // A function for many shards has no member `head`, and would be used as an empty container.
  if (container !== undefined && !isMembers(container)) {
    throw new TypeError(
      sentence`Expected the container of one shard, an object with functions such as "head" and "tail", found ${container}; if tiffContainer or zipContainer gave it, call it with the grid coordinates of a shard`,
    );
  }
  assertFirstBytes(layout, { prefix, container });
}

/** Refuses a prefix beside a container, and either of them in a shard with its index at the start. */
export function assertFirstBytes(
  { indexLocation }: ShardLayout,
  { prefix, container }: { prefix?: unknown; container?: unknown },
): void {
  if (prefix !== undefined && container !== undefined) {
    throw new TypeError(
      "Expected a prefix or a container, found both: the head of the container takes the place of the prefix",
    );
  }
  if (indexLocation === "end") return;
  if (prefix instanceof Uint8Array && prefix.length > 0) {
    throw new RangeError(
      `A prefix of ${prefix.length} bytes would come before the index, which this shard has at its start`,
    );
  }
  if (container !== undefined) {
    throw new RangeError(
      'Expected a shard with its index at the end, where the container leaves it, found one with its index at the start: create the array with index_location "end"',
    );
  }
}

/** Lays out inner chunks after a head. `end` is the end of the last one. */
type LayOut = (
  headSize: number,
) => { readonly index: ShardIndex; readonly end: number };

/** Returns the head of a container, and refuses a head of varying length. */
function containerHead(
  container: ShardContainer,
  layOut: LayOut,
): Uint8Array {
  if (container.head === undefined) return new Uint8Array();
  const { length } = assertBytes(
    container.head(layOut(0).index),
    '"head" of the container',
  );
  const head = assertBytes(
    container.head(layOut(length).index),
    '"head" of the container',
  );
  if (head.length === length) return head;
  throw new RangeError(
    `Expected a head of the container of ${length} bytes, as many as it had first, found ${head.length} bytes`,
  );
}

function assertBytes(bytes: unknown, what: string): Uint8Array {
  if (bytes instanceof Uint8Array) return bytes;
  throw new TypeError(
    `Expected ${what} as Uint8Array, found ${describe(bytes)}`,
  );
}
