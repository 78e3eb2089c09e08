import { isSameBytes } from "../runtime/mod.ts";
import { describe, isDamage, OtherBytesError } from "../errors/mod.ts";
import {
  readRange,
  readSize,
  type Store,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "../stores/mod.ts";
import {
  assertFileSize,
  decodeFileRecord,
  FILE_RECORD_SIZE,
  type FileRecord,
} from "./file_record.ts";
import {
  assertExtents,
  decodeShardIndex,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/** A range of bytes of a shard. */
interface Run {
  readonly offset: number;
  readonly length: number;
}

/** A shard in a store. */
export interface StoredShard {
  readonly key: StoreKey;
  readonly layout: ShardLayout;
  /** The number of bytes of the head parts. */
  readonly headSize: number;
  /** Whether a record of a file may lie before the index. */
  readonly mayHaveRecords: boolean;
}

/** A shard that was read. */
export interface ReadShard extends StoredShard {
  readonly shard: Uint8Array;
  readonly index: ShardIndex;
}

/**
 * Refuses a change of inner chunks that would destroy a file of another format: other
 * bytes of the shard would be lost, or inner chunks that they may refer to would move.
 * Zeros are unused space, as between aligned inner chunks.
 *
 * @param changed The shard after the change; `undefined` if it is removed.
 * @param hasPrefix Whether the caller gives the bytes before the first inner chunk.
 * @throws {OtherBytesError} If the change is refused.
 */
export function assertOthersKept(
  { key, shard, index, layout, headSize }: ReadShard,
  changed: Uint8Array | undefined,
  hasPrefix: boolean,
): void {
  const { start, end, indexRun } = bodyOf(layout, shard.length, headSize);
  const others: Run[] = [];
  let offset = start;
  for (const chunk of [...inOrder(index), { offset: end, length: 0 }]) {
    const run = { offset, length: chunk.offset - offset };
    const isGiven = offset === start && hasPrefix;
    if (!isGiven && !isZero(bytesOf(shard, run))) others.push(run);
    offset = Math.max(offset, chunk.offset + chunk.length);
  }
  const [first] = others;
  if (first === undefined) return;
  const isKept = changed !== undefined &&
    [indexRun, ...others].every((run) =>
      isSameBytes(bytesOf(shard, run), bytesOf(changed, run))
    );
  if (!isKept) throw otherBytesLost(key, first);
}

/**
 * Finds the bytes of another file format at the start of a stored shard that is to be
 * replaced as a whole. A shard that begins with an inner chunk may have unused bytes
 * behind it, as killed writers and some programs leave them. A damaged shard has no
 * such bytes, since it is repaired by being replaced, unless it may be an adopted file.
 *
 * @throws {DamageError} If a file that may be adopted lacks its index, or the index is
 * damaged.
 */
export async function findFirstBytes(
  store: Store,
  stored: StoredShard,
  options: StoreOptions,
): Promise<Run | undefined> {
  try {
    return await readFirstBytes(store, stored, options);
  } catch (error) {
    if (isDamage(error) && !stored.mayHaveRecords) return undefined;
    throw error;
  }
}

/** Finds what {@linkcode findFirstBytes} does, and throws for any damaged shard. */
export async function readFirstBytes(
  store: Store,
  { key, layout, headSize, mayHaveRecords }: StoredShard,
  options: StoreOptions,
): Promise<Run | undefined> {
  const indexSize = shardIndexSize(layout);
  const isAtStart = layout.indexLocation === "start";
  const length = indexSize + (mayHaveRecords ? FILE_RECORD_SIZE : 0);
  const range = isAtStart ? { offset: 0, length } : { suffixLength: length };
  const bytes = await readRange(store, key, range, options);
  if (bytes === undefined) return undefined;
  if (mayHaveRecords) {
    const record = decodeFileRecord(bytes.subarray(0, FILE_RECORD_SIZE));
    const size = record && await readSize(store, key, options);
    const end = size === undefined ? undefined : size - length;
    // Another file than that of the index: nothing in it is known.
    if (record && end !== undefined && end !== record.size) {
      return end > headSize
        ? { offset: headSize, length: end - headSize }
        : undefined;
    }
  }
  const index = decodeShardIndex(bytes.slice(-indexSize), layout, key);
  const atMost = firstRun(index, layout, Infinity, headSize);
  if (atMost.length === 0) return undefined;
  const size = await readSize(store, key, options);
  if (size === undefined) return undefined;
  if (!liesIn(index, layout, size)) return undefined;
  const run = firstRun(index, layout, size, headSize);
  const found = await readRange(store, key, run, options);
  return found === undefined || isZero(found) ? undefined : run;
}

/** The bytes before the first inner chunk that belong to neither head parts nor the index. */
export function firstRun(
  index: ShardIndex,
  layout: ShardLayout,
  size: number,
  headSize: number,
): Run {
  const { start, end } = bodyOf(layout, size, headSize);
  const first = firstOffset(index) ?? end;
  return { offset: start, length: Math.max(0, first - start) };
}

/** The offset of the first inner chunk that has bytes, if there is one. */
export function firstOffset(index: ShardIndex): number | undefined {
  return index.reduce<number | undefined>(
    (first, entry) =>
      entry?.length ? Math.min(first ?? entry.offset, entry.offset) : first,
    undefined,
  );
}

/** Whether all inner chunks lie in a shard. They may share bytes, as tiles of a TIFF do. */
export function liesIn(
  index: ShardIndex,
  layout: ShardLayout,
  size: number,
): boolean {
  const { start, end } = bodyOf(layout, size, 0);
  return start <= end && index.every((entry) =>
    entry === undefined ||
    entry.offset >= start && entry.offset + entry.length <= end
  );
}

/** Where inner chunks may lie in a shard, and where its index lies. */
function bodyOf(layout: ShardLayout, size: number, headSize: number) {
  const length = shardIndexSize(layout);
  return layout.indexLocation === "start"
    ? {
      start: Math.max(headSize, length),
      end: size,
      indexRun: { offset: 0, length },
    }
    : {
      start: headSize,
      end: size - length,
      indexRun: { offset: size - length, length },
    };
}

/** The inner chunks that have bytes, by their places in the shard. */
function inOrder(index: ShardIndex): Run[] {
  return index.filter((entry) => entry !== undefined && entry.length > 0)
    .map((entry) => entry!)
    .sort((a, b) => a.offset - b.offset);
}

function bytesOf(shard: Uint8Array, { offset, length }: Run): Uint8Array {
  return shard.subarray(offset, offset + Math.max(0, length));
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

/** Finds out, from the pieces of a new shard, whether it begins with bytes of another file format. */
export class FirstBytes {
  readonly #layout: ShardLayout;
  readonly #headSize: number;
  /** The first or the last bytes of the pieces, where the index is. */
  readonly #index: Uint8Array;
  #size = 0;
  /** The offset of the first byte other than 0 behind head parts and index. */
  #firstByte = Infinity;

  /** @param headSize The number of bytes of the head parts. */
  constructor(layout: ShardLayout, headSize: number) {
    this.#layout = layout;
    this.#headSize = headSize;
    this.#index = new Uint8Array(shardIndexSize(layout));
  }

  /** Adds the next bytes of the shard. */
  add(piece: Uint8Array): void {
    const index = this.#index;
    const isAtStart = this.#layout.indexLocation === "start";
    if (this.#firstByte === Infinity) {
      const start = Math.max(this.#headSize, isAtStart ? index.length : 0);
      const skipped = Math.max(0, start - this.#size);
      const at = piece.subarray(skipped).findIndex((byte) => byte !== 0);
      if (at >= 0) this.#firstByte = this.#size + skipped + at;
    }
    if (isAtStart) {
      const room = Math.max(0, index.length - this.#size);
      if (room > 0) index.set(piece.subarray(0, room), this.#size);
    } else {
      const last = piece.subarray(-index.length);
      index.copyWithin(0, last.length);
      index.set(last, index.length - last.length);
    }
    this.#size += piece.length;
  }

  /** Whether the bytes so far are a shard that begins with bytes of another file format. */
  areOthers(): boolean {
    const layout = this.#layout;
    try {
      const index = decodeShardIndex(this.#index, layout);
      if (!liesIn(index, layout, this.#size)) return false;
      const run = firstRun(index, layout, this.#size, this.#headSize);
      return this.#firstByte < run.offset + run.length;
    } catch (error) {
      if (isDamage(error)) return false;
      throw error;
    }
  }
}

/** Whether a write may lose bytes of a shard that belong to neither inner chunks, index nor head parts. */
export type OtherBytes = "refuse" | "replace";

/** Refuses a value of the option that is unknown. */
export function assertOtherBytes(otherBytes: OtherBytes | undefined): void {
  if ([undefined, "refuse", "replace"].includes(otherBytes)) return;
  throw new TypeError(
    `Expected otherBytes to be "refuse" or "replace", found ${
      describe(otherBytes)
    }`,
  );
}

/** Returns the error about other bytes of a shard that a write would lose or leave wrong. */
export function otherBytesLost(
  key: string,
  { offset, length }: { readonly offset: number; readonly length: number },
): OtherBytesError {
  return new OtherBytesError(
    `Shard ${describe(key)} has ${length} byte${
      length === 1 ? "" : "s"
    } at offset ${offset} besides its inner chunks, as a file of another format has, and this write would lose them or make them wrong: write it by setSharded with the container or the prefix of that format, or lose them by otherBytes: "replace", an option of setSharded and ArrayChunks.set`,
    { key, offset, length },
  );
}

/** Returns the error about a file that has more than its shard, which a container would not write. */
export function restOfFileLost(key: string, length: number): OtherBytesError {
  return new OtherBytesError(
    `File ${
      describe(key)
    } was adopted in part, and the container would write it without the rest, such as other pages of a TIFF or other arrays of a zip: lose the rest by otherBytes: "replace", or copy the array to other files first`,
    { key, offset: 0, length },
  );
}

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
