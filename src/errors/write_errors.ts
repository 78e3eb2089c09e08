/**
 * Thrown if the parts of a chunk cannot be read because they are being changed, or
 * because their writer was killed. `recover` finishes what a killed writer left.
 *
 * @example
 * ```ts
 * import { UnfinishedWriteError } from "@zarr-parts/zarr-parts";
 * import { assertStringIncludes } from "@std/assert";
 *
 * const error = new UnfinishedWriteError("/c/0");
 * assertStringIncludes(error.message, "recover");
 * ```
 */
export class UnfinishedWriteError extends Error {
  /** The name of the class, as error reports show it. */
  override readonly name = "UnfinishedWriteError";
  /** The key of the chunk. */
  readonly chunkKey: string;

  /**
   * Constructs an error that names the chunk.
   *
   * @param chunkKey The chunk's key.
   *
   * @example
   * ```ts
   * import { UnfinishedWriteError } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(new UnfinishedWriteError("/c/0").chunkKey, "/c/0");
   * ```
   */
  constructor(chunkKey: string) {
    super(
      `Chunk ${
        JSON.stringify(chunkKey)
      } is being written, or was left half written by a program that was killed: try again later, or finish the write by recover(store)`,
    );
    this.chunkKey = chunkKey;
  }
}

/**
 * Thrown if a write or a deletion has begun and could not be brought to its end: what is
 * needed to finish it is stored, and the next writer of the chunk or `recover` finishes
 * it. Until then, readers get an `UnfinishedWriteError`, or the old or the new values. A
 * write that is rejected with any other error has changed nothing, and never appears
 * later.
 *
 * @example Try again once the disk or the service works
 * ```ts
 * import { PendingWriteError } from "@zarr-parts/zarr-parts";
 * import { assertStringIncludes } from "@std/assert";
 *
 * const cause = new Error("Input/output error");
 * const error = new PendingWriteError("/c/0", { cause });
 * assertStringIncludes(error.message, "Input/output error");
 * ```
 */
export class PendingWriteError extends Error {
  /** The name of the class, as error reports show it. */
  override readonly name = "PendingWriteError";
  /** The key of the chunk. */
  readonly key: string;

  /**
   * Constructs an error that names the chunk.
   *
   * @param key The key of the chunk.
   * @param options `cause`: the error that stopped the write.
   *
   * @example
   * ```ts
   * import { PendingWriteError } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(new PendingWriteError("/c/0").key, "/c/0");
   * ```
   */
  constructor(key: string, options: ErrorOptions = {}) {
    const { cause } = options;
    super(
      `The change of chunk ${JSON.stringify(key)} has begun and was stopped${
        cause === undefined ? "" : ` (${textOf(cause)})`
      }: it is finished by the next writer of the chunk or by recover(store)`,
      options,
    );
    this.key = key;
  }
}

function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

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

/**
 * Thrown if a value is longer than the `limit` of the read.
 *
 * @example A value that is too long, and never in memory
 * ```ts
 * import { HttpStore, SizeLimitError } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertRejects } from "@std/assert";
 *
 * const endless = new ReadableStream<Uint8Array<ArrayBuffer>>({
 *   pull: (controller) => controller.enqueue(new Uint8Array(1024)),
 * });
 * const store = new HttpStore("https://example.org/data.zarr", {
 *   fetch: () => Promise.resolve(new Response(endless)),
 * });
 * const error = await assertRejects(() => store.get("/c/0", { limit: 4096 }), SizeLimitError);
 * assertEquals([error.key, error.limit, error.size], ["/c/0", 4096, undefined]);
 * ```
 */
export class SizeLimitError extends Error {
  /** The name of the class, as error reports show it. */
  override readonly name = "SizeLimitError";
  /** The key of the value. */
  readonly key: `/${string}`;
  /** The greatest length that was allowed, in bytes. */
  readonly limit: number;
  /** The length of the value in bytes; `undefined` if it was not read to its end. */
  readonly size: number | undefined;

  /**
   * Constructs an error with the limit.
   *
   * @param key The key of the value.
   * @param limit The greatest length that is allowed, in bytes.
   * @param size The length of the value in bytes, if it is known.
   *
   * @example
   * ```ts
   * import { SizeLimitError } from "@zarr-parts/zarr-parts";
   * import { assertEquals } from "@std/assert";
   *
   * assertEquals(
   *   new SizeLimitError("/c/0.index", 16, 20).message,
   *   'Expected at most 16 bytes of "/c/0.index", found 20',
   * );
   * ```
   */
  constructor(key: `/${string}`, limit: number, size?: number) {
    super(
      `Expected at most ${limit} bytes of ${JSON.stringify(key)}, found ${
        size ?? "more"
      }`,
    );
    this.key = key;
    this.limit = limit;
    this.size = size;
  }
}

/** Throws if the length of a value is above the limit. */
export function assertSizeLimit(
  key: `/${string}`,
  limit: number | undefined,
  size: number,
): void {
  if (limit === undefined || size <= limit) return;
  throw new SizeLimitError(key, limit, size);
}
