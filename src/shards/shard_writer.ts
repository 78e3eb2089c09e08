import {
  checkOption,
  describe,
  isDamage,
  oneOf,
  OtherBytesError,
  sentence,
} from "../errors/mod.ts";
import {
  type Backend,
  resolveByteRange,
  setValue,
  type Snapshot,
  type StoreKey,
  type StoreOptions,
  type Update,
} from "../stores/mod.ts";
import { encodeShardAfter, type EncodeShardOptions } from "./encode_shard.ts";
import {
  assertFileSize,
  decodeFileRecord,
  FILE_RECORD_SIZE,
} from "./file_record.ts";
import {
  assertShardIndex,
  chunkCount,
  type Extent,
  placeInShard,
  type ReadShardRange,
  type ShardIndex,
  shardIndexSize,
} from "./shard_index.ts";
import type { InnerPath, ShardForm, ShardLayout } from "./shard_layout.ts";
import { readRecordedIndex } from "./shard_reader.ts";

/** The inner chunks to store by their places in the index, or `undefined` for those to remove. */
type InnerChanges = ReadonlyMap<number, Uint8Array | undefined>;

/**
 * Returns the inner chunks to store. `chunkAt` returns the stored inner chunks as views of
 * the shard. The function is called while no other writer changes the shard; a store
 * without locks calls it again if another program has changed the shard.
 */
export type ChangesOf = (
  chunkAt: (place: number) => Uint8Array | undefined,
) => InnerChanges | Promise<InnerChanges>;

/** What happens to a write that would lose bytes of neither inner chunks, index nor head parts. */
type OtherBytes = "refuse" | "replace";

/** Checks the option `otherBytes`. */
export function assertOtherBytes(otherBytes: OtherBytes | undefined): void {
  checkOption("otherBytes", otherBytes, oneOf("refuse", "replace"));
}

/** Options of {@linkcode ShardWriter.write}. */
interface WriteShardOptions extends EncodeShardOptions {
  /** Whether the changes replace the whole shard. */
  isWhole?: boolean | undefined;
  /** `"replace"` allows a change that loses bytes of neither inner chunks, index nor head parts. By default, the change is refused. */
  otherBytes?: OtherBytes | undefined;
  /** Aborts the change. */
  signal?: AbortSignal | undefined;
}

/** Changes of one shard that are stored together. */
interface Batch {
  readonly changes: Map<number, Uint8Array | undefined>;
  readonly stored: Promise<void>;
}

/** Changes the inner chunks of shards. */
export class ShardWriter {
  readonly #backend: Backend;
  readonly #form: ShardForm;
  readonly #batches = new Map<StoreKey, Batch>();

  constructor(backend: Backend, form: ShardForm) {
    this.#backend = backend;
    this.#form = form;
  }

