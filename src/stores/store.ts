/**
 * A key-value store of bytes. Only `get` is required, so that zarrita's stores are
 * stores here, too. A store without `set` is read-only, and one without `list`
 * cannot be listed. Where `getRange`, `stream` or `size` is missing, this package
 * uses `get` instead.
 *
 * @example The smallest store
 * ```ts
 * import { openArrayChunks, type Store } from "@zarr-parts/zarr-parts";
 * import { assertRejects } from "@std/assert";
 *
 * const empty: Store = { get: () => Promise.resolve(undefined) };
 * await assertRejects(() => openArrayChunks(empty), Error, "No Zarr node");
 * ```
 */
export interface Store {
  /**
   * Reads a whole value.
   *
   * @param key The key that it is stored under.
   * @param options `signal` aborts the operation; `limit` is the greatest length of
   * the value in bytes.
   * @returns Its bytes, or `undefined` if the key has no value.
   * @throws {SizeLimitError} If the value is longer than `limit`. A store may ignore
   * the option: this package then refuses the value that was read.
   */
  get(key: StoreKey, options?: GetOptions): Promise<Uint8Array | undefined>;
  /**
   * Reads a range of a value.
   *
   * @param key The key that it is stored under.
   * @param range Which of its bytes.
   * @param options `signal` aborts the operation.
   * @returns The bytes, or `undefined` if the key has no value. Fewer bytes where
   * the range goes past the end of the value; none where it starts there.
   */
  getRange?(
    key: StoreKey,
    range: ByteRange,
    options?: StoreOptions,
  ): Promise<Uint8Array | undefined>;
  /**
   * Reads a whole value as a stream.
   *
   * @param key The key that it is stored under.
   * @param options `signal` aborts the operation, also while the stream is read.
   * @returns A stream of its bytes, or `undefined` if the key has no value.
   */
  stream?(
    key: StoreKey,
    options?: StoreOptions,
  ): Promise<ReadableStream<Uint8Array> | undefined>;
  /**
   * Tells how long a value is.
   *
   * @param key The key that it is stored under.
   * @param options `signal` aborts the operation.
   * @returns Its length in bytes, or `undefined` if the key has no value.
   */
  size?(key: StoreKey, options?: StoreOptions): Promise<number | undefined>;
  /**
   * Stores a value atomically: a failure keeps the earlier value. A store with
   * `stream` also accepts a stream here, and cancels it on failure.
   *
   * @param key The key to store it under.
   * @param value Its bytes, or a stream of them.
   * @param options `signal` aborts the operation.
   */
  set?(
    key: StoreKey,
    value: Uint8Array | ReadableStream<Uint8Array>,
    options?: StoreOptions,
  ): Promise<void>;
  /**
   * Opens a value for writing piece by piece, from memory that the caller reuses.
   * The value is stored by `close`; `abort` keeps the earlier one. Where the method
   * is missing, `set` is called with a stream.
   *
   * @param key The key to store it under.
   * @param options `signal` aborts the writing, also that of the writer.
   * @returns The writer.
   */
  writer?(key: StoreKey, options?: StoreOptions): Promise<ByteWriter>;
  /**
   * Removes a value. No error if the key has none.
   *
   * @param key The key that it is stored under.
   * @param options `signal` aborts the operation.
   * @returns A promise for the end of the operation. Its value has no meaning.
   */
  delete?(key: StoreKey, options?: StoreOptions): Promise<unknown>;
  /**
   * Lists the keys that have a value, in no certain order.
   *
   * @param prefix The start of the keys, which may end within a name. Defaults to
   * `/`.
   * @param options `signal` aborts the operation.
   * @returns The keys, each once.
   */
  list?(prefix?: StoreKey, options?: StoreOptions): AsyncIterable<StoreKey>;
}

/**
 * The key of a stored value: segments after a leading `/`, as zarrita writes them.
 *
 * @example
 * ```ts
 * import type { StoreKey } from "@zarr-parts/zarr-parts";
 *
 * const key: StoreKey = "/temperature/c/0/1";
 * ```
 */
export type StoreKey = `/${string}`;

