import { isDamage, sentence } from "../errors/mod.ts";
import {
  type Backend,
  setValue,
  type Snapshot,
  type StoreKey,
  type StoreOptions,
  type Update,
} from "../stores/mod.ts";
import { encodeShardAfter, type EncodeShardOptions } from "./encode_shard.ts";
import { assertWholeFile } from "./file_record.ts";
import {
  assertNoOtherBytes,
  assertOtherBytes,
  assertReplaceable,
  headLength,
  keptHead,
  openStored,
  type OtherBytes,
  type StoredShard,
} from "./other_bytes.ts";
import { chunkCount, placeInShard } from "./shard_index.ts";
import type { InnerPath, ShardForm } from "./shard_layout.ts";

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
    if (this.#form.layouts.length > 1) {
      throw new TypeError(
        sentence`Shard ${key} is made of shards: such arrays can be read, and not written`,
      );
    }
    const { signal, isWhole, prefix, container } = options;
    assertWritable(this.#backend.update, key);
    const isAlone = isWhole && !container && !this.#keepsHead(options);
    if (isAlone && typeof changes !== "function") {
      const chunks = this.#noChunks();
      for (const [place, bytes] of changes) chunks[place] = bytes;
      const bytes = this.#encode(prefix, chunks, options);
      // Nothing of the stored shard is kept: it is looked at under the lock alone.
      const check = async (values: Snapshot) =>
        void await this.#openStored(values, key, options);
      if (bytes) {
        return await setValue(
          this.#backend,
          key,
          bytes,
          signal ? { signal } : {},
          options.otherBytes === "replace" ? undefined : check,
        );
      }
    }
    await this.#backend.update!(
      [key],
      (values) => this.#change(values, key, changes, options),
      signal ? { signal } : {},
    );
  }

  async #change(
    values: Snapshot,
    key: StoreKey,
    changes: InnerChanges | ChangesOf,
    options: WriteShardOptions,
  ): Promise<Update> {
    const { isWhole = false, container, otherBytes } = options;
    if (container && otherBytes !== "replace") {
      await assertWholeFile(values, key, this.#form);
    }
    const whole = isWhole ? undefined : await values.read(key);
    const { stored, head } = await this.#openStored(
      values,
      key,
      options,
      whole,
    );
    const chunks = this.#noChunks();
    stored?.index.forEach((entry, place) => {
      if (!entry || !whole) return;
      const { offset, length } = entry;
      chunks[place] = whole.subarray(offset, offset + length);
    });
    const given = typeof changes === "function"
      ? await changes((place) => chunks[place])
      : changes;
    if (given !== changes && given.size === 0) return "keep";
    for (const [place, bytes] of given) chunks[place] = bytes;
    const length = headLength(this.#form);
    const kept = head ??
      (length === undefined ? undefined : new Uint8Array(length));
    const before = container ? undefined : options.prefix ?? kept;
    const bytes = this.#encode(before, chunks, options);
    return bytes ? [bytes] : "delete";
  }

  /** Whether the head parts of a stored shard stay. */
  #keepsHead({ prefix, container }: WriteShardOptions): boolean {
    return headLength(this.#form) !== undefined && !prefix && !container;
  }

  /**
   * Opens a shard that is to be replaced, as far as it must be looked at, and refuses one with
   * other bytes. Returns the shard, and the head parts that are kept.
   *
   * @param whole Its bytes, if they are read.
   */
  async #openStored(
    values: Snapshot,
    key: StoreKey,
    options: WriteShardOptions,
    whole?: Uint8Array,
  ): Promise<{ stored?: StoredShard; head?: Uint8Array }> {
    const form = this.#form;
    const { isWhole = false, prefix, container, otherBytes } = options;
    const isGuarded = container === undefined && otherBytes !== "replace";
    const keepsHead = this.#keepsHead(options);
    if (!whole && !(isWhole && (isGuarded || keepsHead))) return {};
    try {
      const stored = await openStored(values, key, form, whole);
      if (stored === undefined) return {};
      if (isGuarded) {
        const isAtEnd = form.layouts[0]!.indexLocation === "end";
        const hasPrefix = prefix !== undefined && !form.headSize && isAtEnd;
        await assertNoOtherBytes(stored, hasPrefix);
      }
      const head = keepsHead ? await keptHead(stored) : undefined;
      return { stored, ...head && { head } };
    } catch (error) {
      // A damaged shard is repaired by being replaced, unless its file may be another one.
      const isRepaired = isWhole && isDamage(error) &&
        !(isGuarded && form.mayHaveRecords);
      if (!isRepaired) throw error;
      const head = await damagedHead(values, key, form);
      return head ? { head } : {};
    }
  }

  #noChunks(): (Uint8Array | undefined)[] {
    return new Array(chunkCount(this.#form.layouts[0]!)).fill(undefined);
  }

  /** Encodes a shard; returns `undefined` for one without inner chunks. */
  #encode(
    before: Uint8Array | undefined,
    chunks: readonly (Uint8Array | undefined)[],
    { prefix, alignment, container }: WriteShardOptions,
  ): Uint8Array | undefined {
    if (chunks.every((chunk) => chunk === undefined)) return undefined;
    const { layouts: [layout], headSize } = this.#form;
    const encoding = { prefix, alignment, container };
    return encodeShardAfter(before, chunks, layout!, encoding, headSize);
  }
}

/** The bytes of the head parts of a damaged shard, or `undefined` if they cannot be read. */
async function damagedHead(
  values: Snapshot,
  key: StoreKey,
  form: ShardForm,
): Promise<Uint8Array | undefined> {
  const length = headLength(form);
  if (length === undefined) return undefined;
  try {
    const head = await values.read(key, { offset: 0, length });
    return head?.length === length ? head : undefined;
  } catch (error) {
    if (!isDamage(error)) throw error;
  }
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
  await setValue(
    backend,
    key,
    value,
    options,
    otherBytes === "replace" || form === undefined
      ? undefined
      : (values) => assertReplaceable(values, key, form),
  );
}

/** Refuses a backend that lacks a method to write. */
function assertWritable(method: unknown, key: StoreKey): void {
  if (method !== undefined) return;
  throw new TypeError(
    sentence`Cannot write shard ${key}: the store is read-only`,
  );
}