  /**
   * Changes an inner chunk, together with others of its shard that are changed before the
   * shard is stored.
   *
   * @param bytes The inner chunk; `undefined` removes it.
   */
  async change(
    key: StoreKey,
    path: InnerPath,
    bytes: Uint8Array | undefined,
  ): Promise<void> {
    const place = placeInShard(path[0]!, this.#form.layouts[0]!);
    const batch = this.#batches.get(key) ?? this.#openBatch(key);
    batch.changes.set(place, bytes);
    await batch.stored;
  }

  /** Opens a batch of changes, which others join until the shard has been read. */
  #openBatch(key: StoreKey): Batch {
    const changes = new Map<number, Uint8Array | undefined>();
    const close = () => {
      if (this.#batches.get(key) === batch) this.#batches.delete(key);
    };
    const store = () =>
      this.write(key, () => {
        close();
        return changes;
      }).finally(close);
    const batch = { changes, stored: Promise.resolve().then(store) };
    this.#batches.set(key, batch);
    return batch;
  }

  /**
   * Changes some inner chunks of a shard, and keeps the others and the head parts. A shard
   * without inner chunks is removed. Nothing is stored if `changes` is a function that
   * returns no inner chunks.
   *
   * @throws {OtherBytesError} If the shard has other bytes, which would be lost, or would
   * refer to inner chunks that move.
   */
  async write(
    key: StoreKey,
    changes: InnerChanges | ChangesOf,
    options: WriteShardOptions = {},
  ): Promise<void> {
    const form = this.#form;
    if (form.layouts.length > 1) {
      throw new TypeError(
        sentence`Shard ${key} is made of shards: such arrays can be read, and not written`,
      );
    }
    const { signal, isWhole, prefix, container, otherBytes } = options;
    assertWritable(this.#backend.update, key);
    const storeOptions = signal ? { signal } : {};
    const isAlone = isWhole && !container && !keepsHead(form, options);
    if (isAlone && typeof changes !== "function") {
      const bytes = this.#encode(prefix, changes, [], options);
      // Nothing of the stored shard is kept: it is looked at under the lock alone.
      const check = otherBytes === "replace"
        ? undefined
        : async (values: Snapshot) =>
          void await openReplaced(values, key, form, options);
      if (bytes) {
        return await setValue(this.#backend, key, bytes, storeOptions, check);
      }
    }
    await this.#backend.update!(
      [key],
      (values) => this.#change(values, key, changes, options),
      storeOptions,
    );
  }

  async #change(
    values: Snapshot,
    key: StoreKey,
    changes: InnerChanges | ChangesOf,
    options: WriteShardOptions,
  ): Promise<Update> {
    const { isWhole, prefix, container, otherBytes } = options;
    const form = this.#form;
    const isGuarded = otherBytes !== "replace";
    if (container && isGuarded) await assertWholeFile(values, key, form);
    const isKept = keepsHead(form, options);
    const whole = isWhole ? undefined : await values.read(key);
    const isRead = whole || isWhole && (isKept || !container && isGuarded);
    const stored = isRead
      ? await openReplaced(values, key, form, options, whole)
      : undefined;
    const head = isKept ? await keptHead(values, key, form, stored) : undefined;
    const chunks = whole && stored && stored !== "damaged"
      ? stored.index.map((entry) =>
        entry && whole.subarray(entry.offset, entry.offset + entry.length)
      )
      : [];
    const given = typeof changes === "function"
      ? await changes((place) => chunks[place])
      : changes;
    if (given !== changes && given.size === 0) return "keep";
    const bytes = this.#encode(prefix ?? head, given, chunks, options);
    return bytes ? [bytes] : "delete";
  }

  /**
   * Encodes a shard; returns `undefined` for one without inner chunks.
   *
   * @param head The first bytes of the shard, unless there is a container.
   * @param kept The stored inner chunks.
   */
  #encode(
    head: Uint8Array | undefined,
    changes: InnerChanges,
    kept: readonly (Uint8Array | undefined)[],
    { prefix, alignment, container }: WriteShardOptions,
  ): Uint8Array | undefined {
    const { layouts: [layout], headSize, mayHaveRecords } = this.#form;
    const chunks = Array.from(
      { length: chunkCount(layout!) },
      (_, place) => changes.has(place) ? changes.get(place) : kept[place],
    );
    if (chunks.every((chunk) => chunk === undefined)) return undefined;
    const encoding = { prefix, alignment, container };
    const shard = encodeShardAfter(head, chunks, layout!, encoding, headSize);
    return mayHaveRecords && !container
      ? withRoomForRecord(shard, layout!, headSize)
      : shard;
  }
}

/** Adds zeros before the index to a shard that is too short for the part of an adopted file, which holds a record and the index. */
function withRoomForRecord(
  shard: Uint8Array,
  layout: ShardLayout,
  headSize = 0,
): Uint8Array {
  const tailSize = FILE_RECORD_SIZE + shardIndexSize(layout);
  if (shard.length >= headSize + tailSize) return shard;
  const indexStart = shard.length - shardIndexSize(layout);
  const padded = new Uint8Array(headSize + tailSize);
  padded.set(shard.subarray(0, indexStart));
  padded.set(shard.subarray(indexStart), headSize + FILE_RECORD_SIZE);
  return padded;
}

