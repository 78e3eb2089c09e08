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
import type { Part } from "../splitter/mod.ts";
import {
  assertStore,
  backendOf,
  chunkKeyProblem,
  describeStore,
  isMetadataKey,
  LONGEST_SUFFIX,
  type Store,
  type StoreKey,
  storeOf,
} from "../stores/mod.ts";
import { assertBytes, partsBackend, splitChunk } from "./parts_backend.ts";

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
