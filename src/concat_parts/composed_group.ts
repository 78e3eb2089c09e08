import { assertInGroup } from "../stores/assert_in_group.ts";
import type { ByteRange, StoreKey, StoreOptions } from "../stores/store.ts";
import type {
  GroupValues,
  StoreGroup,
  StoreVersion,
} from "../stores/store_group.ts";
import type { Composition } from "./composition.ts";
import { ChunkWriter } from "./chunk_writer.ts";
import { readChunk, readChunkSize } from "./read_chunk.ts";
import { readChunkRange } from "./read_chunk_range.ts";
import type { StoredChunk } from "./stored_chunk.ts";
import { streamChunk } from "./stream_chunk.ts";

/** Runs a task that writes, after those that it must not disturb. */
type WriteLock = <T>(task: () => Promise<T>) => Promise<T>;

/**
 * Returns a group of values of a composed store: the group of all their parts. Keys
 * of parts are keys of versions, too. Only the closing of a writer takes the lock; the
 * caller takes it for all else.
 */
export function composedGroup(
  composition: Composition,
  key: StoreKey,
  keys: readonly StoreKey[],
  lock: WriteLock,
): StoreGroup {
  const chunks = new Map(keys.map((each) => [each, composition.valueAt(each)]));
  const parts = Array.from(chunks.values()).flatMap((chunk) => chunk.keys());
  return groupOver(chunks, composition.store.group!(key, parts), lock);
}

/** Returns a group of whole chunks over the group of their parts. */
function groupOver(
  chunks: ReadonlyMap<StoreKey, StoredChunk>,
  parts: StoreGroup,
  lock: WriteLock,
): StoreGroup {
  return {
    read: (task, options) =>
      parts.read((values) => task(new ChunkValues(chunks, values)), options),
    ...parts.write && {
      async write(options) {
        const writer = await parts.write!(options);
        return new ChunkWriter(chunks, writer, lock, options);
      },
    },
    ...parts.delete && { delete: (options) => parts.delete!(options) },
    ...parts.lock && {
      lock: (task, options) =>
        parts.lock!(
          (locked) => task(groupOver(chunks, locked, (task) => task())),
          options,
        ),
    },
  };
}

/** Whole chunks in a group of their parts. */
class ChunkValues implements GroupValues {
  readonly #chunks: ReadonlyMap<StoreKey, StoredChunk>;
  readonly #parts: GroupValues;

  constructor(
    chunks: ReadonlyMap<StoreKey, StoredChunk>,
    parts: GroupValues,
  ) {
    this.#chunks = chunks;
    this.#parts = parts;
  }

  async get(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return await readChunk(this.#chunk(key, options));
  }

  async getRange(
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined> {
    return await readChunkRange(this.#chunk(key, options), range);
  }

  async stream(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    return await streamChunk(this.#chunk(key, options));
  }

  async size(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<number | undefined> {
    return await readChunkSize(this.#chunk(key, options));
  }

  version(key: StoreKey): StoreVersion | undefined {
    return this.#parts.version(key);
  }

  #chunk(key: StoreKey, options?: StoreOptions): StoredChunk {
    assertInGroup([...this.#chunks.keys()], key);
    return this.#chunks.get(key)!.over(this.#parts, options);
  }
}
