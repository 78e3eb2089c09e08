/**
 * Thrown if a write would destroy a shard that is also a file of another format, such
 * as a TIFF: bytes that belong to neither inner chunks, index nor head parts would be
 * lost, or would refer to inner chunks that move. The shard stays as it was.
 *
 * @example A header stays
 * ```ts
 * import {
 *   arrayMetadata,
 *   createArrayChunks,
 *   encodeShard,
 *   MemoryStore,
 *   OtherBytesError,
 *   parseShardLayout,
 * } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertRejects } from "@std/assert";
 *
 * const shards = await createArrayChunks(
 *   new MemoryStore(),
 *   "",
 *   arrayMetadata({ shape: [4], dataType: "uint8", shardShape: [4], chunkShape: [4] }),
 * );
 * const layout = parseShardLayout(shards.metadata.codecs[0], shards.chunkShape);
 * const pixels = new Uint8Array(4);
 * const prefix = new TextEncoder().encode("P5 4 1 255\n");
 * await shards.set([0], encodeShard([pixels], layout, { prefix }));
 *
 * const raw = encodeShard([pixels], layout);
 * const error = await assertRejects(() => shards.set([0], raw), OtherBytesError);
 * assertEquals([error.key, error.offset, error.length], ["/c/0", 0, 11]);
 * await shards.set([0], raw, { otherBytes: "replace" });
 * ```
 */
export class OtherBytesError extends Error {
  /** The name of the class, as error reports show it. */
  override readonly name = "OtherBytesError";
  /** The key of the shard. */
  readonly key: string;
  /** Where the first of these bytes lie in the shard. */
  readonly offset: number;
  /** The number of bytes there. */
  readonly length: number;

  /**
   * Constructs an error about a shard.
   *
   * @param message What would be lost, and what to do instead.
   * @param options `key`: the key of the shard; `offset` and `length`: where the first
   * of the other bytes lie in the shard, and their number.
   *
   * @example
   * ```ts
   * import { OtherBytesError } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const message = 'Shard "/c/0.tiff" begins with the directory of a TIFF';
   * const error = new OtherBytesError(message, { key: "/c/0.tiff", offset: 0, length: 8 });
   * assertEquals(error.key, "/c/0.tiff");
   * ```
   */
  constructor(
    message: string,
    { key, offset, length }: { key: string; offset: number; length: number },
  ) {
    super(message);
    this.key = key;
    this.offset = offset;
    this.length = length;
  }
}
