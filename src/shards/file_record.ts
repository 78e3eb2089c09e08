import { crc32c } from "../checksum/mod.ts";
import { DamageError, sentence } from "../errors/mod.ts";
import { shardIndexSize } from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/**
 * The length of a file record in bytes: the text `ZARRFILE`, the size of the file in 8
 * bytes, the contents in 4, 8 zeros, and the CRC32C of all of these. Little endian.
 */
export const FILE_RECORD_SIZE = 32;
const MAGIC = 0x454c_4946_5252_415an; // "ZARRFILE"
const CHECKSUM_AT = 28;

/**
 * The record of the file for which the index of a shard was made. The record lies right
 * before the index, in the same part. By the record, a file that was replaced is noticed.
 */
export interface FileRecord {
  /** The length of the file in bytes. */
  readonly size: number;
  /** A number from 1 to 2^32−1 for the adopted part of the file, such as a page of a TIFF; 0 for the whole file. */
  readonly contents: number;
}

/** Encodes a record: the inverse of {@linkcode decodeFileRecord}. */
export function encodeFileRecord({ size, contents }: FileRecord): Uint8Array {
  const bytes = new Uint8Array(FILE_RECORD_SIZE);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, MAGIC, true);
  view.setBigUint64(8, BigInt(size), true);
  view.setUint32(16, contents, true);
  view.setUint32(CHECKSUM_AT, crc32c(bytes.subarray(0, CHECKSUM_AT)), true);
  return bytes;
}

/** Decodes a record; returns `undefined` for other bytes, such as the last ones of an inner chunk. */
export function decodeFileRecord(bytes: Uint8Array): FileRecord | undefined {
  if (bytes.length !== FILE_RECORD_SIZE) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const isRecord = view.getBigUint64(0, true) === MAGIC &&
    view.getUint32(CHECKSUM_AT, true) ===
      crc32c(bytes.subarray(0, CHECKSUM_AT));
  return isRecord
    ? {
      size: Number(view.getBigUint64(8, true)),
      contents: view.getUint32(16, true),
    }
    : undefined;
}

/**
 * Refuses a file of another size than its record has.
 *
 * @param key The key of the shard.
 * @param size The length of the file in bytes.
 * @throws {DamageError} If the file was replaced, and so the index is not its own.
 */
export function assertFileSize(
  record: FileRecord,
  key: string,
  size: number | undefined,
): void {
  if (size === undefined || size === record.size) return;
  throw new DamageError(
    sentence`File ${key} is ${size} bytes long, where its index was made for ${record.size}: it was replaced after it had been adopted; adopt it again with overwrite: true`,
    { key },
  );
}

/**
 * Whether a file record may lie before the indexes of shards, since their part has room for it.
 *
 * @param tailSize The number of bytes of the parts after the unsized one.
 */
export function mayHaveRecords(
  tailSize: number | undefined,
  layout: ShardLayout,
): boolean {
  return layout.indexLocation === "end" &&
    tailSize === FILE_RECORD_SIZE + shardIndexSize(layout);
}
