import { describe, describeAll } from "./describe.ts";

/**
 * Thrown if stored data is damaged: a part is missing or has a wrong length, a
 * checksum does not match, or the index of a shard contradicts the shard. Extended by
 * `ChecksumError`, `MissingPartError` and `PartSizeError`. Damage is never a
 * `RangeError`, and a damaged chunk is never read as an absent one.
 *
 * A damaged `zarr.json` is a `MetadataError` instead.
 *
 * @example Absence, damage, and a mistake of the caller
 * ```ts
 * import { arrayMetadata, createArrayChunks, DamageError, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertRejects } from "@std/assert";
 *
 * const store = new MemoryStore();
 * const codecs = { codecs: ["crc32c"], parts: ["", ".crc32c"] };
 * const metadata = arrayMetadata({ shape: [9], dataType: "uint8", chunkShape: [3], ...codecs });
 * const chunks = await createArrayChunks(store, "", metadata);
 * await chunks.set([1], new Uint8Array(7));
 * await store.set("/c/1.crc32c", new Uint8Array(3)); // One byte is lost.
 *
 * assertEquals(await chunks.get([0]), undefined);
 * const error = await assertRejects(() => chunks.get([1]), DamageError);
 * assertEquals(error.key, "/c/1.crc32c");
 * await assertRejects(() => chunks.get([3]), RangeError);
 * ```
 */
export class DamageError extends Error {
  /** The name of the class. */
  override readonly name: string = "DamageError";
  /** The key of the damaged part, chunk or shard; may be empty for bytes in memory. */
  readonly key: string;

  /**
   * Constructs an error about stored data.
   *
   * @param message What was found, and what would be right.
   * @param options `key`: the key of the damaged part, chunk or shard, empty by
   * default; `cause`: the underlying error.
   */
  constructor(message: string, options: ErrorOptions & { key?: string } = {}) {
    const { key = "", ...errorOptions } = options;
    super(message, errorOptions);
    this.key = key;
  }
}

/**
 * Thrown if some parts of a chunk are stored and others are not.
 *
 * @example
 * ```ts
 * import { ConcatParts, MemoryStore, MissingPartError } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertRejects } from "@std/assert";
 *
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".index", size: 2 }]);
 * const stored = new MemoryStore([["/c/0", new Uint8Array(10)]]);
 * const error = await assertRejects(() => parts.apply(stored).get("/c/0"), MissingPartError);
 * assertEquals(error.missing, ["/c/0.index"]);
 * ```
 */
export class MissingPartError extends DamageError {
  /** The name of the class. */
  override readonly name = "MissingPartError";
  /** The key of the chunk. */
  readonly chunkKey: string;
  /** The keys of the parts that are not stored. */
  readonly missing: readonly string[];
  /** The keys of the parts that are stored. */
  readonly present: readonly string[];

  /**
   * Constructs an error that names the parts.
   *
   * @param chunkKey The chunk's key.
   * @param missing The keys of the parts that are not stored.
   * @param present The keys of the parts that are stored.
   */
  constructor(
    chunkKey: string,
    missing: readonly string[],
    present: readonly string[],
  ) {
    super(
      `Chunk ${describe(chunkKey)} lacks ${describeAll(missing)} but has ${
        describeAll(present)
      }: a chunk is stored with all of its parts or not at all`,
      { key: chunkKey },
    );
    this.chunkKey = chunkKey;
    this.missing = missing;
    this.present = present;
  }
}

/**
 * Thrown if the sizes of the parts do not allow the length of a stored part, or the length
 * of a chunk to be written. Nothing of such a chunk is stored. `key` is the key of the part
 * or chunk; for bytes in memory, it is the key suffix or empty.
 *
 * @example
 * ```ts
 * import { ConcatParts, PartSizeError } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".crc32c", size: 4 }]);
 * const error = assertThrows(() => parts.split(new Uint8Array(3)), PartSizeError);
 * assertEquals([error.expected, error.actual], [4, 3]);
 * ```
 */
export class PartSizeError extends DamageError {
  /** The name of the class. */
  override readonly name = "PartSizeError";
  /** The length that the sizes require, in bytes. */
  readonly expected: number;
  /** The length found, in bytes. */
  readonly actual: number;