/**
 * A range of a stored value in bytes: at most `length` bytes from `offset` on, or
 * the last `suffixLength` bytes. All are whole numbers from 0 to 2^53−1.
 *
 * @example
 * ```ts
 * import type { ByteRange } from "@zarr-parts/zarr-parts";
 *
 * const header: ByteRange = { offset: 0, length: 64 };
 * const index: ByteRange = { suffixLength: 1604 };
 * ```
 */
export type ByteRange =
  | { readonly offset: number; readonly length: number }
  | { readonly suffixLength: number };

/**
 * Options of every operation of a {@linkcode Store}.
 *
 * @example
 * ```ts
 * import { MemoryStore, type StoreOptions } from "@zarr-parts/zarr-parts";
 * import { assertRejects } from "@std/assert";
 *
 * const controller = new AbortController();
 * const options: StoreOptions = { signal: controller.signal };
 * controller.abort(new Error("No longer in view"));
 * await assertRejects(() => new MemoryStore().get("/c/0", options), Error, "No longer in view");
 * ```
 */
export interface StoreOptions {
  /** Aborts the operation, which then rejects with the signal's reason. */
  signal?: AbortSignal;
}

/**
 * Options of `Store.get`.
 *
 * @example
 * ```ts
 * import { type GetOptions, MemoryStore, SizeLimitError } from "@zarr-parts/zarr-parts";
 * import { assertRejects } from "@std/assert";
 *
 * const store = new MemoryStore([["/c/0.index", new Uint8Array(17)]]);
 * const options: GetOptions = { limit: 16 };
 * await assertRejects(() => store.get("/c/0.index", options), SizeLimitError);
 * ```
 */
export interface GetOptions extends StoreOptions {
  /**
   * The greatest length of the value in bytes. A longer value is a `SizeLimitError`,
   * and is not read further. No limit by default.
   */
  limit?: number;
}

/**
 * A source of bytes that reads into memory of the caller, as `Deno.FsFile` does.
 * It saves the copy that a stream of chunks would need.
 *
 * @example A file
 * ```ts
 * import { type ByteReader, ConcatParts, splitStream } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const path = await Deno.makeTempFile();
 * await Deno.writeFile(path, new Uint8Array([1, 2, 3, 4, 5]));
 * const file: ByteReader = await Deno.open(path);
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".index", size: 2 }]);
 * const { size } = await splitStream(file, parts, () => new WritableStream());
 * assertEquals(size, 5);
 * await Deno.remove(path);
 * ```
 */
export interface ByteReader {
  /**
   * Reads the next bytes.
   *
   * @param memory Memory of at least one byte, filled from its start. It must not
   * be used once the promise has settled.
   * @returns How many bytes were read, at least one, or `null` at the end.
   */
  read(memory: Uint8Array): Promise<number | null>;
  /** Closes the source, after its end or when the rest is not needed. */
  close?(): void | Promise<void>;
}

/**
 * A sink for bytes in memory of the caller, as `Deno.FsFile` is. The caller may
 * change the memory once `write` has settled.
 *
 * @example Files for the parts
 * ```ts
 * import { type ByteWriter, ConcatParts, splitStream } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const folder = await Deno.makeTempDir();
 * const parts = new ConcatParts([{ keySuffix: "" }, { keySuffix: ".index", size: 2 }]);
 * await splitStream(
 *   new Blob([new Uint8Array([1, 2, 3, 4, 5])]).stream(),
 *   parts,
 *   ({ keySuffix }): Promise<ByteWriter> => Deno.create(`${folder}/0${keySuffix}`),
 * );
 * assertEquals(await Deno.readFile(`${folder}/0.index`), new Uint8Array([4, 5]));
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export interface ByteWriter {
  /**
   * Writes bytes, or the first of them.
   *
   * @param bytes At least one byte, which may change once the promise has settled.
   * @returns How many were written, at least one.
   */
  write(bytes: Uint8Array): Promise<number>;
  /** Ends the writing. */
  close(): void | Promise<void>;
  /**
   * Gives up the bytes written so far. It may be called before the last `write`
   * has settled. Where the method is missing, `close` is called.
   *
   * @param reason Why.
   */
  abort?(reason: unknown): void | Promise<void>;
}

