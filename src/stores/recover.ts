import { describeStore } from "./describe_store.ts";
import type { Store, StoreKey, StoreOptions } from "./store.ts";
import { isMetadataKey } from "./store_key.ts";

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

/** Whether a key may be that of a part of a chunk: a part key is the chunk key and a suffix. */
export function mayBePart(chunk: StoreKey, key: StoreKey): boolean {
  return key.startsWith(chunk) && !isMetadataKey(key);
}

/** A store that can finish the writes of killed programs. */
interface RecoverableStore {
  recover(options: RecoverOptions): Promise<Recovery>;
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
 * @throws {TypeError} If the store cannot be recovered: it is read-only, or a view.
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
  const { recover } = store as Partial<RecoverableStore>;
  if (typeof recover === "function") return await recover.call(store, options);
  throw new TypeError(
    `Cannot recover ${
      describeStore(store)
    }: expected a store that writes, such as FileSystemStore or S3Store itself, and not a view of it`,
  );
}