  /**
   * Constructs an error with the two lengths.
   *
   * @param message The message, with the lengths.
   * @param sizes The key, and the expected and the actual length in bytes.
   */
  constructor(
    message: string,
    sizes: { key: string; expected: number; actual: number },
  ) {
    super(message, { key: sizes.key });
    this.expected = sizes.expected;
    this.actual = sizes.actual;
  }
}

/**
 * Thrown if bytes do not have the checksum that is stored with them.
 *
 * @example
 * ```ts
 * import { ChecksumError, ConcatParts, splitStream } from "@zarr-parts/zarr-parts";
 * import { assertEquals, assertRejects } from "@std/assert";
 *
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".crc32c", size: 4 }]);
 * const damaged = new Blob([new Uint8Array(9)]).stream();
 * const error = await assertRejects(
 *   () => splitStream(damaged, parts, () => new WritableStream(), { crc32c: "verify" }),
 *   ChecksumError,
 * );
 * assertEquals(error.expected, 0); // as the last four bytes say
 * assertEquals(error.actual, 0x45727635); // as the five bytes before them are
 * ```
 */
export class ChecksumError extends DamageError {
  /** The name of the class. */
  override readonly name = "ChecksumError";
  /** The stored checksum, from 0 to 2^32−1. */
  readonly expected: number;
  /** The checksum of the bytes, from 0 to 2^32−1. */
  readonly actual: number;

  /**
   * Constructs an error with the two checksums.
   *
   * @param message The message, with the checksums.
   * @param checksums The key, and the stored and the computed checksum.
   */
  constructor(
    message: string,
    checksums: { key: string; expected: number; actual: number },
  ) {
    super(message, { key: checksums.key });
    this.expected = checksums.expected;
    this.actual = checksums.actual;
  }
}

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
  /** The name of the class. */
  override readonly name = "UnfinishedWriteError";
  /** The key of the chunk. */
  readonly chunkKey: string;

  /**
   * Constructs an error that names the chunk.
   *
   * @param chunkKey The chunk's key.
   */
  constructor(chunkKey: string) {
    super(
      `Chunk ${
        JSON.stringify(chunkKey)
      } is being written, or was left half written by a program that was killed: try again later, or finish the write by recover(store) or zarr-parts repair`,
    );
    this.chunkKey = chunkKey;
  }
}

/**
 * Thrown if a write or a deletion has begun and could not be finished. The data to finish
 * it is stored, and the next writer of the chunk or `recover` finishes it. Until then,
 * readers get an `UnfinishedWriteError`, or the old or the new values. A
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
  /** The name of the class. */
  override readonly name = "PendingWriteError";
  /** The key of the chunk. */
  readonly key: string;

  /**
   * Constructs an error that names the chunk.
   *
   * @param key The key of the chunk.
   * @param options `cause`: the error that stopped the write.
   */
  constructor(key: string, options: ErrorOptions = {}) {
    const { cause } = options;
    super(
      `The change of chunk ${JSON.stringify(key)} has begun and was stopped${
        cause === undefined ? "" : ` (${textOf(cause)})`
      }: it is finished by the next writer of the chunk, by recover(store) or by zarr-parts repair`,
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
  /** The name of the class. */
  override readonly name = "OtherBytesError";
  /** The key of the shard. */
  readonly key: string;
  /** The offset of the first of these bytes in the shard. */
  readonly offset: number;
  /** The number of bytes in the run that begins at `offset`. */
  readonly length: number;

  /**
   * Constructs an error about a shard.
   *
   * @param message What would be lost, and what to do instead.
   * @param options `key`: the key of the shard; `offset` and `length`: the offset
   * in the shard of the first run of other bytes, and its length.
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
 * @example A value that is too long is never in memory
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
  /** The name of the class. */
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

/**
 * Throws if a part does not have its size.
 *
 * @param actual The length of the part in bytes.
 * @param isLeast Whether the part may be longer than `actual`.
 */
export function assertPartSize(
  key: string,
  expected: number | undefined,
  actual: number,
  isLeast = false,
): void {
  if (expected === undefined || expected === actual) return;
  throw new PartSizeError(
    `Part ${describe(key)} is ${
      isLeast ? "at least " : ""
    }${actual} bytes long, where its size is ${expected}`,
    { key, expected, actual },
  );
}

/** Whether an error says that a shard is damaged, or was left unfinished. */
export function isDamage(error: unknown): boolean {
  return error instanceof DamageError || error instanceof UnfinishedWriteError;
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