/** Options of {@linkcode setShard}. */
interface SetShardOptions extends StoreOptions {
  otherBytes?: OtherBytes | undefined;
  /** Whether nobody else changes the shard meanwhile, so that no lock is taken. */
  exclusive?: boolean | undefined;
}

/**
 * Stores a whole shard from its bytes or from a stream of them.
 *
 * @param form The form of the shards; `undefined` if it is not understood.
 * @throws {OtherBytesError} If the stored shard has bytes of another file format.
 */
export async function setShard(
  backend: Backend,
  key: StoreKey,
  form: ShardForm | undefined,
  value: Uint8Array | ReadableStream<Uint8Array>,
  { otherBytes, ...options }: SetShardOptions,
): Promise<void> {
  assertOtherBytes(otherBytes);
  assertWritable(backend.prepare, key);
  const check = otherBytes === "replace" || form === undefined
    ? undefined
    : async (values: Snapshot) =>
      void await openReplaced(values, key, form, { isWhole: true });
  await setValue(backend, key, value, options, check);
}

/** Refuses a backend that lacks a method to write. */
function assertWritable(method: unknown, key: StoreKey): void {
  if (method !== undefined) return;
  throw new TypeError(
    sentence`Cannot write shard ${key}: the store is read-only`,
  );
}

/** A shard that is stored. */
interface StoredShard {
  readonly size: number;
  readonly index: ShardIndex;
  /** Where the inner chunks end: before the index at the end, and the record of a file. */
  readonly end: number;
  /** Reads a range of the shard. */
  readonly read: ReadShardRange;
}

/**
 * Opens a shard that is to be changed or replaced, and refuses one with other bytes. A damaged
 * shard is repaired by being replaced. But the damage of a shard that may be an adopted file is
 * thrown, since the file may have been replaced.
 *
 * @param whole The bytes of the shard, if they have been read.
 * @returns The shard; `undefined` for an absent one.
 */
async function openReplaced(
  values: Snapshot,
  key: StoreKey,
  form: ShardForm,
  { isWhole, prefix, container, otherBytes }: WriteShardOptions,
  whole?: Uint8Array,
): Promise<StoredShard | "damaged" | undefined> {
  const isGuarded = container === undefined && otherBytes !== "replace";
  try {
    const stored = await openStored(values, key, form, whole);
    if (stored && isGuarded) {
      const isAtEnd = form.layouts[0]!.indexLocation === "end";
      const hasPrefix = prefix !== undefined && !form.headSize && isAtEnd;
      await assertNoOtherBytes(stored, key, form, hasPrefix);
    }
    return stored;
  } catch (error) {
    const isRepaired = isWhole && isDamage(error) &&
      !(isGuarded && form.mayHaveRecords);
    if (isRepaired) return "damaged";
    throw error;
  }
}

/**
 * Opens a stored shard. Its index is checked against its length.
 *
 * @throws {DamageError} If the shard is damaged, or its file was replaced after it had been
 * adopted.
 */
