import { assertInGroup } from "../stores/assert_in_group.ts";
import type { ByteRange, StoreKey, StoreOptions } from "../stores/store.ts";
import type {
  GroupValues,
  StoreGroup,
  StoreVersion,
} from "../stores/store_group.ts";
import { assertStoreKey } from "../stores/store_key.ts";
import type { Composition } from "./composition.ts";
import { loadOperations } from "./load_operations.ts";
import { readChunk, readChunkSize } from "./read_chunk.ts";
import { readChunkRange } from "./read_chunk_range.ts";
import type { StoredChunk } from "./stored_chunk.ts";

/** Runs tasks that read or write, after those that they must not disturb. */
interface GroupLock {
  read<T>(task: () => Promise<T>): Promise<T>;
  write<T>(task: () => Promise<T>): Promise<T>;
}

/** The lock of a group within a task that holds the lock already. */
const HELD: GroupLock = { read: (task) => task(), write: (task) => task() };

/**
 * Returns a group of values of a composed store: the group of all their parts. Keys
 * of parts are keys of versions, too.
 */
export function composedGroup(
  composition: Composition,
  key: StoreKey,
  keys: readonly StoreKey[],
): StoreGroup {
  for (const each of [key, ...keys]) assertStoreKey(each);
  const { store, locks } = composition;
  const chunks = new Map(keys.map((each) => [each, composition.valueAt(each)]));
  const parts = Array.from(chunks.values()).flatMap((chunk) => chunk.keys());
  return groupOver(chunks, store.group!(key, parts), {
    read: (task) => locks.read(key, task),
    write: (task) => locks.write(key, task),
  });
}

/** Returns a group of whole chunks over the group of their parts. */
function groupOver(
  chunks: ReadonlyMap<StoreKey, StoredChunk>,
  parts: StoreGroup,
  held: GroupLock,
): StoreGroup {
  return {
    read: (task, options) =>
      held.read(() =>
        parts.read((values) => task(new ChunkValues(chunks, values)), options)
      ),
    ...parts.write && {
      async write(options) {
        const { ChunkWriter } = await loadOperations();
        const writer = await parts.write!(options);
        return new ChunkWriter(chunks, writer, held.write, options);
      },
    },
    ...parts.delete && {
      delete: (options) => held.write(() => parts.delete!(options)),
    },
    ...parts.lock && {
      lock: (task, options) =>
        held.write(() =>
          parts.lock!(
            (locked) => task(groupOver(chunks, locked, HELD)),
            options,
          )
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
    const chunk = this.#chunk(key, options);
    const { streamChunk } = await loadOperations();
    return await streamChunk(chunk);
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
