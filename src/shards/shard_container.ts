import { describe } from "../metadata/describe.ts";
import type { ShardIndex } from "./shard_index.ts";

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
   * Gives the bytes at the start of the shard. Called twice: first with offsets
   * as though there were no head, to learn its length, and then with those of the
   * shard. The length must be the same both times.
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

/** Lays out inner chunks after a head of some bytes. `end` is the end of the last one. */
export type LayOut = (
  headSize: number,
) => { readonly index: ShardIndex; readonly end: number };

/** Gives the head of a container, and refuses one of varying length. */
export function containerHead(
  container: ShardContainer,
  layOut: LayOut,
): Uint8Array {
  if (container.head === undefined) return new Uint8Array();
  const { length } = assertBytes(container.head(layOut(0).index), "head");
  const head = assertBytes(container.head(layOut(length).index), "head");
  if (head.length === length) return head;
  throw new RangeError(
    `Expected a head of the container of ${length} bytes, as many as it had first, found ${head.length} bytes`,
  );
}

/** Refuses bytes of a container that are no `Uint8Array`. */
export function assertBytes(
  bytes: Uint8Array,
  name: keyof ShardContainer,
): Uint8Array {
  if (bytes instanceof Uint8Array) return bytes;
  throw new TypeError(
    `Expected "${name}" of the container to give a Uint8Array, found ${
      describe(bytes)
    }`,
  );
}
