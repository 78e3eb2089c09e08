import {
  assertPartSize,
  atPath,
  below,
  describe,
  MetadataError,
  sentence,
} from "../errors/mod.ts";
import {
  checkList,
  checkMembers,
  isMembers,
  isWhole,
  parseExtension,
} from "../metadata/mod.ts";
import { joinBytes } from "../runtime/mod.ts";
import {
  assertChunkSize,
  chunkSizes,
  type Part,
  settingsOf,
  Splitter,
} from "../splitter/mod.ts";
import {
  assertStore,
  type Backend,
  backendOf,
  type ByteWriter,
  chunkKeyProblem,
  describeStore,
  isMetadataKey,
  LONGEST_SUFFIX,
  type Store,
  type StoreKey,
  storeOf,
  type StoreOptions,
  writeAll,
} from "../stores/mod.ts";
import { chunkSnapshot, PartsLayout, partsReader } from "./read_parts.ts";

/**
 * The `concat-parts` storage transformer: each chunk is stored as several objects
 * and read as one. See the document "Concatenate Parts Storage
 * Transformer", version 0.1.
 *
 * @example A chunk with its checksum in a file of its own
 * ```ts
 * import { ConcatParts, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".crc32c", size: 4 }]);
 * const stored = new MemoryStore();
 * const store = parts.apply(stored);
 *
 * await store.set("/c/0/0", new Uint8Array([1, 2, 3, 10, 11, 12, 13]));
 * assertEquals(await stored.get("/c/0/0"), new Uint8Array([1, 2, 3]));
 * assertEquals(await stored.get("/c/0/0.crc32c"), new Uint8Array([10, 11, 12, 13]));
 * assertEquals(await store.size("/c/0/0"), 7);
 * ```
 */
export class ConcatParts {
  /** The parts, in the order in which they make up the chunk. */
  readonly parts: readonly Part[];

  /**
   * Creates a transformer with these parts.
   *
   * @param parts At least one part, each with its own key suffix. At most one
   * may lack a size if chunks are to be written; with more they can be read.
   * @throws {TypeError} If a part is not an object with a key suffix, or a member has a
   * wrong type.
   * @throws {RangeError} If there are no parts, if a key suffix is repeated or cannot be
   * used, or if a size is not a whole number from 0 to 2^53−1.
   */
  constructor(parts: readonly Part[]) {
    this.parts = Object.freeze(
      checkParts(parts).map((part) => Object.freeze(part)),
    );
  }

  /**
   * Reads the transformer's metadata.
   *
   * @param metadata `{ name: "concat-parts", configuration: { parts } }`, a
   * member of an array's `storage_transformers`.
   * @returns The transformer.
   * @throws {MetadataError} If the document does not allow the metadata. The error has
   * the place as a JSON pointer.
   */
  static parse(metadata: unknown): ConcatParts {
    const { name, configuration } = parseExtension(
      metadata,
      "storage transformer",
    );
    if (name !== "concat-parts") {
      throw new MetadataError(
        sentence`Expected the storage transformer "concat-parts", found ${name}`,
        typeof metadata === "string" ? "" : "/name",
      );
    }
    return new ConcatParts(
      below("/configuration", () => checkConfiguration(configuration)),
    );
  }

  /**
   * Cuts a chunk into its parts.
   *
   * @param chunk The whole chunk.
   * @returns Views of `chunk`, one for each part in the order of `parts`; no byte is copied.
   * @throws {PartSizeError} If the chunk is shorter than the parts with a size or, if
   * all parts have one, longer.
   * @throws {TypeError} If more than one part lacks a size.
   */
  split(chunk: Uint8Array): Uint8Array[] {
    return splitChunk(this.parts, chunk);
  }

  /**
   * Joins the parts of a chunk, the inverse of {@linkcode ConcatParts.split}.
   *
   * @param parts The bytes of every part, in the order of `this.parts`.
   * @returns The chunk, in new memory.
   * @throws {RangeError} If the number of parts is not that of the transformer.
   * @throws {PartSizeError} If a part does not have its size.
   */
  concat(parts: readonly Uint8Array[]): Uint8Array {
    if (parts.length !== this.parts.length) {
      throw new RangeError(
        `Expected the bytes of ${this.parts.length} parts, found ${parts.length}`,
      );
    }
    this.parts.forEach(({ keySuffix, size }, i) => {
      const part = parts[i]!;
      assertBytes("a part", part);
      assertPartSize(keySuffix, size, part.length);
    });
    return joinBytes(parts);
  }

