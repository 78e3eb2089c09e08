import type { ChunkLevel, ParsedArray } from "../arrays/mod.ts";
import {
  assertChecksum,
  CHECKSUM_SIZE,
  Crc32c,
  withoutLastFour,
} from "../checksum/mod.ts";
import { isAdopted } from "../adopt/mod.ts";
import { DamageError, sentence } from "../errors/mod.ts";
import type { NamedConfiguration } from "../metadata/mod.ts";
import {
  assertFileSize,
  decodeFileRecord,
  decodeShardIndex,
  FILE_RECORD_SIZE,
  shardIndexSize,
} from "../shards/mod.ts";
import { type ByteSource, joinedStream, sourceOf } from "../splitter/mod.ts";

/** The checksums of chunks that can be verified without decoding the chunks. */
export interface ChunkChecks {
  /** Whether each chunk ends with its CRC32C. */
  readonly hasChecksum: boolean;
  /** The shards whose index has a checksum. */
  readonly shards?: Pick<FoundShards, "layout" | "checksumsSize"> | undefined;
  /** The length of the record before the index of an adopted file. Default: 0, for other shards. */
  readonly recordSize?: number;
}

/** Finds the checksums of the chunks of an array. */
export function checksOf({ chunk, parts }: ParsedArray): ChunkChecks {
  const hasChecksum = endsWithChecksum(chunk.codecs);
  const shards = shardsOf(chunk.shard);
  if (!shards?.layout.indexHasChecksum) return { hasChecksum };
  const isFile = shards.checksumsSize === 0 &&
    isAdopted(parts, shards.layout);
  return { hasChecksum, shards, recordSize: isFile ? FILE_RECORD_SIZE : 0 };
}

/** Shards whose index can be found, since only checksums follow it. */
export type FoundShards = NonNullable<ChunkLevel["shard"]> & {
  /** The total size in bytes of the checksums at the end of a shard. */
  readonly checksumsSize: number;
};

/** The shards that chunks are, if their index can be found. */
export function shardsOf(
  shard: ChunkLevel["shard"],
): FoundShards | undefined {
  const isFound = shard?.after.every(({ name }) => name === "crc32c");
  return isFound
    ? { ...shard!, checksumsSize: CHECKSUM_SIZE * shard!.after.length }
    : undefined;
}

/** Whether the last codec puts a checksum at the end of each chunk. */
export function endsWithChecksum(
  codecs: readonly NamedConfiguration[],
): boolean {
  return codecs.at(-1)?.name === "crc32c";
}

/** Verifies the checksums of a chunk whose bytes pass in order. */
export class ChunkCheck {
  readonly #checks: ChunkChecks;
  readonly #key: string;
  readonly #size: number;
  readonly #sum: Crc32c | undefined;
  /** The last bytes, with the checksum of all bytes before. */
  readonly #end = new Uint8Array(CHECKSUM_SIZE);
  /** The bytes of the index and of the record before it, and their place in the chunk. */
  readonly #index: Uint8Array | undefined;
  readonly #indexStart: number;
  #passed = 0;

  /** @param size The length of the chunk in bytes. */
  constructor(checks: ChunkChecks, key: string, size: number) {
    this.#checks = checks;
    this.#key = key;
    this.#size = size;
    this.#sum = checks.hasChecksum ? new Crc32c() : undefined;
    const { shards, recordSize = 0 } = checks;
    const indexSize = shards ? recordSize + shardIndexSize(shards.layout) : 0;
    this.#indexStart = shards?.layout.indexLocation === "start"
      ? 0
      : size - (shards?.checksumsSize ?? 0) - indexSize;
    this.#assertLength(indexSize + (checks.hasChecksum ? CHECKSUM_SIZE : 0));
    this.#index = shards && new Uint8Array(indexSize);
  }

  /** The place of an index whose checksum is verified, and of the record before it. */
  get index():
    | { readonly offset: number; readonly length: number }
    | undefined {
    const { length } = this.#index ?? {};
    return length === undefined
      ? undefined
      : { offset: this.#indexStart, length };
  }

  /** The number of bytes that were taken or skipped. */
  get passed(): number {
    return this.#passed;
  }

  /** Skips the next bytes, of which no checksum is verified. */
  skip(length: number): void {
    this.#passed += length;
  }

  /** Takes the next bytes of the chunk. */
  take(bytes: Uint8Array): void {
    this.#sum?.update(bytes);
    if (this.#sum) this.#copy(bytes, this.#end, this.#size - CHECKSUM_SIZE);
    if (this.#index) this.#copy(bytes, this.#index, this.#indexStart);
    this.#passed += bytes.length;
    if (this.#passed > this.#size) this.#refuseLength();
  }

  /**
   * Verifies the checksums after the last byte of the chunk.
   *
   * @throws {DamageError} If a checksum is wrong, or an adopted file was replaced.
   * @throws {Error} If the chunk is shorter than it was.
   */
  finish(): void {
    if (this.#passed !== this.#size) this.#refuseLength();
    const key = this.#key;
    if (this.#sum !== undefined) {
      const expected = new DataView(this.#end.buffer).getUint32(0, true);
      const actual = withoutLastFour(this.#sum.digest(), expected);
      assertChecksum({ expected, actual }, sentence`Chunk ${key}`, key);
    }
    if (this.#index !== undefined) {
      const { shards, recordSize } = this.#checks;
      const record = decodeFileRecord(this.#index.subarray(0, recordSize));
      if (record !== undefined) assertFileSize(record, key, this.#indexStart);
      decodeShardIndex(this.#index.subarray(recordSize), shards!.layout, key);
    }
  }

  /** Copies those of the next bytes that belong to a part of the chunk. */
  #copy(bytes: Uint8Array, part: Uint8Array, start: number): void {
    const offset = start - this.#passed;
    if (offset >= bytes.length || offset + part.length <= 0) return;
    const from = Math.max(0, offset);
    part.set(
      bytes.subarray(from, offset + part.length),
      Math.max(0, -offset),
    );
  }

  #assertLength(least: number): void {
    if (this.#size >= least) return;
    throw new DamageError(
      sentence`Chunk ${this.#key} is ${this.#size} bytes long, where its index and checksums take ${least}`,
      { key: this.#key },
    );
  }

  #refuseLength(): never {
    throw new Error(
      sentence`Chunk ${this.#key} was ${this.#size} bytes long, and ended after ${this.#passed}: the source was changed while the chunk was read`,
    );
  }
}

/**
 * Passes the bytes of a chunk on, and verifies its checksums on the way. Bytes of files are
 * not copied. The stream fails at its end if a checksum or the length is wrong.
 *
 * @param key The key of the chunk, for messages.
 * @param size The length of the chunk in bytes.
 * @param onProgress Called with the number of bytes that have passed.
 */
export function checkedStream(
  stream: ReadableStream<Uint8Array>,
  checks: ChunkChecks,
  { key, size, onProgress }: {
    readonly key: string;
    readonly size: number;
    readonly onProgress?: (done: number) => void;
  },
): ReadableStream<Uint8Array> {
  const check = new ChunkCheck(checks, key, size);
  const source = sourceOf(stream);
  const checked: ByteSource = {
    fillsWindows: source.fillsWindows,
    async next(window) {
      const bytes = await source.next(window);
      if (bytes === undefined) check.finish();
      else {
        check.take(bytes);
        onProgress?.(check.passed);
      }
      return bytes;
    },
    cancel: (reason) => source.cancel(reason),
  };
  const sources = { open: () => checked, cancel: checked.cancel };
  return joinedStream([{ keySuffix: "" }], sources, {});
}