async function openStored(
  values: Snapshot,
  key: StoreKey,
  form: ShardForm,
  whole: Uint8Array | undefined,
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
  const layout = form.layouts[0]!;
  const isAtStart = layout.indexLocation === "start";
  const end = size - (isAtStart ? 0 : shardIndexSize(layout)) -
    (record ? FILE_RECORD_SIZE : 0);
  if (record) assertFileSize(record, key, end);
  assertShardIndex(index, layout, size, key);
  return { size, index, end, read };
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
async function assertNoOtherBytes(
  { index, end, read }: StoredShard,
  key: StoreKey,
  { layouts: [layout], headSize = 0 }: ShardForm,
  hasPrefix: boolean,
): Promise<void> {
  const isAtStart = layout!.indexLocation === "start";
  let start = Math.max(headSize, isAtStart ? shardIndexSize(layout!) : 0);
  const chunks = index.filter((entry) => entry !== undefined)
    .filter(({ length }) => length > 0)
    .sort((a, b) => a.offset - b.offset);
  for (const [i, chunk] of [...chunks, { offset: end, length: 0 }].entries()) {
    const gap = { offset: start, length: chunk.offset - start };
    start = Math.max(start, chunk.offset + chunk.length);
    if (i === 0 && hasPrefix) continue;
    for (let from = gap.offset; from < chunk.offset; from += WINDOW) {
      const length = Math.min(chunk.offset - from, WINDOW);
      const bytes = await read({ offset: from, length });
      if (bytes?.some((byte) => byte !== 0)) throw otherBytesLost(key, gap);
    }
  }
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

/**
 * Refuses to rewrite a file that the array has adopted in part, since a container does
 * not write the rest of the file. A damaged shard is accepted, since its record cannot be
 * read.
 *
 * @throws {OtherBytesError} If the file was adopted in part.
 */
async function assertWholeFile(
  values: Snapshot,
  key: StoreKey,
  { layouts: [layout], mayHaveRecords }: ShardForm,
): Promise<void> {
  if (!mayHaveRecords) return;
  const suffixLength = FILE_RECORD_SIZE + shardIndexSize(layout!);
  const bytes = await readIfWhole(values, key, { suffixLength });
  const record = bytes && decodeFileRecord(bytes.subarray(0, FILE_RECORD_SIZE));
  if (!record || record.contents === 0) return;
  throw new OtherBytesError(
    sentence`File ${key} was adopted in part, and the container would write it without the rest, such as other pages of a TIFF or other arrays of a zip: lose the rest by otherBytes: "replace", or copy the array to other files first`,
    { key, offset: 0, length: record.size },
  );
}

/** The length of the head parts; `undefined` if only the index lies in them. */
function headLength(
  { headSize = 0, layouts: [layout] }: ShardForm,
): number | undefined {
  const isAtStart = layout!.indexLocation === "start";
  const indexSize = isAtStart ? shardIndexSize(layout!) : 0;
  return headSize > indexSize ? headSize : undefined;
}

/** Whether the head parts of a stored shard stay. */
function keepsHead(
  form: ShardForm,
  { prefix, container }: WriteShardOptions,
): boolean {
  return headLength(form) !== undefined && !prefix && !container;
}

/**
 * Returns the bytes of the head parts of a shard, zeros if they cannot be read. Inner chunks
 * and index in them are replaced by zeros, since the new shard has these elsewhere.
 */
async function keptHead(
  values: Snapshot,
  key: StoreKey,
  form: ShardForm,
  stored: StoredShard | "damaged" | undefined,
): Promise<Uint8Array> {
  const length = headLength(form)!;
  const head = new Uint8Array(length);
  if (stored === undefined) return head;
  const range = { offset: 0, length };
  const bytes = stored === "damaged"
    ? await readIfWhole(values, key, range)
    : await stored.read(range);
  if (bytes?.length !== length) return head;
  head.set(bytes);
  if (stored === "damaged") return head;
  for (const entry of stored.index) {
    if (entry) head.fill(0, entry.offset, entry.offset + entry.length);
  }
  const [layout] = form.layouts;
  return layout!.indexLocation === "end"
    ? head.fill(0, stored.size - shardIndexSize(layout!))
    : head;
}

/** Reads a range of a shard; returns `undefined` if damage prevents it. */
async function readIfWhole(
  values: Snapshot,
  key: StoreKey,
  range: Parameters<ReadShardRange>[0],
): Promise<Uint8Array | undefined> {
  try {
    return await values.read(key, range);
  } catch (error) {
    if (!isDamage(error)) throw error;
  }
}