  /**
   * Returns a store of whole chunks over a store of their parts. The returned store
   * holds no data: every read, write and listing goes to `store`.
   *
   * Every part with a size is checked: a part of up to 256 KiB is read whole, the size of a
   * larger part is looked up beside the range, and a stream fails if a part is shorter or
   * longer than its size. A stream that is written is cut as it arrives, and memory holds
   * only as many of its bytes as the parts after the unsized one take.
   *
   * Stores of this package replace the parts of a chunk together: a read returns the chunk
   * from before or after a write, or rejects, also beside writers in other processes and
   * after a process was killed. Any other store is given one part after another; the earlier
   * parts are restored if one cannot be written.
   *
   * @param store The store of the parts.
   * @param options Which keys are chunk keys; by default all except those of metadata
   * documents.
   * @returns A store of whole chunks, which can write, delete and list if `store`
   * can. Its methods reject with a {@linkcode MissingPartError} if only some parts of a
   * chunk are stored, with an {@linkcode UnfinishedWriteError} if the chunk is being
   * written or was left unfinished, with a {@linkcode PartSizeError} if a part does not have its
   * size or a chunk does not fit the sizes, with a `TypeError` if a chunk is written
   * and more than one part lacks a size, with a `RangeError` if a key is not valid, and
   * with the errors of `store`.
   */
  apply<S extends Store>(
    store: S,
    options: ApplyOptions = {},
  ): ComposedStore<S> {
    assertStore(store);
    const { isChunkKey = (key) => !isMetadataKey(key) } = options;
    const backend = partsBackend(backendOf(store), this.parts, isChunkKey);
    const suffixes = this.parts.map(({ keySuffix }) => keySuffix);
    return storeOf(
      backend,
      () => `ConcatParts(${describe(suffixes)}) of ${describeStore(store)}`,
    ) as Store as ComposedStore<S>;
  }

  /**
   * Returns the metadata of the transformer, which {@linkcode ConcatParts.parse} reads.
   *
   * @returns A member for an array's `storage_transformers`.
   */
  toJSON(): {
    name: "concat-parts";
    configuration: { parts: { key_suffix: string; size?: number }[] };
  } {
    return {
      name: "concat-parts",
      configuration: {
        parts: this.parts.map(({ keySuffix, size }) => ({
          key_suffix: keySuffix,
          ...(size === undefined ? {} : { size }),
        })),
      },
    };
  }
}

/**
 * Options of `ConcatParts.apply`.
 *
 * @example Files beside the chunks
 * ```ts
 * import { type ApplyOptions, ConcatParts, MemoryStore } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".crc32c", size: 4 }]);
 * const stored = new MemoryStore([["/readme.txt", new Uint8Array([104, 105])]]);
 * const options: ApplyOptions = { isChunkKey: (key) => /^\/c\/\d+$/.test(key) };
 * // Without the option, this would be a chunk that lacks its checksum.
 * assertEquals(await parts.apply(stored, options).size("/readme.txt"), 2);
 * ```
 */
export interface ApplyOptions {
  /**
   * Returns whether a key is a chunk key. All other keys are passed on to the store
   * unchanged. By default, every key is a chunk key except those of metadata
   * documents (`zarr.json` and the documents of Zarr v2).
   */
  isChunkKey?: ((key: StoreKey) => boolean) | undefined;
}

/**
 * A store of whole chunks over a store of their parts. It can always read; it can
 * write, delete and list if the underlying store can.
 *
 * Reading rejects with a `MissingPartError` if only some parts of a chunk are
 * stored, and with a `PartSizeError` if a part does not have its size. Writing
 * rejects with a `PartSizeError` if the sizes do not allow the length of the chunk,
 * and with a `TypeError` if more than one part lacks a size.
 *
 * @typeParam S The underlying store.
 *
 * @example The type tells what the store can do
 * ```ts
 * import {
 *   type ComposedStore,
 *   ConcatParts,
 *   HttpStore,
 *   MemoryStore,
 * } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".index", size: 16 }]);
 * const writable: ComposedStore<MemoryStore> = parts.apply(new MemoryStore());
 * await writable.set("/c/0", new Uint8Array(20));
 * const remote = new HttpStore("https://example.org/data.zarr");
 * const readOnly: ComposedStore<HttpStore> = parts.apply(remote);
 * assertEquals("set" in readOnly, false);
 * ```
 */
