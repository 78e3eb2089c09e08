import {
  checkOption,
  describe,
  isDamage,
  oneOf,
  OtherBytesError,
} from "../errors/mod.ts";
import { copyBytes } from "../runtime/mod.ts";
import {
  resolveByteRange,
  type Snapshot,
  type StoreKey,
} from "../stores/mod.ts";
import {
  assertFileSize,
  FILE_RECORD_SIZE,
  type FileRecord,
} from "./file_record.ts";
import {
  assertShardIndex,
  type Extent,
  type ReadShardRange,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
import type { ShardForm } from "./shard_layout.ts";
import { readRecordedIndex } from "./shard_reader.ts";

/** What happens to a write that would lose bytes of neither inner chunks, index nor head parts. */
export type OtherBytes = "refuse" | "replace";

/** Checks the option `otherBytes`. */
export function assertOtherBytes(otherBytes: OtherBytes | undefined): void {
  checkOption("otherBytes", otherBytes, oneOf("refuse", "replace"));
}

/** A shard that is stored. */
export interface StoredShard {
  readonly key: StoreKey;
  readonly form: ShardForm;
  readonly size: number;
  readonly index: ShardIndex;
  readonly record: FileRecord | undefined;
  /** Reads a range of the shard. */
  read(range: Extent): Promise<Uint8Array>;
}

/**
 * Opens a stored shard. Its index is checked against its length.
 *
 * @param whole All bytes of the shard, if they have been read.
 * @returns The shard, or `undefined` for an absent one.
 * @throws {DamageError} If the shard is damaged, or its file was replaced after it had been
 * adopted.
 */
export async function openStored(
  values: Snapshot,
  key: StoreKey,
  form: ShardForm,
  whole?: Uint8Array,
): Promise<StoredShard | undefined> {
  const read: ReadShardRange = (range) => {
    if (whole === undefined) return values.read(key, range);
    const { start, end } = resolveByteRange(range, whole.length);
    return Promise.resolve(whole.subarray(start, end));
  };
  const stored = await readRecordedIndex(read, key, form);
  const size = stored && (whole?.length ?? await values.size(key));
  if (size === undefined) return undefined;
  const { index, record } = stored!;
  const [layout] = form.layouts;
  if (record) {
    const indexSize = shardIndexSize(layout!);
    assertFileSize(record, key, size - indexSize - FILE_RECORD_SIZE);
  }
  assertShardIndex(index, layout!, size, key);
  return {
    key,
    form,
    size,
    index,
    record,
    read: async (range) => await read(range) ?? new Uint8Array(),
  };
}

/** The most bytes between inner chunks that are in memory at a time. */
const WINDOW = 2 * 1024 * 1024;

/**
 * Refuses to rewrite a shard that has bytes of another file format: other bytes than zeros
 * that belong to neither head parts, inner chunks nor the index.
 *
 * @param hasPrefix Whether the writer gives the bytes before the first inner chunk.
 * @throws {OtherBytesError} If there are such bytes.
 */
export async function assertNoOtherBytes(
  { key, form, size, index, record, read }: StoredShard,
  hasPrefix = false,
): Promise<void> {
  const [layout] = form.layouts;
  const indexSize = shardIndexSize(layout!);
  const isAtStart = layout!.indexLocation === "start";
  const end = isAtStart
    ? size
    : size - indexSize - (record ? FILE_RECORD_SIZE : 0);
  let start = Math.max(form.headSize ?? 0, isAtStart ? indexSize : 0);
  const chunks = [...inOrder(index), { offset: end, length: 0 }];
  for (const [i, chunk] of chunks.entries()) {
    const gap = { offset: start, length: chunk.offset - start };
    start = Math.max(start, chunk.offset + chunk.length);
    if (i === 0 && hasPrefix) continue;
    for (let from = gap.offset; from < chunk.offset; from += WINDOW) {
      const length = Math.min(chunk.offset - from, WINDOW);
      const bytes = await read({ offset: from, length });
      if (bytes.some((byte) => byte !== 0)) throw otherBytesLost(key, gap);
    }
  }
}

/**
 * Refuses to replace a whole shard that has bytes of another file format. A damaged shard
 * has none, since it is repaired by being replaced. But the damage of a shard that may be
 * an adopted file is thrown, since the file may have been replaced.
 *
 * @throws {OtherBytesError} If there are such bytes.
 */
export async function assertReplaceable(
  values: Snapshot,
  key: StoreKey,
  form: ShardForm,
): Promise<void> {
  try {
    const stored = await openStored(values, key, form);
    if (stored) await assertNoOtherBytes(stored);
  } catch (error) {
    if (!isDamage(error) || form.mayHaveRecords) throw error;
  }
}

/**
 * Returns the bytes of the head parts of a shard. Inner chunks and index in them are
 * replaced by zeros, since the new shard has these elsewhere. Returns `undefined` if only
 * the index lies in head parts.
 */
export async function keptHead(
  { form, size, index, read }: StoredShard,
): Promise<Uint8Array | undefined> {
  const length = headLength(form);
  if (length === undefined) return undefined;
  const stored = await read({ offset: 0, length });
  if (stored.length < length) return new Uint8Array(length);
  const head = copyBytes(stored);
  for (const entry of index) {
    if (entry) head.fill(0, entry.offset, entry.offset + entry.length);
  }
  const [layout] = form.layouts;
  const isAtEnd = layout!.indexLocation === "end";
  return isAtEnd ? head.fill(0, size - shardIndexSize(layout!)) : head;
}

/** The length of the head parts; `undefined` if only the index lies in them. */
export function headLength(
  { headSize = 0, layouts: [layout] }: ShardForm,
): number | undefined {
  const isAtStart = layout!.indexLocation === "start";
  const indexSize = isAtStart ? shardIndexSize(layout!) : 0;
  return headSize > indexSize ? headSize : undefined;
}

/** The inner chunks that have bytes, by their places in the shard. */
function inOrder(index: ShardIndex): Extent[] {
  return index.filter((entry) => entry !== undefined)
    .filter(({ length }) => length > 0)
    .sort((a, b) => a.offset - b.offset);
}

/** Returns the error about other bytes of a shard that a write would lose or leave wrong. */
function otherBytesLost(key: string, { offset, length }: Extent) {
  return new OtherBytesError(
    `Shard ${describe(key)} has ${length} byte${
      length === 1 ? "" : "s"
    } at offset ${offset} besides its inner chunks, as a file of another format has, and this write would lose them or make them wrong: write it by setSharded with the container or the prefix of that format, or lose them by otherBytes: "replace", an option of setSharded and ArrayChunks.set`,
    { key, offset, length },
  );
}
