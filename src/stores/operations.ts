/**
 * Operations on any store that its backend does not offer as they are: they refuse stores
 * that lack a method, compare values, or finish the writes of killed programs.
 */
import {
  BOOLEAN,
  checkOptions,
  FUNCTION,
  type OptionRules,
  SIGNAL,
  TEXT,
} from "../errors/mod.ts";
import { isSameBytes } from "../runtime/mod.ts";
import type { BaseWritableStore } from "./base_store.ts";
import { discard } from "./byte_streams.ts";
import { describeStore } from "./describe_store.ts";
import { assertDeletes, backendOf } from "./foreign_store.ts";
import type { Store, StoreKey, StoreOptions } from "./store.ts";

/** Stores a value. A stream is cancelled on failure. */
export async function write(
  store: Store,
  key: StoreKey,
  value: Uint8Array | ReadableStream<Uint8Array>,
  options?: StoreOptions,
): Promise<void> {
  try {
    assertWritable(store, key);
  } catch (error) {
    await discard(value, error);
    throw error;
  }
  await (backendOf(store) as BaseWritableStore).set(key, value, options);
}

/** Stores a value under a key that has none. Returns whether the key had none. */
export async function writeNew(
  store: Store,
  key: StoreKey,
  bytes: Uint8Array,
  options?: StoreOptions,
): Promise<boolean> {
  assertWritable(store, key);
  let isNew = false;
  await backendOf(store).update!([key], async (values) => {
    isNew = await values.size(key) === undefined;
    return isNew ? [bytes] : "keep";
  }, options);
  return isNew;
}

/** Removes a value. No error if the key has none. */
export async function remove(
  store: Store,
  key: StoreKey,
  options: StoreOptions = {},
): Promise<void> {
  options.signal?.throwIfAborted();
  assertDeletes(store, key);
  await backendOf(store).remove!([key], options);
}

/** Refuses a store that is read-only. */
export function assertWritable(store: Store, key: StoreKey): void {
  if (typeof store.set === "function") return;
  throw new TypeError(
    `Cannot write key ${JSON.stringify(key)} to ${
      describeStore(store)
    }: the store is read-only, it has no "set" method; FileSystemStore and S3Store can write`,
  );
}

/** A store of files, which may have several names. */
interface LinkingStore extends Store {
  /** Gives the file of a key a second name: that of another key. */
  link(key: StoreKey, other: StoreKey, options?: StoreOptions): Promise<void>;
}

/** Refuses a store whose values are no files that could have several names. */
export function assertLinks(store: Store): asserts store is LinkingStore {
  if (typeof (store as Partial<LinkingStore>).link === "function") return;
  throw new TypeError(
    `Cannot link files in ${
      describeStore(store)
    }, which has no "link" method: FileSystemStore can link files`,
  );
}

/** A value of a store. */
interface Value {
  readonly store: Store;
  readonly key: StoreKey;
}

/** Whether two values are one: by the versions of their stores, or else by their bytes. */
export async function isSameValue(
  one: Value,
  other: Value,
  options: StoreOptions,
): Promise<boolean> {
  const version = await backendOf(one.store).read(
    [one.key],
    (values) => Promise.resolve(values.version(one.key)),
    options,
  );
  const below = backendOf(other.store);
  if (version !== undefined && below.readOf) {
    try {
      const nothing = { offset: 0, length: 0 };
      const same = await below.readOf(version, other.key, nothing, options);
      return same !== undefined;
    } finally {
      version.release();
    }
  }
  version?.release();
  const [a, b] = await Promise.all(
    [one, other].map(({ store, key }) => backendOf(store).get(key, options)),
  );
  return a !== undefined && isSameBytes(a, b);
}

/**
 * A report of what {@linkcode recover} did.
 *
 * @example
 * ```ts
 * import { MemoryStore, recover, type Recovery } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const recovery: Recovery = await recover(new MemoryStore());
 * assertEquals(recovery.temporary, { files: 0, bytes: 0 });
 * ```
 */
export interface Recovery {
  /** The keys of the chunks that killed writers had begun to replace, and that are whole now. */
  readonly written: readonly StoreKey[];
  /** The keys of the chunks that killed writers had begun to delete, and that are deleted now. */
  readonly deleted: readonly StoreKey[];
  /** The temporary files of killed writers that are removed: their number, and their length in bytes. */
  readonly temporary: { readonly files: number; readonly bytes: number };
}

/**
 * Options of {@linkcode recover}.
 *
 * @example
 * ```ts
 * import { MemoryStore, recover, type RecoverOptions } from "@zarr-parts/zarr-parts";
 *
 * const options: RecoverOptions = { path: "temperature" };
 * await recover(new MemoryStore(), options);
 * ```
 */
export interface RecoverOptions extends StoreOptions {
  /** The path of the array or group to recover, such as `temperature`. The whole store by default. */
  path?: string;
  /** Whether nothing is changed. The result then says what `recover` would do. */
  dryRun?: boolean;
  /**
   * Whether a key is that of a part of a chunk. Changes of other keys are not finished, since
   * a journal may have come with the files of somebody else. By default, the key must begin
   * with that of the chunk.
   */
  isPart?: (chunk: StoreKey, key: StoreKey) => boolean;
}

const RECOVER_OPTIONS: OptionRules<RecoverOptions> = {
  path: TEXT,
  dryRun: BOOLEAN,
  isPart: FUNCTION,
  signal: SIGNAL,
};

/** A store that can finish the writes of killed programs. */
interface RecoverableStore {
  recover(options: RecoverOptions): Promise<Recovery>;
}

/** Whether the writes of killed programs are finished by {@linkcode recover} in a store. */
export function canRecover(store: Store): store is Store & RecoverableStore {
  const { recover } = store as Partial<RecoverableStore>;
  return typeof recover === "function";
}

/**
 * Finishes the writes of killed programs in a store: each chunk whose parts were being
 * replaced or deleted gets all of its new parts or loses all of them, and temporary
 * files are removed. Programs that write at the same time are not disturbed.
 *
 * The next writer of such a chunk does the same for that chunk, so `recover` is for
 * chunks that are only read, and for the temporary files.
 *
 * @param store A store of this package that can write, not a view of it.
 * @param options `path`: the array or group to recover; `dryRun`: whether nothing is
 * changed; `signal` aborts the work, which can be repeated.
 * @returns What was done.
 * @throws {TypeError} If the store cannot be recovered: it is read-only, or a view; or if an
 * option is unknown or has a wrong type.
 * @throws {AggregateError} If writes in folders could not be finished: the message names
 * their journals, which are kept. All others are finished, and temporary files stay.
 *
 * @example After a program was killed
 * ```ts
 * import { FileSystemStore, recover } from "@zarr-parts/zarr-parts";
 * import { assertEquals } from "@std/assert";
 *
 * const root = await Deno.makeTempDir();
 * await Deno.writeFile(`${root}/.zarr-parts-tmp-1`, new Uint8Array(100));
 * const { temporary } = await recover(new FileSystemStore(root));
 * assertEquals(temporary, { files: 1, bytes: 100 });
 * await Deno.remove(root, { recursive: true });
 * ```
 */
export async function recover(
  store: Store,
  options: RecoverOptions = {},
): Promise<Recovery> {
  checkOptions(options, RECOVER_OPTIONS, "recover");
  if (canRecover(store)) return await store.recover(options);
  throw new TypeError(
    `Cannot recover ${
      describeStore(store)
    }: expected a store that writes, such as FileSystemStore or S3Store itself, and not a view of it`,
  );
}
