import { isSameBytes } from "../runtime/mod.ts";
import { describe, isDamage, OtherBytesError } from "../errors/mod.ts";
import {
  readRange,
  readSize,
  type Store,
  type StoreKey,
  type StoreOptions,
} from "../stores/mod.ts";
import { decodeFileRecord, FILE_RECORD_SIZE } from "./file_record.ts";
import {
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
interface ReadShard extends StoredShard {
  readonly shard: Uint8Array;
  readonly index: ShardIndex;
}

/**
 * Refuses a change of inner chunks that would destroy a file of another format: a change
 * that would lose other bytes of the shard, or move inner chunks to which they may refer.
 * Zeros count as unused space, as between aligned inner chunks.
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
 * such bytes, since it is repaired by being replaced. But the damage of a shard that may be
 * an adopted file is thrown, since the file may have been replaced.
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

/** Finds the same bytes as {@linkcode findFirstBytes}, and throws for any damaged shard. */
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
    // The file was replaced, and the index does not describe the new one.
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

/** Returns the run of bytes before the first inner chunk that belong to neither head parts nor the index. */
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

/** Returns the place of the inner chunks in a shard, and that of its index. */
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

/** What happens to a write that would lose bytes of neither inner chunks, index nor head parts. */
export type OtherBytes = "refuse" | "replace";

/** Checks the option `otherBytes`. */
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
