import { assertInGroup } from "../stores/assert_in_group.ts";
import type { ByteWriter } from "../stores/byte_io.ts";
import type { StoreKey, StoreOptions } from "../stores/store.ts";
import type { GroupWriter } from "../stores/store_group.ts";
import { sinkOf } from "../splitter/byte_sink.ts";
import { splitChunk } from "./split_chunk.ts";
import { splitInto } from "./store_stream.ts";
import type { StoredChunk } from "./stored_chunk.ts";
import { streamSink } from "./stream_sink.ts";

/** Writes whole chunks to a group of their parts. */
export class ChunkWriter implements GroupWriter {
  readonly #chunks: ReadonlyMap<StoreKey, StoredChunk>;
  readonly #parts: GroupWriter;
  readonly #commit: (close: () => Promise<void>) => Promise<void>;
  readonly #options: StoreOptions;

  /** @param commit Stores the parts by the function that it is given. */
  constructor(
    chunks: ReadonlyMap<StoreKey, StoredChunk>,
    parts: GroupWriter,
    commit: (close: () => Promise<void>) => Promise<void>,
    options: StoreOptions = {},
  ) {
    this.#chunks = chunks;
    this.#parts = parts;
    this.#commit = commit;
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

  // deno-lint-ignore require-await -- so that a bad key is a rejection
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
    await this.#commit(() => this.#parts.close());
  }

  async abort(reason: unknown): Promise<void> {
    await this.#parts.abort(reason);
  }

  #chunk(key: StoreKey): StoredChunk {
    assertInGroup([...this.#chunks.keys()], key);
    return this.#chunks.get(key)!;
  }
}
