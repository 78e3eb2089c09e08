import { describe } from "../errors/mod.ts";
import {
  assertChunkSize,
  chunkSizes,
  type Part,
  settingsOf,
  Splitter,
} from "../splitter/mod.ts";
import {
  type Backend,
  type ByteWriter,
  type StoreKey,
  writeAll,
} from "../stores/mod.ts";
import { chunkSnapshot, type PartsLayout } from "./read_parts.ts";

/** Writes and deletes chunks as their parts, of which all or none are replaced. */
export function partsWriter(
  below: Backend,
  layout: PartsLayout,
): Pick<Backend, "prepare" | "remove" | "update"> {
  const prepare: Backend["prepare"] = async (keys, options = {}) => {
    for (const key of keys) chunkSizes(layout.partsOf(key));
    const { name = keys[0]!, signal } = options;
    const pending = await below.prepare!(layout.keysOf(keys), {
      ...options,
      name,
    });
    return {
      async set(key, bytes) {
        for (const [partKey, piece] of splitParts(layout, key, bytes)) {
          await pending.set(partKey, piece);
        }
      },
      writer(key) {
        const parts = layout.partsOf(key);
        const open = (part: number) => pending.writer(parts[part]!.key);
        return Promise.resolve(new ChunkWriter(parts, key, open));
      },
      commit: (check) =>
        pending.commit(
          check && ((values) => check(chunkSnapshot(layout, values, signal))),
        ),
      abort: (reason) => pending.abort(reason),
    };
  };
  const remove: Backend["remove"] = (keys, options = {}) =>
    below.remove!(layout.keysOf(keys), { name: keys[0]!, ...options });
  const update: Backend["update"] = async (keys, change, options = {}) => {
    for (const key of keys) chunkSizes(layout.partsOf(key));
    const partKeys = layout.keysOf(keys);
    const { name = keys[0]!, signal } = options;
    await below.update!(partKeys, async (values) => {
      const update = await change(chunkSnapshot(layout, values, signal));
      if (typeof update === "string") return update;
      const pieces = new Map(
        keys.flatMap((key, i) => [...splitParts(layout, key, update[i]!)]),
      );
      return partKeys.map((key) => pieces.get(key)!);
    }, { ...options, name });
  };
  return {
    ...below.prepare && { prepare },
    ...below.remove && { remove },
    ...below.update && { update },
  };
}

/** Cuts a chunk into views, one for each part. The key of the chunk is for messages. */
export function splitChunk(
  parts: readonly Part[],
  chunk: Uint8Array,
  key = "",
): Uint8Array[] {
  assertBytes("a chunk", chunk);
  const sizes = chunkSizes(parts);
  assertChunkSize(sizes, key, chunk.length);
  let end = 0;
  return parts.map((part) => {
    const start = end;
    end += part.size ?? chunk.length - sizes.least;
    return chunk.subarray(start, end);
  });
}

/** Throws if a value is not a `Uint8Array`, for callers without type checks. */
export function assertBytes(what: string, value: unknown): void {
  if (value instanceof Uint8Array) return;
  throw new TypeError(
    `Expected ${what} as Uint8Array, found ${describe(value)}`,
  );
}

/** The pieces of a chunk by the keys of its parts. */
function splitParts(
  layout: PartsLayout,
  key: StoreKey,
  chunk: Uint8Array,
): Map<StoreKey, Uint8Array> {
  const parts = layout.partsOf(key);
  const pieces = splitChunk(parts, chunk, key);
  return new Map(parts.map(({ key }, i) => [key, pieces[i]!]));
}

/**
 * Cuts the bytes of a chunk as they come, and writes them to its parts. Memory holds only
 * as many of them as the parts after the unsized one take.
 */
class ChunkWriter implements ByteWriter {
  readonly #lastPart: number;
  readonly #splitter: Splitter;
  readonly #open: (part: number) => Promise<ByteWriter>;
  /** The writers of the first parts, as far as their bytes have come. */
  readonly #writers: ByteWriter[] = [];

  /** @param open Opens the writer of a part. */
  constructor(
    parts: readonly Part[],
    key: StoreKey,
    open: (part: number) => Promise<ByteWriter>,
  ) {
    this.#lastPart = parts.length - 1;
    const settings = settingsOf(parts, [chunkSizes(parts)], { key });
    this.#splitter = new Splitter(settings, true);
    this.#open = open;
  }

  async write(bytes: Uint8Array): Promise<number> {
    await this.#pass(this.#splitter.take(bytes));
    return bytes.length;
  }

  async close(): Promise<void> {
    await this.#pass(this.#splitter.end());
    this.#splitter.release();
    // Parts without bytes are stored, too.
    await this.#writerOf(this.#lastPart);
    for (const writer of this.#writers) await writer.close();
  }

  async abort(reason: unknown): Promise<void> {
    for (const writer of this.#writers) await writer.abort?.(reason);
  }

  async #pass(cuts: ReturnType<Splitter["take"]>): Promise<void> {
    for (const { part, bytes } of cuts) {
      await writeAll(await this.#writerOf(part), bytes);
    }
  }

  async #writerOf(part: number): Promise<ByteWriter> {
    while (this.#writers.length <= part) {
      this.#writers.push(await this.#open(this.#writers.length));
    }
    return this.#writers[part]!;
  }
}
