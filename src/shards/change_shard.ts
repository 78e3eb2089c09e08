import { DamageError } from "../errors/damage_error.ts";
import { readRange, readValue, remove, write } from "../stores/capabilities.ts";
import type { Store, StoreKey, StoreOptions } from "../stores/store.ts";
import { UnfinishedWriteError } from "../stores/unfinished_write_error.ts";
import { assertShardIndex } from "./assert_shard_index.ts";
import { encodeShardAfter, type EncodeShardOptions } from "./encode_shard.ts";
import {
  chunkCount,
  decodeShardIndex,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
import type { ShardLayout } from "./shard_layout.ts";

/** Inner chunks to store, by their places in the index; `undefined` for those to remove. */
export type ShardChanges = ReadonlyMap<number, Uint8Array | undefined>;

/** Options of {@linkcode changeShard}. */
export interface ChangeShardOptions extends EncodeShardOptions {
  /** Whether the changes replace the whole shard. */
  isWhole?: boolean | undefined;
  /** The number of bytes at the start that are kept in any case, and that have no inner chunks. */
  headSize?: number | undefined;
  /** The bytes at the start, in place of those that are stored, unless there is a prefix or a container. */
  head?: Uint8Array | undefined;
  /** Aborts the change. */
  signal?: AbortSignal | undefined;
}

/** The contents of a shard, as views of it. */
interface KeptShard {
  /** The bytes before the inner chunks, at least those of the head parts. */
  readonly head: Uint8Array;
  readonly chunks: (Uint8Array | undefined)[];
}

/**
 * Changes some inner chunks of a shard, and keeps the others and the prefix. A shard
 * without inner chunks is removed.
 */
export async function changeShard(
  store: Store,
  key: StoreKey,
  layout: ShardLayout,
  changes: ShardChanges,
  {
    isWhole = false,
    headSize = 0,
    head,
    prefix,
    alignment,
    container,
    signal,
  }: ChangeShardOptions = {},
): Promise<void> {
  const options = signal ? { signal } : {};
  const kept = isWhole
    ? undefined
    : await readShard(store, key, layout, headSize, options);
  const chunks = kept?.chunks ?? Array(chunkCount(layout)).fill(undefined);
  for (const [place, bytes] of changes) chunks[place] = bytes;
  if (chunks.some((chunk) => chunk !== undefined)) {
    const before = container ? undefined : prefix ?? kept?.head ?? head ??
      await readHead(store, key, layout, headSize, options);
    const encoding = { prefix, alignment, container };
    const shard = encodeShardAfter(before, chunks, layout, encoding, headSize);
    await write(store, key, shard, options);
  } else if (isWhole || kept !== undefined) {
    await remove(store, key, options);
  }
}

/** The first bytes of a shard that is replaced: those of a damaged shard if they can be read, else zeros. */
export async function readDamagedHead(
  ...args: Parameters<typeof readHead>
): Promise<Uint8Array | undefined> {
  try {
    return await readHead(...args);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return new Uint8Array(args[3]);
  }
}

/** Whether an error says that a shard is damaged, or was left unfinished. */
export function isDamage(error: unknown): boolean {
  return error instanceof DamageError || error instanceof UnfinishedWriteError;
}

/**
 * The first bytes of a shard, or zeros for an absent one; `undefined` if nothing but
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
  return head?.length === headSize ? head : new Uint8Array(headSize);
}

async function readShard(
  store: Store,
  key: StoreKey,
  layout: ShardLayout,
  headSize: number,
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
  assertShardIndex(index, layout, shard.length, key);
  const prefixSize = isAtStart ? 0 : firstOffset(index) ?? shard.length - size;
  return {
    // Inner chunks that lie in the head parts move behind them.
    head: shard.subarray(0, Math.max(prefixSize, headSize)),
    chunks: index.map((entry) =>
      entry && shard.subarray(entry.offset, entry.offset + entry.length)
    ),
  };
}

/** The offset of the first inner chunk, if there is one. */
function firstOffset(index: ShardIndex): number | undefined {
  return index.reduce<number | undefined>(
    (first, entry) =>
      entry?.length ? Math.min(first ?? entry.offset, entry.offset) : first,
    undefined,
  );
}
