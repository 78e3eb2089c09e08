import { sinkOf } from "../splitter/mod.ts";
import {
  assertInGroup,
  type ByteRange,
  type ByteWriter,
  forwardingGroup,
  type GroupValues,
  type GroupWriter,
  type KeyLocks,
  type StoreGroup,
  type StoreKey,
  type StoreOptions,
  type StoreVersion,
} from "../stores/mod.ts";
import {
  readChunk,
  readChunkRange,
  readChunkSize,
  streamChunk,
} from "./read_chunk.ts";
import type { Composition, StoredChunk } from "./stored_chunk.ts";
import { splitChunk, splitInto, streamSink } from "./write_chunk.ts";

/** Returns a group of values of a composed store, over the group of all their parts in the store below. */
export function composedGroup(
  composition: Composition,
  key: StoreKey,
  keys: readonly StoreKey[],
  locks: KeyLocks,
): StoreGroup {
  const chunks = new Map(keys.map((each) => [each, composition.valueAt(each)]));
  const parts = Array.from(chunks.values()).flatMap((chunk) => chunk.keys());
  return forwardingGroup(composition.store.group!(key, parts), {
    values: (values) => new ChunkValues(chunks, values),
    writer: (writer, options) => new ChunkWriter(chunks, writer, options),
    lock: { locks, key },
  });
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

/** Writes whole chunks to a group of their parts. */
class ChunkWriter implements GroupWriter {
  readonly #chunks: ReadonlyMap<StoreKey, StoredChunk>;
  readonly #parts: GroupWriter;
  readonly #options: StoreOptions;

  constructor(
    chunks: ReadonlyMap<StoreKey, StoredChunk>,
    parts: GroupWriter,
    options: StoreOptions = {},
  ) {
    this.#chunks = chunks;
    this.#parts = parts;
    this.#options = options;
  }

  async set(key: StoreKey, bytes: Uint8Array): Promise<void> {
    const chunk = this.#chunk(key);
    chunk.assertStorable();
    const pieces = splitChunk(chunk.parts, bytes, key);
    for (const [i, part] of chunk.parts.entries()) {
      await this.#parts.set(chunk.keyOf(part), pieces[i]!);
    }
  }

  // deno-lint-ignore require-await -- An invalid key must be a rejection.
  async writer(key: StoreKey): Promise<ByteWriter> {
    const chunk = this.#chunk(key);
    chunk.assertStorable();
    const sink = streamSink((stream) =>
      splitInto(
        chunk.over(chunk.store, this.#options),
        stream,
        async (part) => sinkOf(await this.#parts.writer(chunk.keyOf(part))),
      )
    );
    return {
      async write(bytes) {
        await sink.write(bytes, true);
        return bytes.length;
      },
      close: () => sink.close(),
      abort: (reason) => sink.abort(reason),
    };
  }

  async close(): Promise<void> {
    await this.#parts.close();
  }

  async abort(reason: unknown): Promise<void> {
    await this.#parts.abort(reason);
  }

  #chunk(key: StoreKey): StoredChunk {
    assertInGroup([...this.#chunks.keys()], key);
    return this.#chunks.get(key)!;
  }
}
