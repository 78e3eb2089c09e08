/**
 * Thrown if stored data is damaged: a part is missing or has a wrong length, a
 * checksum does not match, or the index of a shard contradicts the shard. Extended by
 * `ChecksumError`, `MissingPartError` and `PartSizeError`. Damage is never a
 * `RangeError`, and a damaged chunk is never read as an absent one.
 *
 * A damaged `zarr.json` is a `MetadataError` instead.
 *
 * @example Absence, a mistake of the caller, and damage have different statuses
 * ```ts
 * import { arrayMetadata, createArrayChunks, DamageError, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const metadata = arrayMetadata({
 *   shape: [9],
 *   dataType: "uint8",
 *   chunkShape: [3],
 *   codecs: ["crc32c"],
 *   parts: ["", ".crc32c"],
 * });
 * const chunks = await createArrayChunks(store, "", metadata);
 * await chunks.set([0], new Uint8Array(7));
 * await chunks.set([1], new Uint8Array(7));
 * await store.set("/c/1.crc32c", new Uint8Array(3)); // One byte is lost.
 *
 * async function status(coordinate: number): Promise<number> {
 *   try {
 *     return await chunks.get([coordinate]) === undefined ? 404 : 200;
 *   } catch (error) {
 *     if (error instanceof DamageError) return 500;
 *     if (error instanceof RangeError) return 404;
 *     throw error;
 *   }
 * }
 * const statuses = [status(0), status(1), status(2), status(3)];
 * assertEquals(await Promise.all(statuses), [200, 500, 404, 404]);
 * ```
 */
export class DamageError extends Error {
  /** The name of the class, as error reports show it. */
  override readonly name: string = "DamageError";
  /** The key of the damaged part, chunk or shard; may be empty for bytes in memory. */
  readonly key: string;

  /**
   * Constructs an error about stored data.
   *
   * @param message What was found, and what would be right.
   * @param options `key`: the key of the damaged part, chunk or shard, empty by
   * default; `cause`: the underlying error.
   *
   * @example
   * ```ts
   * import { DamageError } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * const message = 'Shard "/c/0" is 3 bytes long, where its index takes 20';
   * assertEquals(new DamageError(message, { key: "/c/0" }).key, "/c/0");
   * ```
   */
  constructor(message: string, options: ErrorOptions & { key?: string } = {}) {
    const { key = "", ...errorOptions } = options;
    super(message, errorOptions);
    this.key = key;
  }
}
