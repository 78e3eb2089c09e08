import { readRange, readSize } from "../stores/capabilities.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import type { StoreVersion } from "../stores/store_group.ts";
import { assertExtents } from "./assert_shard_index.ts";
import {
  assertFileSize,
  decodeFileRecord,
  FILE_RECORD_SIZE,
  type FileRecord,
} from "./file_record.ts";
import { isDamage } from "./is_damage.ts";
import { restOfFileLost } from "./refuse_loss.ts";
import {
  decodeShardIndex,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/** Whether a file record may lie before the indexes of shards: their part has room for it. */
export function mayHaveRecords(
  body: { readonly tailSize?: number | undefined } | null | undefined,
  layout: ShardLayout | undefined,
): boolean {
  return layout?.indexLocation === "end" &&
    body?.tailSize === FILE_RECORD_SIZE + shardIndexSize(layout);
}

/** An index, and the record of its file if it has one. */
export interface RecordedIndex {
  readonly index: ShardIndex | undefined;
  readonly record?: FileRecord | undefined;
}

/** The records of files by the versions that tell their lengths later. */
const records = new WeakMap<StoreVersion, FileRecord>();

/** Notes the record of a file, for {@linkcode assertRecorded}. */
export function noteRecord(
  version: StoreVersion | undefined,
  record: FileRecord | undefined,
): void {
  if (version && record) records.set(version, record);
}

/** Refuses a version of a file whose length the store knows by now, if it is not that of the record. */
export function assertRecorded(version: StoreVersion, key: StoreKey): void {
  if (version.size === undefined) return;
  const record = records.get(version);
  if (record !== undefined) assertFileSize(record, key, version.size);
}

/**
 * Refuses a file of which the array has only a part, since a container does not write
 * the rest. Nothing is known of a damaged shard.
 *
 * @param values The store of whole shards.
 * @throws {OtherBytesError} If the record of the file says so.
 */
export async function assertWholeFile(
  values: Store,
  key: StoreKey,
  layout: ShardLayout,
  options: StoreOptions,
): Promise<void> {
  const suffixLength = FILE_RECORD_SIZE + shardIndexSize(layout);
  let bytes: Uint8Array | undefined;
  try {
    bytes = await readRange(values, key, { suffixLength }, options);
  } catch (error) {
    if (isDamage(error)) return;
    throw error;
  }
  const record = bytes && decodeFileRecord(bytes.subarray(0, FILE_RECORD_SIZE));
  if (record && record.contents !== 0) throw restOfFileLost(key, record.size);
}

/**
 * Reads the index of a shard, and compares the length of the file with its record, if
 * it has one. The length is not asked of a store that can only read, since that is a
 * server as a rule: this would take one more request for each shard. Its responses
 * tell the length later.
 *
 * @param values The store of whole shards, or a group of it.
 * @throws {DamageError} If the file was replaced.
 */
export async function readRecordedIndex(
  values: Pick<Store, "get" | "getRange" | "size">,
  key: StoreKey,
  layout: ShardLayout,
  isReadOnly: boolean,
  options: StoreOptions | undefined,
): Promise<RecordedIndex> {
  const length = FILE_RECORD_SIZE + shardIndexSize(layout);
  const bytes = await readRange(
    values,
    key,
    { suffixLength: length },
    options,
  );
  if (bytes === undefined) return { index: undefined };
  const record = decodeFileRecord(bytes.subarray(0, FILE_RECORD_SIZE));
  if (record !== undefined && !isReadOnly) {
    const size = await readSize(values, key, options);
    assertFileSize(record, key, size && size - length);
  }
  const index = decodeShardIndex(
    bytes.subarray(FILE_RECORD_SIZE),
    layout,
    key,
  );
  assertExtents(index, layout, undefined, key);
  return { index, record };
}