export type ComposedStore<S extends Store = Store> =
  & Required<Pick<Store, "get" | "getRange" | "stream" | "size">>
  & Pick<S, Extract<keyof S, "set" | "delete" | "list" | "group">>;

/**
 * Checks parts that a program gives.
 *
 * @throws {TypeError} If a member has a wrong type.
 * @throws {RangeError} If a value is out of range, or two parts have one suffix.
 */
function checkParts(parts: unknown): Part[] {
  if (!Array.isArray(parts)) {
    throw new TypeError(
      sentence`Expected parts to be a list, found ${parts}`,
    );
  }
  const checked = parts.map((part: unknown): Part => {
    if (!isMembers(part) || part.keySuffix === undefined) {
      throw new TypeError(
        sentence`Expected a part, an object with a keySuffix, found ${part}`,
      );
    }
    const keySuffix = checkSuffix(part.keySuffix, "keySuffix");
    const { size } = part;
    return size === undefined
      ? { keySuffix }
      : { keySuffix, size: checkSize(size) };
  });
  assertDistinct(checked, "keySuffix");
  return checked;
}

/**
 * Checks the configuration of `concat-parts` in metadata.
 *
 * @throws {MetadataError} If the document does not allow the configuration.
 */
export function checkConfiguration(configuration: unknown): Part[] {
  const { parts } = checkMembers(
    configuration,
    "the configuration of concat-parts",
    ["parts"],
  );
  const checked = checkList(parts, "parts").map((part, i) =>
    below(`/parts/${i}`, (): Part => {
      const { key_suffix, size } = checkMembers(
        part,
        "a part",
        ["key_suffix"],
        ["size"],
      );
      const keySuffix = atPath(
        "/key_suffix",
        () => checkSuffix(key_suffix, "key_suffix"),
      );
      return size === undefined
        ? { keySuffix }
        : { keySuffix, size: atPath("/size", () => checkSize(size)) };
    })
  );
  atPath("/parts", () => assertDistinct(checked, "key_suffix"));
  return checked;
}

/** Metadata spells the member `key_suffix`, programs spell it `keySuffix`. */
type SuffixName = "key_suffix" | "keySuffix";

function checkSuffix(suffix: unknown, name: SuffixName): string {
  if (typeof suffix !== "string") {
    throw new TypeError(
      `Expected a ${name}, a string, found ${describe(suffix)}`,
    );
  }
  if (suffix.length > LONGEST_SUFFIX) {
    throw new RangeError(
      `Expected a ${name} of at most ${LONGEST_SUFFIX} characters, found ${
        describe(suffix)
      }`,
    );
  }
  // Every chunk key ends in a name such as "c", and what follows the name decides
  // whether the key is allowed. Whole part keys are checked when the chunk key
  // encoding is known.
  const problem = chunkKeyProblem(`c${suffix}`);
  if (problem === undefined) return suffix;
  throw new RangeError(
    `The ${name} ${
      describe(suffix)
    } makes no part key: with it, the key ${problem}`,
  );
}

function checkSize(size: unknown): number {
  if (isWhole(size)) return size;
  const ErrorClass = typeof size === "number" ? RangeError : TypeError;
  throw new ErrorClass(
    sentence`Expected a part's size to be a whole number of bytes from 0 to 2^53−1, found ${size}`,
  );
}

function assertDistinct(parts: readonly Part[], name: SuffixName): void {
  if (parts.length === 0) {
    throw new RangeError("Expected at least one part, found an empty list");
  }
  const seen = new Set<string>();
  for (const { keySuffix } of parts) {
    if (seen.has(keySuffix)) {
      throw new RangeError(
        `Two parts have the ${name} ${
          describe(keySuffix)
        }, where each part needs its own`,
      );
    }
    seen.add(keySuffix);
  }
}

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
