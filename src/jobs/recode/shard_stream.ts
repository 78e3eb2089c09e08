import {
  encodeShardIndex,
  type Extent,
  type ShardLayout,
} from "../../shards/mod.ts";

/**
 * A shard that is stored while its inner chunks are made, in the order in which they come, so
 * that memory holds none of them. The index follows them.
 */
export class ShardStream {
  readonly #layout: ShardLayout;
  readonly #index: (Extent | undefined)[];
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #stored: Promise<void>;
  #offset: number;
  /** Chunks of several blocks come at the same time. */
  #latest: Promise<void> = Promise.resolve();

  /**
   * @param headSize The number of bytes of the head parts, which are zeros.
   * @param store Stores the bytes of the stream.
   */
  constructor(
    layout: ShardLayout,
    headSize: number,
    store: (bytes: ReadableStream<Uint8Array>) => Promise<void>,
  ) {
    this.#layout = layout;
    const count = layout.chunksPerShard.reduce((n, length) => n * length, 1);
    this.#index = new Array(count).fill(undefined);
    const { readable, writable } = new TransformStream<
      Uint8Array,
      Uint8Array
    >();
    this.#writer = writable.getWriter();
    this.#writer.closed.catch(() => {});
    this.#offset = headSize;
    this.#stored = store(readable);
    this.#stored.catch((error) => this.#writer.abort(error).catch(() => {}));
    if (headSize > 0) this.#write(new Uint8Array(headSize));
  }

  /** The number of bytes until now. */
  get length(): number {
    return this.#offset;
  }

  /** Adds an inner chunk, and waits until the store has taken it. */
  async add(place: number, chunk: Uint8Array): Promise<void> {
    this.#index[place] = { offset: this.#offset, length: chunk.length };
    this.#offset += chunk.length;
    await this.#write(chunk);
  }

  /** Adds the index, and waits until the shard is stored. */
  async finish(): Promise<void> {
    const index = encodeShardIndex(this.#index, this.#layout);
    this.#offset += index.length;
    await this.#write(index);
    await Promise.all([this.#writer.close().catch(() => {}), this.#stored]);
  }

  /** Gives the shard up: what was stored of it is removed. */
  async abort(reason: unknown): Promise<void> {
    await this.#writer.abort(reason).catch(() => {});
    await this.#stored.catch(() => {});
  }

  #write(bytes: Uint8Array): Promise<void> {
    const written = this.#latest.then(() => this.#writer.write(bytes));
    this.#latest = written.catch(() => {});
    // The store says what went wrong.
    return written.catch(async (error) => {
      await this.#stored;
      throw error;
    });
  }
}