/**
 * The version of a stored value, as a {@linkcode Snapshot} tells it: an opaque object for
 * `readOf`.
 *
 * @example Reading on only if the value is the same
 * ```ts
 * import { MemoryStore, type StoreVersion } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const store = new MemoryStore([["/c/0", new Uint8Array([1, 2, 3])]]);
 * const version: StoreVersion = await store.read(
 *   ["/c/0"],
 *   (values) => Promise.resolve(values.version("/c/0")!),
 * );
 * const range = { offset: 1, length: 2 };
 * assertEquals(await store.readOf(version, "/c/0", range), new Uint8Array([2, 3]));
 * await store.set("/c/0", new Uint8Array([4, 5, 6]));
 * assertEquals(await store.readOf(version, "/c/0", range), undefined);
 * ```
 */
export interface StoreVersion {
  /**
   * Whether the version may be kept for long. If not, the store holds the value open
   * until `release` is called, as it does for files that were written a moment ago.
   */
  readonly isLasting: boolean;
  /** The length of the value in bytes, as far as the store knows it without a request. */
  readonly size?: number | undefined;
  /** Whether only changes through the same store object make another version, since the store cannot tell others. */
  readonly ownChangesOnly?: boolean | undefined;
  /**
   * A text that no other version of the value has, as entity tags need it. `undefined` if
   * the store cannot promise that, as for files that were written a moment ago.
   */
  readonly tag?: string | undefined;
  /** When the value was stored, in milliseconds since 1970, if the store knows it. */
  readonly modified?: number | undefined;
  /** Ends the use of the version. Must be called once it is not needed any more. */
  release(): void;
}

/** Writes all bytes, in as many writes as it takes. */
export async function writeAll(
  writer: ByteWriter,
  bytes: Uint8Array,
): Promise<void> {
  while (bytes.length > 0) {
    const written = await writer.write(bytes);
    if (!Number.isInteger(written) || written < 1 || written > bytes.length) {
      throw new RangeError(
        `Expected a writer to write 1 to ${bytes.length} bytes of ${bytes.length}, found ${written}`,
      );
    }
    bytes = bytes.subarray(written);
  }
}

/** The start and the end (exclusive) of a range in a value of `size` bytes. */
export function resolveByteRange(
  range: ByteRange,
  size: number,
): { start: number; end: number } {
  assertByteRange(range);
  if ("suffixLength" in range) {
    return { start: Math.max(0, size - range.suffixLength), end: size };
  }
  const start = Math.min(range.offset, size);
  return { start, end: start + Math.min(range.length, size - start) };
}

/** The number of bytes that a range asks for. */
export function lengthOfByteRange(range: ByteRange): number {
  return "suffixLength" in range ? range.suffixLength : range.length;
}

/**
 * Refuses a value that is not a range: a range has either `suffixLength` or both
 * `offset` and `length`, which are whole numbers from 0 to 2^53−1.
 */
export function assertByteRange(range: ByteRange): void {
  if (isByteRange(range)) return;
  const names = ["suffixLength", "offset", "length"]
    .filter((name) => name in Object(range));
  if (!["suffixLength", "offset,length"].includes(names.join())) {
    throw new TypeError(
      `Expected a range with either suffixLength or offset and length, found ${
        names.join(" and ") || "neither"
      }`,
    );
  }
  for (const [name, value] of Object.entries(range)) {
    if (isCount(value)) continue;
    const ErrorClass = typeof value === "number" ? RangeError : TypeError;
    throw new ErrorClass(
      `Expected the range's ${name} to be a whole number from 0 to 2^53−1, found ${
        typeof value === "string" ? JSON.stringify(value) : String(value)
      }`,
    );
  }
}

/** Accepts valid ranges quickly; {@linkcode assertByteRange} explains the others. */
function isByteRange(range: Partial<Record<string, unknown>> | null): boolean {
  if (typeof range !== "object" || range === null) return false;
  const { offset, length, suffixLength } = range;
  return suffixLength === undefined
    ? isCount(offset) && isCount(length)
    : isCount(suffixLength) && !("offset" in range) && !("length" in range);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && value as number >= 0;
}
