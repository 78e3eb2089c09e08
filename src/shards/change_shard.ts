import { isDamage } from "../errors/mod.ts";
import { copyBytes } from "../runtime/mod.ts";
import {
  readRange,
  readSize,
  readValue,
  remove,
  type Store,
  type StoreKey,
  type StoreOptions,
  write,
} from "../stores/mod.ts";
import { encodeShardAfter, type EncodeShardOptions } from "./encode_shard.ts";
import {
  assertFileSize,
  assertWholeFile,
  decodeFileRecord,
  FILE_RECORD_SIZE,
} from "./file_record.ts";
import {
  assertOthersKept,
  findFirstBytes,
  firstOffset,
  type OtherBytes,
  otherBytesLost,
  type StoredShard,
} from "./other_bytes.ts";
import {
  assertShardIndex,
  chunkCount,
  decodeShardIndex,
  readShardIndex,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/** The inner chunks to store by their places in the index, or `undefined` for those to remove. */
export type InnerChanges = ReadonlyMap<number, Uint8Array | undefined>;

/**
 * Returns the inner chunks to store. `chunkAt` returns the stored inner chunks as views of
 * the shard. The function is called under the lock of the shard; a store
 * without locks calls it again if another program has changed the shard.
 */
export type ChangesOf = (
  chunkAt: (place: number) => Uint8Array | undefined,
) => InnerChanges | Promise<InnerChanges>;

/** Options of {@linkcode changeShard}. */
export interface ChangeShardOptions extends EncodeShardOptions {
  /** Whether the changes replace the whole shard. */
  isWhole?: boolean | undefined;
  /** The number of bytes at the start that are kept in any case, and that have no inner chunks. */
  headSize?: number | undefined;
  /** Whether a record of a file may lie before the index. */
  mayHaveRecords?: boolean | undefined;
  /** The bytes at the start of the shard in place of the stored ones, unless there is a prefix or a container. */
  head?: Uint8Array | undefined;
  /** `"replace"` allows a change that loses bytes of neither inner chunks, index nor head parts. By default, the change is refused. */
  otherBytes?: OtherBytes | undefined;
  /** Aborts the change. */
  signal?: AbortSignal | undefined;
}

/** The contents of a shard, as views of it. */
interface KeptShard {
  readonly shard: Uint8Array;
  readonly index: ShardIndex;
  /** The bytes before the inner chunks, at least those of the head parts. */
  readonly head: Uint8Array;
  readonly chunks: (Uint8Array | undefined)[];
}

/**
 * Changes some inner chunks of a shard, and keeps the others and the prefix. A shard
 * without inner chunks is removed. Nothing is stored if `changes` is a function that
 * returns no inner chunks.
 *
 * @throws {OtherBytesError} If other bytes of the shard would be lost, or would refer
 * to inner chunks that move.
 */
export async function changeShard(
  store: Store,
  key: StoreKey,
  layout: ShardLayout,
  changes: InnerChanges | ChangesOf,
  change: ChangeShardOptions = {},
): Promise<void> {
  const { isWhole = false, headSize = 0, head, signal } = change;
  const { mayHaveRecords = false } = change;
  const { prefix, alignment, container } = change;
  const options = signal ? { signal } : {};
  const stored = { key, layout, headSize, mayHaveRecords };
  const { isGuarded, hasPrefix } = guardOf(change, layout);
  if (isGuarded && isWhole && !hasPrefix) {
    const run = await findFirstBytes(store, stored, options);
    if (run) throw otherBytesLost(key, run);
  }
  if (container && change.otherBytes !== "replace" && mayHaveRecords) {
    await assertWholeFile(store, key, layout, options);
  }
  const kept = isWhole ? undefined : await readShard(store, stored, options);
  const chunks = kept?.chunks ?? Array(chunkCount(layout)).fill(undefined);
  const given = typeof changes === "function"
    ? await changes((place) => chunks[place])
    : changes;
  if (given !== changes && given.size === 0) return;
  for (const [place, bytes] of given) chunks[place] = bytes;
  let shard: Uint8Array | undefined;
  if (chunks.some((chunk) => chunk !== undefined)) {
    const before = container ? undefined : prefix ?? kept?.head ?? head ??
      await readHead(store, key, layout, headSize, options);
    const encoding = { prefix, alignment, container };
    shard = encodeShardAfter(before, chunks, layout, encoding, headSize);
  }
  if (isGuarded && kept !== undefined) {
    assertOthersKept({ ...stored, ...kept }, shard, hasPrefix);
  }
  if (shard !== undefined) await write(store, key, shard, options);
  else if (isWhole || kept !== undefined) await remove(store, key, options);
}

/** Whether a change must keep other bytes of a shard, and whether the caller gives the bytes before the first inner chunk. */
function guardOf(
  { container, otherBytes, prefix, headSize = 0 }: ChangeShardOptions,
  { indexLocation }: ShardLayout,
): { isGuarded: boolean; hasPrefix: boolean } {
  return {
    isGuarded: container === undefined && otherBytes !== "replace",
    hasPrefix: prefix !== undefined && headSize === 0 &&
      indexLocation === "end",
  };
}

/** Reads the first bytes of a damaged shard that is replaced, or returns zeros if they cannot be read. */
export async function readDamagedHead(
  store: Store,
  key: StoreKey,
  layout: ShardLayout,
  headSize: number,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  try {
    return await readHead(store, key, layout, headSize, options);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return new Uint8Array(headSize);
  }
}

/**
 * Returns the first bytes of a shard, or zeros for an absent shard; `undefined` if only
 * the index lies in them.
 */
async function readHead(
  store: Store,
  key: StoreKey,
  layout: ShardLayout,
  headSize: number,
  options: StoreOptions,
): Promise<Uint8Array | undefined> {
  const isAtStart = layout.indexLocation === "start";
  if (headSize <= (isAtStart ? shardIndexSize(layout) : 0)) return undefined;
  const range = { offset: 0, length: headSize };
  const head = await readRange(store, key, range, options);
  if (head?.length !== headSize) return new Uint8Array(headSize);
  if (head.every((byte) => byte === 0)) return head;
  try {
    const index = await readShardIndex(
      (range) => readRange(store, key, range, options),
      layout,
      key,
    );
    const shardSize = await readSize(store, key, options) ?? Infinity;
    const indexStart = isAtStart
      ? Infinity
      : shardSize - shardIndexSize(layout);
    return withoutInner(head, index ?? [], indexStart);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return head; // The places of the inner chunks in a damaged shard are not known.
  }
}

/**
 * Returns the first bytes of a shard with zeros in place of any inner chunks and index in
 * them. Otherwise, the new shard would keep bytes of old inner chunks.
 */
function withoutInner(
  head: Uint8Array,
  index: ShardIndex,
  indexStart: number,
): Uint8Array {
  const kept = copyBytes(head); // Stores of Node return `Buffer`, whose slices share memory.
  for (const entry of index) {
    if (entry) kept.fill(0, entry.offset, entry.offset + entry.length);
  }
  return indexStart < kept.length ? kept.fill(0, indexStart) : kept;
}

async function readShard(
  store: Store,
  { key, layout, headSize, mayHaveRecords }: StoredShard,
  options: StoreOptions,
): Promise<KeptShard | undefined> {
  const shard = await readValue(store, key, options);
  if (shard === undefined) return undefined;
  const size = shardIndexSize(layout);
  const isAtStart = layout.indexLocation === "start";
  const index = decodeShardIndex(
    isAtStart ? shard.subarray(0, size) : shard.subarray(-size),
    layout,
    key,
  );
  if (mayHaveRecords) {
    const end = shard.length - size;
    const start = Math.max(0, end - FILE_RECORD_SIZE);
    const record = decodeFileRecord(shard.subarray(start, end));
    if (record) assertFileSize(record, key, start);
  }
  assertShardIndex(index, layout, shard.length, key);
  const first = firstOffset(index);
  const prefixSize = isAtStart ? 0 : first ?? shard.length - size;
  return {
    shard,
    index,
    // Inner chunks that lie in the head parts move behind them.
    head: withoutInner(
      shard.subarray(0, Math.max(prefixSize, headSize)),
      index,
      isAtStart ? Infinity : shard.length - size,
    ),
    chunks: index.map((entry) =>
      entry && shard.subarray(entry.offset, entry.offset + entry.length)
    ),
  };
}
