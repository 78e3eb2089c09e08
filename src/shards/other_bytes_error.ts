import { describe } from "../metadata/describe.ts";

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
   * Constructs an error that says what to do instead.
   *
   * @param key The key of the shard.
   * @param offset Where the first of the other bytes lie in the shard.
   * @param length The number of bytes there.
   *
   * @example
   * ```ts
   * import { OtherBytesError } from "@zarr-parts/zarr-parts";
   * import { assertStringIncludes } from "@std/assert";
   *
   * const { message } = new OtherBytesError("/c/0.tiff", 0, 8);
   * assertStringIncludes(message, 'Shard "/c/0.tiff" has 8 bytes at offset 0');
   * ```
   */
  constructor(key: string, offset: number, length: number) {
    super(
      `Shard ${describe(key)} has ${length} byte${
        length === 1 ? "" : "s"
      } at offset ${offset} besides its inner chunks, as a file of another format has, and this write would lose them or make them wrong: write it by setSharded with the container or the prefix of that format, or lose them by otherBytes: "replace", an option of setSharded and ArrayChunks.set`,
    );
    this.key = key;
    this.offset = offset;
    this.length = length;
  }
}
