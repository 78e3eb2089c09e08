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
  type StoreOptions,
  writeAll,
} from "../stores/mod.ts";
import { chunkSnapshot, PartsLayout, partsReader } from "./read_parts.ts";

/**
 * Returns a backend of whole chunks over one of their parts. It can write, delete and list
 * if the other can.
 *
 * @param parts The parts in the order in which they make up a chunk.
 * @param isChunkKey Whether a key is that of a chunk. Other values are passed on unchanged.
 * By default, all keys are those of chunks.
 */
export function partsBackend(
  below: Backend,
  parts: readonly Part[],
  isChunkKey?: (key: StoreKey) => boolean,
): Backend {
  const layout = new PartsLayout(parts, isChunkKey);
  return {
    ...partsReader(below, layout),
    ...partsWriter(below, layout),
    ...below.list && {
      list: (prefix, options) => listChunks(below, layout, prefix, options),
    },
  };
}

/**
 * Lists the keys of a store with each chunk key once instead of its part keys. Keys that
 * belong to no chunk are listed unchanged. A key that is a chunk key but not a part key is
 * left out, since it would be taken for a chunk.
 */
async function* listChunks(
  below: Backend,
  { parts, isChunkKey }: PartsLayout,
  prefix: StoreKey,
  options: StoreOptions | undefined,
): AsyncGenerator<StoreKey> {
  const listed = new ListedParts(parts, isChunkKey);
  for await (const key of below.list!(prefix, options)) {
    const chunk = listed.take(key);
    if (chunk === undefined) {
      if (!isChunkKey(key)) yield key;
    } else if (chunk.isFirst && chunk.key.startsWith(prefix)) yield chunk.key;
  }
}

/** Finds the chunks to which listed keys belong as parts. */
export class ListedParts {
  /** The key suffixes of the parts, the longest first. */
  readonly #suffixes: readonly string[];
  readonly #isChunkKey: (key: StoreKey) => boolean;
  /**
   * The number of parts found of each chunk. The entry is deleted after the last part,
   * so that memory stays small if a store lists the parts side by side.
   */
  readonly #found = new Map<StoreKey, number>();

  constructor(parts: readonly Part[], isChunkKey: (key: StoreKey) => boolean) {
    this.#suffixes = parts.map((part) => part.keySuffix)
      .sort((a, b) => b.length - a.length);
    this.#isChunkKey = isChunkKey;
  }

  /**
   * Takes the next key of a listing.
   *
   * @returns The key of the chunk, and whether this is the first of its parts;
   * `undefined` for a key that is no part of a chunk.
   */
  take(key: StoreKey): { key: StoreKey; isFirst: boolean } | undefined {
    const chunk = this.chunkOf(key);
    if (chunk === undefined) return undefined;
    const count = (this.#found.get(chunk) ?? 0) + 1;
    if (count === this.#suffixes.length) this.#found.delete(chunk);
    else this.#found.set(chunk, count);
    return { key: chunk, isFirst: count === 1 };
  }

  /** Returns the key of the chunk that a key is a part of, or `undefined` for any other key. */
  chunkOf(key: StoreKey): StoreKey | undefined {
    for (const suffix of this.#suffixes) {
      if (!key.endsWith(suffix)) continue;
      const chunk = key.slice(0, key.length - suffix.length) as StoreKey;
      if (this.#isChunkKey(chunk)) return chunk;
    }
    return undefined;
  }
}

/** Writes and deletes chunks as their parts, of which all or none are replaced. */
function partsWriter(
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
